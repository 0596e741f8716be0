// OpenCode's part of redischat: tells tick.py what happens in a session and hands its answers on. It decides nothing, and whatever fails leaves OpenCode as it was.
import { spawn } from "node:child_process";
import { existsSync, watch } from "node:fs";
import { basename, dirname } from "node:path";

const PYTHON = "@PYTHON@";
const TICK = "@TICK@";
const WRITE = ["edit", "write", "multiedit", "patch", "apply_patch", "bash"];
const LIMIT_MS = 5000; // tick.py gives up after 2 s by itself

// One event; the answer is {context, deny, wake, watch}, each perhaps missing. The environment is OpenCode's: its process is tick.py's parent.
function ask(event) {
  return new Promise((resolve) => {
    let said = "";
    const child = spawn(PYTHON, ["-I", "-S", TICK, "opencode"], { stdio: ["pipe", "pipe", "ignore"], cwd: event.cwd });
    const late = setTimeout(() => child.kill(), LIMIT_MS);
    const done = () => {
      clearTimeout(late);
      try {
        resolve(JSON.parse(said));
      } catch {
        resolve({});
      }
    };
    child.on("error", done);
    child.on("close", done);
    child.stdout.on("data", (part) => (said += part));
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });
}

export const Redischat = async ({ client, directory, worktree, serverUrl }) => {
  if (!existsSync(PYTHON) || !existsSync(TICK)) return {};
  const parents = new Map(); // a subagent's session -> its parent's
  const started = new Map(); // session -> what it was told at its start, or is being told
  const ears = new Map(); // session -> the watcher of its doorbell
  const told = new Set(); // sessions that have been given what they were told at their start
  let reached; // whether this OpenCode listens where it says; asked once, and not while it starts

  const event = (name, session, more) => {
    const parent = parents.get(session);
    const project = worktree && worktree !== "/" ? worktree : directory;
    return ask({ hook_event_name: name, session_id: parent ?? session, ...(parent ? { agent_id: session } : {}), cwd: directory, project, ...more });
  };
  const server = async () => {
    if (reached === undefined) {
      try {
        reached = (await fetch(new URL("/session", serverUrl), { signal: AbortSignal.timeout(1000) })).ok;
      } catch {
        reached = false;
      }
    }
    return reached ? String(serverUrl) : "";
  };
  const prompt = (session, text) => client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text }] } }).catch(() => {});
  const start = (session, source) => {
    if (!started.has(session)) {
      const first = server().then((at) => event("SessionStart", session, { source, server: at }));
      started.set(session, first.then((answer) => (listen(session, answer.watch), answer.context)));
    }
    return started.get(session);
  };
  // The waker touches this file when there is something for a session that is idle.
  const listen = (session, file) => {
    if (!file || ears.has(session)) return;
    let rung = false;
    try {
      const ear = watch(dirname(file), { persistent: false }, async (_, name) => {
        if (rung || name !== basename(file)) return;
        rung = true; // one ring is several changes of the file
        const { wake } = await event("FileChanged", session, {});
        if (wake) await prompt(session, wake);
        rung = false;
      });
      ear.on("error", () => {});
      ears.set(session, ear);
    } catch {
      ears.set(session, undefined);
    }
  };
  const end = async (session) => {
    ears.get(session)?.close();
    if (started.delete(session)) await event("SessionEnd", session, { reason: "other" });
  };

  return {
    event: async ({ event: { type, properties } }) => {
      const session = properties?.sessionID ?? properties?.info?.id;
      if (type === "session.created") {
        if (properties.info?.parentID) parents.set(session, parents.get(properties.info.parentID) ?? properties.info.parentID);
        else await start(session, "startup");
      } else if (type === "session.compacted") {
        const { context } = await event("SessionStart", session, { source: "compact", server: await server() });
        if (context) started.set(session, Promise.resolve(context)) && told.delete(session);
      } else if (type === "session.deleted") {
        await end(session);
      } else if (type === "session.idle" && !parents.has(session)) {
        const { context } = await event("Stop", session, {});
        if (context) await prompt(session, context);
      }
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID;
      if (parents.has(session)) return;
      const first = await start(session, "resume");
      const words = output.parts.filter((part) => part.type === "text").map((part) => part.text);
      const { context } = await event("UserPromptSubmit", session, { prompt: words.join("\n") });
      const say = [told.has(session) ? "" : first, context].filter(Boolean);
      told.add(session);
      say.forEach((text, at) => {
        const id = `prt_redischat${Date.now()}${at}`;
        output.parts.push({ id, sessionID: session, messageID: output.message.id, type: "text", text, synthetic: true });
      });
    },
    "tool.execute.before": async (input, output) => {
      if (!WRITE.includes(input.tool)) return;
      const { deny } = await event("PreToolUse", input.sessionID, { tool_name: input.tool, tool_input: output.args ?? {} });
      if (deny) throw new Error(deny);
    },
    "tool.execute.after": async (input, output) => {
      const { context } = await event("PostToolUse", input.sessionID, { tool_name: input.tool, tool_input: input.args ?? {} });
      if (context) output.output += `\n\n${context}`;
    },
  };
};
