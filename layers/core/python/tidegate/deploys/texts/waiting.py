"""How deployments look that wait in line: next to go, behind others, or held back by the queue's lock."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.queue import Lock, is_held_back
from tidegate.deploys.rules.repository_locks import WHOLE
from tidegate.deploys.rules.review import moment
from tidegate.deploys.texts.presentation import CANCEL, UNLOCK, Presentation, QueuePosition, View
from tidegate.texts.markdown import code, escaped
from tidegate.vcs.rules.check_run import Conclusion

_HOW = "**Unlock** lets all that wait here go on, in their order; whoever may write to this repository may press it."
_HOW_OF_MANY = "Unlock it on the page of the repository, by a comment, or with `tidegate unlock`."
_THEN = "Then planning starts by itself."


def queued(deployment: Deployment, view: View) -> Presentation:
    """Return how a deployment in line looks."""
    if view.lock is not None and is_held_back(deployment, view.lock):
        return _blocked(view, view.lock)
    if view.place is None:
        return Presentation("Queued", _with_others(view, "**In line.** Planning starts by itself."), "queued")
    number = view.place.number
    if number == 1 and view.place.running is None:
        return Presentation(
            "Queued: next to go", _with_others(view, "**In line**, next to go. Planning starts by itself."), "queued"
        )
    title = "Queued: next to go" if number == 1 else f"Queued: place {number} in line"
    where = "next to go" if number == 1 else f"at place {number}"
    return Presentation(
        title, _with_others(view, f"**In line**, {where} on {moment(view.place.as_of)}. {_THEN}"), "queued"
    )


def _blocked(view: View, lock: Lock) -> Presentation:
    where = f" at place {view.place.number}" if view.place else ""
    return Presentation(
        "Blocked: the queue is locked",
        _with_others(
            view,
            f"**{_what(lock)} locked** since {moment(lock.at)} by {code(lock.by)}{_from(view, lock)}: "
            f"{escaped(lock.reason)}",
            f"This deployment waits{where} until {_end(lock)}. {_HOW if not lock.scope else _HOW_OF_MANY} "
            "**Cancel** ends this deployment.",
        ),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(CANCEL,) if lock.scope else (UNLOCK, CANCEL),
    )


def _what(lock: Lock) -> str:
    """Return what is locked."""
    if not lock.scope:
        return "The queue of this root is"
    return "All roots of this repository are" if lock.scope == WHOLE else f"Stack {code(lock.scope)} is"


def _end(lock: Lock) -> str:
    """Return when the lock ends."""
    return f"{moment(lock.expires_at)}, or until it is unlocked" if lock.expires_at else "it is unlocked"


def _from(view: View, lock: Lock) -> str:
    """Return which deployment locked the queue; nothing if somebody did so by hand."""
    if not lock.revision:
        return ""
    commit = code(lock.revision[:7])
    return f" ([{commit}]({view.locker.url}))" if view.locker and view.locker.url else f" ({commit})"


def _with_others(view: View, *paragraphs: str) -> tuple[str, ...]:
    """Return the paragraphs, with who goes first."""
    lines = []
    if view.place and view.place.running:
        lines.append(f"* {view.place.running} {_does(view.place)}.")
    if view.place and view.place.behind:
        lines.append(f"* This deployment waits for {view.place.behind}, which goes directly before it.")
    return (*paragraphs, "\n".join(lines)) if lines else paragraphs


def _does(place: QueuePosition) -> str:
    """Return what the one does that runs."""
    if place.gate is State.BLOCKED:
        return "is blocked by others of its change: retry or reject it there"
    if place.gate is State.GATED:
        return "waits for others of its change"
    return "waits for people" if place.reviewing else "runs now"
