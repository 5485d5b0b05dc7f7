"""What a notice says, as plain text on single lines: names and reasons are data, not markup."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.state import State
from tidegate.notifications.rules.notice import Notice
from tidegate.notifications.rules.subscription import NotificationKind
from tidegate.plans.rules.counts import counts
from tidegate.texts.markdown import one_line

_LONGEST_NAME = 120
_WORDS = {
    NotificationKind.REVIEW_WAITS: "Review waits",
    NotificationKind.REVIEW_EXPIRES_SOON: "Review expires within a day",
    NotificationKind.FAILED: "Failed",
    NotificationKind.APPLIED: "Applied",
    NotificationKind.OUTCOME_UNKNOWN: "Outcome unknown",
    NotificationKind.LOCKED: "Locked",
    NotificationKind.DRIFT: "Drift",
}
_FAILURES = {
    State.PLAN_FAILED.value: "Plan failed",
    State.APPLY_FAILED.value: "Apply failed",
    State.ENGINE_FAULT.value: "Internal error",
    State.REVIEW_EXPIRED.value: "Review expired",
    State.GATE_EXPIRED.value: "Waited too long",
}


@dataclass(frozen=True, slots=True)
class Said:
    """A notice as a message shows it: the URL of its page, and the beginning of the plan's text, if any.

    ``decidable``: people can decide its review in the message.
    """

    notice: Notice
    url: str = ""
    plan: str = ""
    decidable: bool = False


def headline(notice: Notice) -> str:
    """Return one line: what happened, to what, and where."""
    what = _FAILURES.get(notice.state, _WORDS[notice.kind])
    where = f" in {name(notice.stack)}" if notice.stack else ""
    return f"{what}: {name(notice.subject)}{where} ({name(notice.repository)})"


def facts(notice: Notice) -> list[str]:
    """Return further lines: what changes, why, at which commit, and who requested it."""
    commit = f"{notice.sha[:7]} on {name(notice.branch)}" if notice.sha else ""
    done = "locked" if notice.kind is NotificationKind.LOCKED else "requested"
    by = f"{done} by {name(notice.by)}" if notice.by else ""
    lines = [
        counts(notice.changes) if notice.changes else "",
        one_line(notice.reason, MAXIMUM_REASON),
        ", ".join(filter(None, (commit, by))),
        *(one_line(each, MAXIMUM_REASON) for each in notice.details),
    ]
    return [each for each in lines if each]


def title(notices: tuple[Notice, ...], more: int) -> str:
    """Return one line for a message: the headline of its only notice, or how many there are."""
    if len(notices) == 1 and not more:
        return headline(notices[0])
    repositories = ", ".join(dict.fromkeys(name(each.repository) for each in notices))
    return f"{len(notices) + more} notifications from {repositories}"


def name(text: str) -> str:
    """Return a name on one line."""
    return one_line(text, _LONGEST_NAME)


def more_words(more: int) -> str:
    """Return how many notices a message does not show."""
    return f"{more} more are not shown."
