"""What tasks refuse: TASK_*, agent-chat's names with agent-chat's triggers, and a few of our own. Leases: :mod:`.leases`. Exit status 2; nothing to start is 3."""

from __future__ import annotations

from . import LostRace, Refused, _Facts, no_channel


class TaskRefused(Refused):
    """A task verb was asked and said no. Nothing was changed."""

    code, exit = "TASK_REFUSED", 2


class DamagedTask(TaskRefused):
    """A record of a task is not one: the broker's was written past redischat, or a folder's by hand."""

    code, origin = "DAMAGED_TASK", "store"
    text = "{why}"


class NothingReady(LostRace):
    """No task of the board can be started now; the line says why."""

    code, word, fields = "NOTHING_READY", "nothing_ready", ("channel",)
    text = "nothing to start in #{channel}: {why}. The board: redischat task list {channel}"


class TaskInvalidCommand(TaskRefused):
    """No such task verb, flag, or choice."""

    code = "TASK_INVALID_COMMAND"


class TaskInvalidArgument(TaskRefused):
    """An argument of a task verb is missing or of the wrong type."""

    code = "TASK_INVALID_ARGUMENT"


class TaskInvalidChannel(TaskRefused):
    """The channel's name breaks the rule for names."""

    code = "TASK_INVALID_CHANNEL"
    text = "{why}"


class TaskChannelNotFound(TaskRefused):
    """There is no channel of that name."""

    code = "TASK_CHANNEL_NOT_FOUND"

    def sentence(self) -> str:
        return no_channel(self.facts)


class TaskNotFound(TaskRefused):
    """There is no task of that id."""

    code, word, fields = "TASK_NOT_FOUND", "task_not_found", ("channel", "task")

    def sentence(self) -> str:
        near = self.facts.get("nearest")
        hint = f" Did you mean {near}?" if near else ""
        return "#{channel} has no task {task}.{hint} The board: redischat task list {channel}".format_map(_Facts(self.facts, hint=hint))


class TaskAlreadyExists(TaskRefused):
    """A task of that id is on the board; it stays as it is."""

    code, word, fields = "TASK_ALREADY_EXISTS", "task_already_exists", ("channel", "task", "by")
    text = "#{channel} has a task {task} already, made by {by}. See it: redischat task show {channel} {task}. Without an id the board gives the next one"


class TaskInvalidId(TaskRefused):
    """A task's id breaks the rule for names."""

    code = "TASK_INVALID_ID"
    text = "{why}"


class TaskInvalidDependencyId(TaskRefused):
    """A dependency's id breaks the rule for names."""

    code = "TASK_INVALID_DEPENDENCY_ID"
    text = "{why}"


class TaskDuplicateDependency(TaskRefused):
    """The same dependency was named twice."""

    code = "TASK_DUPLICATE_DEPENDENCY"
    text = "{dependency} is named twice in --depends-on: say it once"


class TaskUnknownDependency(TaskRefused):
    """A dependency is not on the board."""

    code, word, fields = "TASK_UNKNOWN_DEPENDENCY", "task_unknown_dependency", ("channel", "dependency")
    text = "#{channel} has no task {dependency} to depend on. Make it first: redischat task create {channel} {dependency} --title TITLE"


class TaskDependencyCycle(TaskRefused):
    """These dependencies would wait for each other for ever."""

    code, word, fields = "TASK_DEPENDENCY_CYCLE", "task_dependency_cycle", ("channel", "task", "cycle")
    text = "{task} cannot depend on itself: {cycle}. The graph: redischat task graph {channel}"


class TaskDependencyNotReady(TaskRefused):
    """A dependency is not done, so the task can be neither started nor done."""

    code, word, fields = "TASK_DEPENDENCY_NOT_READY", "task_dependency_not_ready", ("channel", "task", "waits_for")
    text = "{task} waits for {waits_for}. What can be started: redischat task list {channel} --ready. A cancelled one: redischat task reopen {channel} ID --reason WHY"


class TaskInvalidStatus(TaskRefused):
    """There is no such status."""

    code = "TASK_INVALID_STATUS"
    text = "{status!r} is no status: open, in_progress, blocked, done or cancelled"


class TaskInvalidTransition(TaskRefused):
    """A task does not go from its status to that one."""

    code, word, fields = "TASK_INVALID_TRANSITION", "task_invalid_transition", ("channel", "task", "status", "to")

    def sentence(self) -> str:
        status, to = self.facts.get("status"), self.facts.get("to")
        way = {
            ("open", "done"): "Start it first: redischat task claim {channel} {task}",
            ("blocked", "done"): "When it can go on: redischat task update {channel} {task} --status open",
            ("done", "open"): "Only this brings it back: redischat task reopen {channel} {task} --reason WHY",
        }.get((str(status), str(to)))
        if way is None:
            over = status in ("done", "cancelled")
            way = (
                "It is over; only this brings it back: redischat task reopen {channel} {task} --reason WHY"
                if over
                else "See it: redischat task show {channel} {task}"
            )
        return ("{task} is {status} and does not go to {to}. " + way).format_map(_Facts(self.facts))


class TaskCancelled(TaskRefused):
    """A task that was waited for will not be done."""

    code = "TASK_CANCELLED"

    def sentence(self) -> str:
        reason = " ({reason})" if self.facts.get("reason") else ""
        text = "{task} was cancelled" + reason + ": it will not be done as things stand. Bring it back: redischat task reopen {channel} {task} --reason WHY"
        return text.format_map(_Facts(self.facts))


class TaskInvalidUpdate(TaskRefused):
    """An update that changes nothing was asked for."""

    code = "TASK_INVALID_UPDATE"
    text = "nothing to update was given. What can be: redischat task update --help"


class TaskInvalidText(TaskRefused):
    """A text of a task is not what its field holds."""

    code = "TASK_INVALID_TEXT"
    text = "{why}"


class TaskInvalidTitle(TaskInvalidText):
    """A title is one line of at most 500 characters."""

    code = "TASK_INVALID_TITLE"


class TaskInvalidBranch(TaskInvalidText):
    """A branch is one line, not blank."""

    code = "TASK_INVALID_BRANCH"


class TaskInvalidOwner(TaskInvalidText):
    """The owner is no agent's name."""

    code = "TASK_INVALID_OWNER"


class TaskInvalidCreatedBy(TaskInvalidText):
    """Who creates the task is no agent's name."""

    code = "TASK_INVALID_CREATED_BY"


class TaskInvalidAcceptance(TaskInvalidText):
    """An acceptance item is one line, not blank."""

    code = "TASK_INVALID_ACCEPTANCE"


class TaskInvalidPriority(TaskInvalidText):
    """A priority is a number from 0 (most urgent) to 4."""

    code = "TASK_INVALID_PRIORITY"


class TaskInvalidReason(TaskInvalidText):
    """Cancelling and reopening need a reason of one line."""

    code = "TASK_INVALID_REASON"


class TaskInvalidResult(TaskInvalidText):
    """What came of a task is text of up to 16 KiB."""

    code = "TASK_INVALID_RESULT"


class TaskPathOutsideWorkspace(TaskInvalidText):
    """A file hint is empty, absolute, or leads out of the repository."""

    code = "TASK_PATH_OUTSIDE_WORKSPACE"


class TaskInvalidRecord(DamagedTask):
    """A task's record cannot be read."""

    code, word, fields = "TASK_INVALID_RECORD", "task_invalid_record", ("channel", "task")

    def sentence(self) -> str:
        if "why" in self.facts:
            return super().sentence()
        return "the record of {task} in #{channel} was not written by redischat. What is wrong: redischat task recover-pending {channel}".format_map(
            _Facts(self.facts)
        )


class TaskRequiredFieldMissing(DamagedTask):
    """A task's file lacks one of the 12 keys."""

    code = "TASK_REQUIRED_FIELD_MISSING"


class TaskUnknownField(DamagedTask):
    """A task's file has a key beyond the 12."""

    code = "TASK_UNKNOWN_FIELD"


class TaskRecordIdMismatch(DamagedTask):
    """The id in a task's file is not the file's name."""

    code = "TASK_RECORD_ID_MISMATCH"


class TaskChannelMismatch(DamagedTask):
    """The channel in a task's file is not the folder's."""

    code = "TASK_CHANNEL_MISMATCH"


class TaskDuplicateId(DamagedTask):
    """Two files are of one task (ids are compared without case)."""

    code = "TASK_DUPLICATE_ID"


class TaskInvalidTimestamp(DamagedTask):
    """A time in a task's file is not ISO 8601 with an offset."""

    code = "TASK_INVALID_TIMESTAMP"


class TaskInvalidDependsOn(DamagedTask):
    """depends_on of a task's file is no list of ids."""

    code = "TASK_INVALID_DEPENDS_ON"


class TaskInvalidFilesHint(DamagedTask):
    """files_hint of a task's file is no list of texts."""

    code = "TASK_INVALID_FILES_HINT"


class TaskStorageInvalid(DamagedTask):
    """The folder's ``tasks`` is no folder."""

    code = "TASK_STORAGE_INVALID"


_ATOMIC = "a change, its record, its index and its audit are one script: there is no half-done transaction"
KEPT: dict[str, str] = {
    "TASK_ID_IMMUTABLE": "no verb and no method takes a new id for a task",
    "TASK_CHANNEL_IMMUTABLE": "no verb and no method takes a new channel for a task",
    "TASK_LOCK_TIMEOUT": "there is no lock file: the broker runs one script at a time",
    "TASK_IO_ERROR": "a broker that cannot be asked is exit 5 with a code of its own; a folder that cannot be used is BAD_FOLDER",
    **dict.fromkeys(("TASK_AUDIT_FAILED", "TASK_AUDIT_ROLLBACK_FAILED"), _ATOMIC),
}
