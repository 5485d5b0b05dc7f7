"""The check run on an entry's commit: how far it is, what its required checks say, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.config_updates.rules.entry import RETRIABLE, EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.queue import JudgedCheck, OnAuto, UpdateHead
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.texts.lists import bullets
from tidegate.texts.markdown import code, escaped, one_line
from tidegate.vcs.rules.check_run import MAXIMUM_TEXT, MAXIMUM_TITLE, Action, Button, CheckRun, Conclusion

#: The name of the check run on every entry's commit.
CHECK_RUN = "tidegate/config-update"
#: Ids of these check runs begin so: buttons on them are of an entry.
_PREFIX = "update-"
_SHORT = 12
_VERDICTS = {Verdict.PASS: "passed", Verdict.FAIL: "failed", Verdict.NONE: "open", Verdict.RETRY: "open"}
_CONCLUSIONS = {
    EntryState.LANDED: Conclusion.SUCCESS,
    EntryState.EVICTED: Conclusion.FAILURE,
    EntryState.FAILED: Conclusion.FAILURE,
    EntryState.NOOP: Conclusion.NEUTRAL,
    EntryState.SUPERSEDED: Conclusion.NEUTRAL,
}
_TITLES = {
    EntryState.LANDED: "Landed on the default branch",
    EntryState.EVICTED: "Evicted from the auto branch",
    EntryState.FAILED: "Failed before it had a commit",
    EntryState.NOOP: "Changes nothing",
    EntryState.SUPERSEDED: "Superseded",
}


@dataclass(frozen=True, slots=True)
class EntryCheckRun:
    """An entry, its commit on the auto branch (None once it is off), and the URL of the repository's page, if any.

    ``notice`` answers a button without effect.
    """

    entry: UpdateEntry
    head: UpdateHead
    on_auto: OnAuto | None
    url: str | None = None
    notice: str = ""


def external_id(entry: str, sha: str) -> str:
    """Return the id of the check run of an entry on one of its commits."""
    return f"{_PREFIX}{entry}-{sha[:_SHORT]}"


def entry_of(identifier: str) -> str | None:
    """Return the entry that a check run shows; None if it is none of a config update."""
    name, _, sha = identifier.removeprefix(_PREFIX).partition("-")
    return name if identifier.startswith(_PREFIX) and sha else None


def subject(entry: UpdateEntry) -> str:
    """Return what an entry brings where, as words: ``0a1b2c3d4e of shop to staging``."""
    what = entry.app_sha[:10] or entry.source_sha[:10]
    if entry.kind is EntryKind.ANNOUNCEMENT:
        return f"{what} of {entry.image_set} to {entry.environment}"
    if entry.kind is EntryKind.PROMOTION:
        return f"{entry.image_set} from {entry.source_environment} to {entry.environment}"
    return f"{entry.image_set} in {entry.environment} back to the images of {what}"


def render_entry(view: EntryCheckRun) -> CheckRun:
    """Return the check run of an entry that has a commit."""
    entry, one = view.entry, view.on_auto
    sha = one.sha if one else entry.commit
    notice = [f"**{escaped(view.notice)}**"] if view.notice else []
    paragraphs = [
        *notice,
        f"**{escaped(subject(entry))}**, {_asked(entry)}.",
        *(_waiting(view, one) if one else _ended(entry)),
    ]
    return CheckRun(
        name=CHECK_RUN,
        sha=sha,
        external_id=external_id(entry.id, sha),
        status="in_progress" if one else "completed",
        conclusion=None if one else _CONCLUSIONS[entry.state],
        title=one_line(_title(view, one) if one else _TITLES[entry.state], MAXIMUM_TITLE),
        summary="\n\n".join(paragraphs)[:MAXIMUM_TEXT],
        actions=_buttons(entry, one),
        details_url=view.url,
        page_url=view.url,
        started_at=one.pushed_at if one else None,
    )


def render_replaced(entry: UpdateEntry, old: str, new: str) -> CheckRun:
    """Return the last content of the check run on a commit that was replaced by another one."""
    return CheckRun(
        name=CHECK_RUN,
        sha=old,
        external_id=external_id(entry.id, old),
        status="completed",
        conclusion=Conclusion.NEUTRAL,
        title=f"Rebuilt as {new[:_SHORT]}",
        summary=f"The auto branch was rebuilt. {code(new)} replaces this commit, and is tested again.",
    )


def render_taken_off(entry: UpdateEntry, sha: str) -> CheckRun:
    """Return the last content of the check run on the commit of an entry that waits in the queue again."""
    return CheckRun(
        name=CHECK_RUN,
        sha=sha,
        external_id=external_id(entry.id, sha),
        status="completed",
        conclusion=Conclusion.NEUTRAL,
        title="Waits in the queue again",
        summary=f"It left the auto branch, and will be tested as another commit. {escaped(entry.waits_for)}".rstrip(),
    )


def _asked(entry: UpdateEntry) -> str:
    by = f" by {code(entry.by)}" if entry.by else ""
    words = {EntryKind.ANNOUNCEMENT: "announced", EntryKind.PROMOTION: "promoted", EntryKind.ROLLBACK: "rolled back"}
    return f"{words[entry.kind]}{by} at {entry.requested_at:%Y-%m-%d %H:%M} UTC"


def _title(view: EntryCheckRun, one: OnAuto) -> str:
    missing = [each for each in one.checks if each.verdict is not Verdict.PASS]
    position = view.head.stack.index(one) + 1
    total = len(view.head.stack)
    if any(each.verdict is Verdict.FAIL for each in missing):
        return f"Position {position} of {total}: {', '.join(each.name for each in missing)} failed"
    if missing:
        return f"Position {position} of {total}: waits for {', '.join(each.name for each in missing)}"
    return f"Position {position} of {total}" if not one.checks else "Passed: the default branch moves here"


def _waiting(view: EntryCheckRun, one: OnAuto) -> list[str]:
    told = [bullets(map(_check, one.checks))] if one.checks else ["Its required checks have not been read yet."]
    below = [each for each in view.head.stack[: view.head.stack.index(one)] if each.verdict is not Verdict.PASS]
    if one.verdict is Verdict.FAIL and below:
        told.append("It may have failed because of an entry below it, so it stays until that one is decided.")
    if view.head.blocked:
        told.append(f"**The queue waits.** {escaped(view.head.blocked.reason)}")
    if view.head.pause:
        told.append(f"{code(view.head.pause.by)} has paused the queue. {escaped(view.head.pause.reason)}")
    return told


def _ended(entry: UpdateEntry) -> list[str]:
    return [escaped(entry.reason, 2000)] if entry.reason else []


def _check(check: JudgedCheck) -> str:
    return f"{code(check.name)}: {_VERDICTS[check.verdict]} – {escaped(check.reason)}"


def _buttons(entry: UpdateEntry, one: OnAuto | None) -> tuple[Action, ...]:
    if one is not None:
        return (Action(Button.EVICT, "Take it off the auto branch"),)
    if entry.state in RETRIABLE:
        return (Action(Button.RETRY, "Put it into the queue again"),)
    if entry.state is EntryState.LANDED:
        return (Action(Button.ROLL_BACK, "Go back to the images before it"),)
    return ()
