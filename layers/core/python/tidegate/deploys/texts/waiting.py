"""Texts of queued deployments: next, behind others, or blocked by the queue's lock."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Lock, is_held_back, waiting_for
from tidegate.deploys.rules.repository_locks import WHOLE
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.presentation import CANCEL, UNLOCK, Presentation, QueuePosition, View
from tidegate.texts.markdown import code, escaped
from tidegate.vcs.rules.check_run import Conclusion

_HOW = (
    "**Unlock** lets the queued deployments continue in order. Anyone with write access to this repository can "
    "click it."
)
_HOW_OF_MANY = "Unlock it on the page of the repository, with a comment, or with `tidegate unlock`."
_THEN = "Then planning starts automatically."


def queued(deployment: Deployment, view: View) -> Presentation:
    """Return how a queued deployment looks."""
    if view.lock is not None and is_held_back(waiting_for(deployment), view.lock):
        return _blocked(view, view.lock)
    if view.place is None:
        return Presentation("Queued", _with_others(view, "**Queued.** Planning starts automatically."), "queued")
    number = view.place.number
    if number == 1 and view.place.running is None:
        return Presentation(
            "Queued: next", _with_others(view, "**Queued**, next. Planning starts automatically."), "queued"
        )
    title = "Queued: next" if number == 1 else f"Queued: position {number}"
    where = "next" if number == 1 else f"at position {number}"
    return Presentation(
        title, _with_others(view, f"**Queued**, {where} as of {moment(view.place.as_of)}. {_THEN}"), "queued"
    )


def _blocked(view: View, lock: Lock) -> Presentation:
    where = f" at position {view.place.number}" if view.place else ""
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
        lines.append(f"* This deployment waits for {view.place.behind}, which is directly before it in the queue.")
    return (*paragraphs, "\n".join(lines)) if lines else paragraphs


def _does(place: QueuePosition) -> str:
    """Return what the one does that runs."""
    if place.gate is State.BLOCKED:
        return "is blocked by its dependencies: retry or reject it there"
    if place.gate is State.GATED:
        return "waits for its dependencies"
    return "waits for a review" if place.reviewing else "is running"
