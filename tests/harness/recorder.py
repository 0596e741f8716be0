"""The plain hook of the lab: records what it is given in hooks.jsonl, and answers what the test laid down: ``python -I -S recorder.py FOLDER``.

FOLDER/answers.json is a list of {event, when, out, err, code}: the first one whose event is this one's, and whose ``when`` stands in what came, is given.
"""

import json
import os
import sys
import time

folder, raw = sys.argv[1], sys.stdin.read()
given = json.loads(raw)
event = given["hook_event_name"]
with open(f"{folder}/answers.json", encoding="utf-8") as laid:
    answer = next((one for one in json.load(laid) if one["event"] == event and one["when"] in raw), None)
kept = {name: value for name, value in os.environ.items() if name.startswith(("CLAUDE", "CODEX", "GEMINI", "OPENCODE"))}
line = json.dumps({"at": time.time(), "pid": os.getpid(), "event": event, "given": given, "environment": kept, "answer": answer}) + "\n"
book = os.open(f"{folder}/hooks.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(book, line.encode())
os.close(book)
if answer:
    sys.stdout.write(answer["out"])
    sys.stderr.write(answer["err"])
    sys.stdout.flush()
    sys.exit(answer["code"])
