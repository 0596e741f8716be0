// The plain plugin of the lab for OpenCode: records what it is given, and answers as recorder.py does; a refusal is an answer with `err`.
import { appendFileSync, readFileSync } from "node:fs";

const folder = process.env.LAB_FOLDER;

function seen(event, given) {
  const raw = JSON.stringify(given);
  const answer = JSON.parse(readFileSync(`${folder}/answers.json`, "utf8")).find((one) => one.event === event && raw.includes(one.when)) ?? null;
  const line = { at: Date.now() / 1000, pid: process.pid, event, given, environment: {}, answer };
  appendFileSync(`${folder}/hooks.jsonl`, JSON.stringify(line) + "\n");
  return answer;
}

export const Recorder = async ({ directory, worktree }) => {
  seen("load", { directory, worktree });
  return {
    event: async ({ event }) => {
      if (event.type.startsWith("session.") || event.type === "file.edited") seen(event.type, event.properties);
    },
    "chat.message": async (input, output) => {
      const answer = seen("chat.message", { input, parts: output.parts });
      const part = { id: `prt_lab${Date.now()}`, sessionID: input.sessionID, messageID: output.message.id, type: "text", synthetic: true };
      if (answer?.out) output.parts.push({ ...part, text: answer.out });
    },
    "tool.execute.before": async (input, output) => {
      const answer = seen("tool.execute.before", { input, args: output.args });
      if (answer?.err) throw new Error(answer.err);
    },
    "tool.execute.after": async (input, output) => {
      const answer = seen("tool.execute.after", { input, title: output.title });
      if (answer?.out) output.output += `\n${answer.out}`;
    },
    "experimental.chat.system.transform": async (input, output) => {
      const answer = seen("experimental.chat.system.transform", {});
      if (answer?.out) output.system.push(answer.out);
    },
  };
};
