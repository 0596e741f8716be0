"""What the two ancestors had: verbs and flags, variables, exit codes, record fields, error codes.

Taken from agent-chat-plugin 0.7.5 (every --help, its source) and from llm_chat's parser and documents.
"""

from __future__ import annotations

AGENT_CHAT = {
    "": "--root -h --help",
    "init": "--members --topic",
    "channels": "",
    "roster": "",
    "post": "--from --to --title --reply --status --body --body-file",
    "event post": "--from --type --harness --status --detail --primitives",
    "event read": "--type",
    "read": "--as --all --peek",
    "wait": "--as --timeout --interval",
    "peek": "-n",
    "claim": "--as",
    "lock": "--as --from --owner --lease-seconds --lease --ttl",
    "check": "--as --from --owner",
    "unlock": "--as --from --owner",
    "recover": "--as --from --owner --reason --lease-seconds --lease --ttl",
    "recover-pending": "--as --from --owner --resolve-publication",
    "state": "--as --from --actor --write --save --no-audit --json --strict",
    "compact": "--as --from --actor --no-audit --json --strict",
    "task create": "--from --created-by --title --owner --depends-on --files-hint --acceptance --branch",
    "task list": "",
    "task show": "",
    "task update": "--as --from --title --owner --clear-owner --depends-on --files-hint --acceptance --branch --clear-branch --status",
    "task claim": "--as --from --lease-seconds --lease --ttl",
    "task renew": "--as --from --lease-seconds --lease --ttl",
    "task done": "--as --from",
    "task block": "--as --from",
    "task release": "--as --from",
    "task recover": "--as --from --reason --lease-seconds --lease --ttl",
    "task recover-pending": "--as --from --resolve-publication",
}
LLM_CHAT = {
    "": "--server -h --help",
    "open": "--as --broadcast --topic --briefing --max-messages",
    "join": "--as --topic --max-messages",
    "setup": "--as --topic --max-messages --in-checkout",
    "say": "--file --to --to-all --to-none --thread --as",
    "sync": "--repair",
    "mode": "--as --yes",
    "pending": "--as",
    "read": "--json --as --peek --all --since",
    "leave": "--as --ask",
    "close": "--reason --as",
    "reopen": "--max-messages",
    "owed": "--as --json",
    "maintenance list": "",
    "maintenance queue": "--why",
    "maintenance cancel": "",
    "maintenance run": "--now",
    "delete": "--as --yes",
    "invite": "",
    "channels": "--json --all",
    "briefing": "--file --as",
    "identify": "--project",
    "doctor": "",
    "who": "--json",
    "fingerprint": "--of",
    "reload": "--force --i-know --auto",
    "llm-chat-deliver": "",
    "llm-chat-wake": "",
    "llm-chat-mcp": "",
    "llm-chat-slack": "--check",
    "install.sh": "--no-gitignore",
    "legacy_teardown.sh": "--dry-run --keep-membership --purge-gitignore",
    "zonai serve": "--port",
}
VARIABLES = {
    "agent-chat": "AGENT_CHAT_ROOT AGENT_CHAT_NAME AGENT_CHAT_CHANNELS CLAUDE_PLUGIN_ROOT",
    "llm_chat": "LLM_CHAT_SERVER CLAUDE_PROJECT_DIR CLAUDE_CODE_SESSION_ID LLM_CHAT_HEARTBEAT_SEC LLM_CHAT_LISTEN_SEC LLM_CHAT_POLL_SEC "
    "LLM_CHAT_QUIET_SECONDS CLAUDE_CODE_ENTRYPOINT TERM_PROGRAM VSCODE_IPC_HOOK TMPDIR GAME_LOOP_REPO LAMP_HOME",
}
AUDITS = [
    "task.created", "task.updated", "lease.claimed", "lease.renewed", "lease.released", "lease.completed", "lease.recovered", "path.locked",
    "path.lock.unlocked", "path.lock.recovered",
]  # fmt: skip
EXITS = {"agent-chat": "0 1 2 3 130", "llm_chat": "0 1 2 3 4 5"}
RECORDS = {
    "agent-chat": {
        "_meta.json": "channel members topic created",
        "message front matter": "seq from to reply_to channel ts status title",
        "task": "id channel title status owner created_by depends_on files_hint acceptance lease_expires_at branch updated_at",
        "lease": "task_id channel owner lease_expires_at claimed_at updated_at previous_owner previous_lease_expires_at recovery_reason",
        "path lock": "lock_id channel owner paths normalized_path display_path kind expires_at locked_at updated_at previous_owner previous_expires_at "
        "recovery_reason lease_expires_at previous_lease_expires_at",
        "audit": "event task_id lock_id channel status owner lease_owner lease_expires_at expires_at paths updated_at previous_status changed_fields "
        "transaction_id transaction_event lease.transaction.recovered lease.transaction.cleaned state.compacted " + " ".join(AUDITS),
        "event": "schema_version event agent harness ts primitives status detail ready busy idle blocked stopped capability",
        "primitives": "messages cursors wait tasks dependencies leases path_locks state_summary",
        "task statuses": "open in_progress blocked done cancelled",
        "state summary": "channel topic members created_at last_seq generated_at decisions open_tasks blockers owners path_locks verification",
    },
    "llm_chat": {
        "read": "seq from text audience thread mine",
        "pending": "channel identity pending wakes_me messages seq from audience",
        "owed": "owed room from seq waiting_since unanswered text_preview as unreachable why rate_limited",
        "channels": "name topic closed closed_reason broadcast briefing briefing_by message_count max_messages members done",
        "who": "asked identities identity sessions sessionId pid cwd name how inferred",
        "table channels": "created_by created_at",
        "table memberships": "channel identity seen_seq done created_at",
        "table messages": "channel seq from_identity text audience thread created_at",
        "hook input": "session_id hook_event_name",
        "hook output": "hookSpecificOutput hookEventName additionalContext",
        "slack.json": "room identity bot_token channel poll_sec api_base",
        "MCP tools": "open join setup say sync mode pending read leave maintenance owed delete close reopen invite channels briefing identify doctor who "
        "fingerprint reload",
    },
}
CODES = """
TASK_INVALID_COMMAND TASK_INVALID_ARGUMENT TASK_INVALID_CHANNEL TASK_CHANNEL_NOT_FOUND TASK_INVALID_ID TASK_INVALID_DEPENDENCY_ID
TASK_DUPLICATE_DEPENDENCY TASK_INVALID_DEPENDS_ON TASK_INVALID_FILES_HINT TASK_INVALID_ACCEPTANCE TASK_INVALID_TITLE TASK_INVALID_BRANCH
TASK_INVALID_OWNER TASK_INVALID_CREATED_BY TASK_INVALID_TIMESTAMP TASK_INVALID_STATUS TASK_INVALID_TRANSITION TASK_INVALID_UPDATE TASK_ID_IMMUTABLE
TASK_CHANNEL_IMMUTABLE TASK_ALREADY_EXISTS TASK_NOT_FOUND TASK_DUPLICATE_ID TASK_UNKNOWN_DEPENDENCY TASK_DEPENDENCY_CYCLE TASK_DEPENDENCY_NOT_READY
TASK_PATH_OUTSIDE_WORKSPACE TASK_STORAGE_INVALID TASK_INVALID_RECORD TASK_REQUIRED_FIELD_MISSING TASK_UNKNOWN_FIELD TASK_RECORD_ID_MISMATCH
TASK_CHANNEL_MISMATCH TASK_LOCK_TIMEOUT TASK_IO_ERROR TASK_AUDIT_FAILED TASK_AUDIT_ROLLBACK_FAILED
LEASE_CONFLICT LEASE_RECOVERY_REQUIRED LEASE_OWNER_MISMATCH LEASE_NOT_EXPIRED LEASE_NOT_FOUND LEASE_INCONSISTENT LEASE_MUTATION_REQUIRED
LEASE_INVALID_OWNER LEASE_INVALID_TASK_ID LEASE_INVALID_CHANNEL LEASE_INVALID_REASON LEASE_INVALID_DURATION LEASE_INVALID_TIMESTAMP
LEASE_INVALID_RECORD LEASE_REQUIRED_FIELD_MISSING LEASE_UNKNOWN_FIELD LEASE_RECORD_ID_MISMATCH LEASE_STORAGE_INVALID LEASE_PATH_OUTSIDE_WORKSPACE
LEASE_TRANSACTION_PENDING LEASE_TRANSACTION_INVALID LEASE_TRANSACTION_PUBLICATION_UNKNOWN LEASE_TRANSACTION_NOT_FOUND
LEASE_TRANSACTION_CLEANUP_FAILED LEASE_TRANSACTION_RECOVERY_FAILED LEASE_AUDIT_FAILED LEASE_AUDIT_ROLLBACK_FAILED
PATH_LOCK_INVALID_PATH PATH_LOCK_PATH_OUTSIDE_WORKSPACE PATH_LOCK_CONFLICT PATH_LOCK_RECOVERY_REQUIRED PATH_LOCK_OWNER_MISMATCH PATH_LOCK_NOT_FOUND
PATH_LOCK_NOT_STALE PATH_LOCK_INVALID_OWNER PATH_LOCK_INVALID_LOCK_ID PATH_LOCK_INVALID_CHANNEL PATH_LOCK_INVALID_REASON PATH_LOCK_INVALID_DURATION
PATH_LOCK_INVALID_TIMESTAMP PATH_LOCK_INVALID_RECORD PATH_LOCK_CHANNEL_NOT_FOUND PATH_LOCK_STORAGE_INVALID PATH_LOCK_STORAGE_ERROR PATH_LOCK_TIMEOUT
PATH_LOCK_TRANSACTION_PENDING PATH_LOCK_TRANSACTION_INVALID PATH_LOCK_TRANSACTION_CLEANUP_FAILED PATH_LOCK_AUDIT_FAILED
PATH_LOCK_AUDIT_ROLLBACK_FAILED
STATE_INVALID_CHANNEL STATE_CHANNEL_NOT_FOUND STATE_INVALID_RECORD STATE_MALFORMED_SOURCE STATE_RECORD_NOT_FOUND STATE_IO_ERROR STATE_AUDIT_FAILED
EVENT_INVALID_RECORD EVENT_UNSUPPORTED_VERSION EVENT_INVALID_TYPE EVENT_UNKNOWN_FIELD EVENT_REQUIRED_FIELD_MISSING EVENT_INVALID_TEXT
EVENT_INVALID_TIMESTAMP EVENT_INVALID_PRIMITIVES EVENT_DUPLICATE_PRIMITIVE EVENT_UNKNOWN_PRIMITIVE EVENT_INVALID_STATUS EVENT_MALFORMED_BODY
"""
