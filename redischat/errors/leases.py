"""What the leases of tasks refuse: LEASE_*, agent-chat's names with agent-chat's triggers, and LEASE_STALE_TOKEN. Exit status 2, as there."""

from __future__ import annotations

from . import Refused, _Facts


class LeaseRefused(Refused):
    """A lease verb was asked and said no. Nothing was changed."""

    code, exit = "LEASE_REFUSED", 2


class DamagedLease(LeaseRefused):
    """A record of a lease is not one, likewise."""

    code, origin = "DAMAGED_LEASE", "store"
    text = "{why}"


class LeaseConflict(LeaseRefused):
    """Another agent holds the task, or it is meant for another one."""

    code, word, fields = "LEASE_CONFLICT", "lease_conflict", ("channel", "task", "holder", "expires_at", "assigned")

    def sentence(self) -> str:
        assigned = self.facts.get("assigned") in (True, "1", 1)
        text = (
            "{task} is meant for {holder}. Another one: redischat task next {channel} --claim. Give it to yourself: redischat task update {channel} {task} --owner NAME"
            if assigned
            else "{holder} holds {task} until {expires_at}. Another one: redischat task next {channel} --claim. Wait for it: redischat task wait {channel} {task}"
        )
        return text.format_map(_Facts(self.facts))


class LeaseRecoveryRequired(LeaseRefused):
    """The holder's lease ran out; it is taken over by name, with a reason, never silently."""

    code, word, fields = "LEASE_RECOVERY_REQUIRED", "lease_recovery_required", ("channel", "task", "holder", "expires_at")
    text = "{holder}'s lease on {task} ran out {expires_at} and nobody recovered it: redischat task recover {channel} {task} --reason WHY"


class LeaseOwnerMismatch(LeaseRefused):
    """Another agent holds the task, and only its holder may do this."""

    code, word, fields = "LEASE_OWNER_MISMATCH", "lease_owner_mismatch", ("channel", "task", "holder", "expires_at")
    text = "{holder} holds {task} until {expires_at}; only {holder} may do this. Ask in the channel: redischat say {channel} - --to {holder}"


class LeaseStaleToken(LeaseRefused):
    """The fencing token is an old one: the task was given to somebody since."""

    code, word, fields = "LEASE_STALE_TOKEN", "lease_stale_token", ("channel", "task", "token", "current", "holder")

    def sentence(self) -> str:
        held = ", held by {holder}" if self.facts.get("holder") else ""
        text = "token {token} of {task} is an old one: it is at {current}" + held + ". Stop working on it and look: redischat task show {channel} {task}"
        return text.format_map(_Facts(self.facts))


class LeaseNotExpired(LeaseRefused):
    """The lease has not run out yet, so there is nothing to recover."""

    code, word, fields = "LEASE_NOT_EXPIRED", "lease_not_expired", ("channel", "task", "holder", "expires_at")
    text = "{holder} holds {task} until {expires_at}; it can be recovered after that. How it stands: redischat task show {channel} {task}"


class LeaseNotFound(LeaseRefused):
    """Nobody holds the task, so there is no lease to renew, release or recover."""

    code, word, fields = "LEASE_NOT_FOUND", "lease_not_found", ("channel", "task", "status")

    def sentence(self) -> str:
        over = self.facts.get("status") in ("done", "cancelled")
        way = "It is over; to bring it back: redischat task reopen {channel} {task} --reason WHY" if over else "Take it: redischat task claim {channel} {task}"
        return ("nobody holds {task} ({status}). " + way).format_map(_Facts(self.facts))


class LeaseMutationRequired(LeaseRefused):
    """A leased task's status and owner change with the lease's own verbs."""

    code, word, fields = "LEASE_MUTATION_REQUIRED", "lease_mutation_required", ("channel", "task")
    text = "you hold {task}: its status and owner change with its lease. Give it back first: redischat task release {channel} {task}; or end it: redischat task done {channel} {task}"


class LeaseInvalidOwner(LeaseRefused):
    """Who takes or settles the lease is no agent's name."""

    code = "LEASE_INVALID_OWNER"
    text = "{why}"


class LeaseInvalidReason(LeaseRefused):
    """A recovery needs a reason of one line, not blank."""

    code = "LEASE_INVALID_REASON"
    text = "{why}"


class LeaseInvalidDuration(LeaseRefused):
    """A lease lasts a finite number of seconds above 0, a year at most."""

    code = "LEASE_INVALID_DURATION"
    text = "a lease of {seconds} seconds cannot be: more than 0, at most {most}"


class LeaseInconsistent(DamagedLease):
    """A task and its lease disagree: an expiry without a claim, another owner, several claims."""

    code = "LEASE_INCONSISTENT"


class LeaseInvalidTaskId(DamagedLease):
    """The task id in a claim's file breaks the rule for names."""

    code = "LEASE_INVALID_TASK_ID"


class LeaseInvalidChannel(DamagedLease):
    """The channel in a claim's file is not a name, or not the folder's."""

    code = "LEASE_INVALID_CHANNEL"


class LeaseInvalidTimestamp(DamagedLease):
    """A time in a claim's file is not ISO 8601 with an offset."""

    code = "LEASE_INVALID_TIMESTAMP"


class LeaseInvalidRecord(DamagedLease):
    """A claim's file cannot be read."""

    code = "LEASE_INVALID_RECORD"


class LeaseRequiredFieldMissing(DamagedLease):
    """A claim's file lacks one of its keys."""

    code = "LEASE_REQUIRED_FIELD_MISSING"


class LeaseUnknownField(DamagedLease):
    """A claim's file has a key beyond its nine."""

    code = "LEASE_UNKNOWN_FIELD"


class LeaseRecordIdMismatch(DamagedLease):
    """A claim's file is not named after its task and owner."""

    code = "LEASE_RECORD_ID_MISMATCH"


class LeaseStorageInvalid(DamagedLease):
    """The folder's ``claims`` is no folder."""

    code = "LEASE_STORAGE_INVALID"


class LeasePathOutsideWorkspace(DamagedLease):
    """The folder's ``claims``, or a record in it, is a link."""

    code = "LEASE_PATH_OUTSIDE_WORKSPACE"


class LeaseTransactionInvalid(DamagedLease):
    """A pending transaction that agent-chat left in the folder cannot be read, or contradicts its files."""

    code = "LEASE_TRANSACTION_INVALID"


class LeaseTransactionPublicationUnknown(DamagedLease):
    """A pending transaction of agent-chat's first version does not say whether it was published."""

    code = "LEASE_TRANSACTION_PUBLICATION_UNKNOWN"


_ATOMIC = "a change, its record, its index and its audit are one script: there is no half-done transaction"
KEPT: dict[str, str] = {
    "LEASE_TRANSACTION_PENDING": _ATOMIC,
    "LEASE_TRANSACTION_CLEANUP_FAILED": _ATOMIC,
    "LEASE_TRANSACTION_NOT_FOUND": "recover-pending with nothing to repair says so and exits 0",
    "LEASE_TRANSACTION_RECOVERY_FAILED": _ATOMIC,
    "LEASE_AUDIT_FAILED": _ATOMIC,
    "LEASE_AUDIT_ROLLBACK_FAILED": _ATOMIC,
}
