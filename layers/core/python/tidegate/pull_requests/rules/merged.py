"""The results of a merged pull request's roots in its comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.deploys.rules.deployment import Deployment, was_applied_before
from tidegate.deploys.rules.queue import Lock, is_held_back, waiting_for
from tidegate.deploys.rules.repository_locks import WHOLE, named
from tidegate.deploys.rules.requirements_gate import REQUIREMENTS_DAYS
from tidegate.deploys.rules.review import REVIEW_DAYS, moment
from tidegate.deploys.rules.state import DONE, FAILED, State, is_final
from tidegate.deploys.texts.plan_text import cut_middle
from tidegate.deploys.texts.presentation import many
from tidegate.pull_requests.rules.blocks import LAST_LINES, link
from tidegate.pull_requests.rules.comment import MAXIMUM_COMMENT, MERGED
from tidegate.texts.markdown import bounded, code, escaped, fenced, folded, prose, size, tagged_code

#: How long the comments of a merged pull request are updated: a plan waits for its review and its requirements, and
#: failures are usually run again soon.
FOLLOWED = timedelta(days=REVIEW_DAYS + REQUIREMENTS_DAYS)
#: How long a root may have no deployment: missed pushes are found within minutes.
UNKNOWN = timedelta(days=1)
#: Bytes of rows and of last lines at most, and those that are kept free whatever the comment has before.
_ROWS, _LINES, _GLUE = 8_000, 20_000, 100
_NAME, _REASON, _FAILURES = 100, 300, 10

_WORDS = {
    State.QUEUED: "queued",
    State.PLANNING: "planning",
    State.GATED: "waiting for other roots or stacks",
    State.BLOCKED: "**blocked**",
    State.AWAITING_REVIEW: "**waiting for a review**",
    State.AWAITING_REQUIREMENTS: "**waiting for its requirements**",
    State.APPROVED: "approved",
    State.APPLYING: "applying",
    State.APPLIED: "applied",
    State.NO_CHANGES: "nothing to change",
    State.PLAN_FAILED: "**plan failed**",
    State.APPLY_FAILED: "**apply failed**",
    State.REJECTED: "rejected",
    State.REVIEW_EXPIRED: "**review timed out**",
    State.GATE_EXPIRED: "**timed out waiting for others**",
    State.REFUSED: "refused",
    State.SUPERSEDED: "superseded",
    State.CANCELLED: "cancelled",
    State.OUTCOME_UNKNOWN: "**outcome unknown**",
    State.ENGINE_FAULT: "**internal error**",
}
_STUCK = frozenset({*FAILED, State.BLOCKED})
#: States whose reason is shown.
_EXPLAINED = frozenset({*_STUCK, State.REFUSED, State.GATED, State.AWAITING_REQUIREMENTS})


@dataclass(frozen=True, slots=True)
class MergedRoot:
    """A root in its stack, and the deployment of the merge there; None as long as there is none.

    ``of`` is the merge commit. ``url`` shows the deployment, empty if nothing does. ``lock`` is the one of its queue or
    of its stack.
    """

    root: str
    stack: str
    of: str
    deployment: Deployment | None = None
    url: str = ""
    lock: Lock | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return self.deployment is not None and self.deployment.state in DONE

    @property
    def is_stuck(self) -> bool:
        """Whether a person must act: it failed, or is blocked by what did."""
        return self.deployment is not None and self.deployment.state in _STUCK


def is_settled(roots: Sequence[MergedRoot], closed_at: datetime, now: datetime) -> bool:
    """Tell whether comments need not follow the roots any more."""
    age = now - closed_at
    if age > FOLLOWED:
        return True
    return all(each.is_done or (each.deployment is None and age > UNKNOWN) for each in roots)


def render_merged(roots: Sequence[MergedRoot], page_url: str) -> str:
    """Return the final part of a merged pull request's comment: the results of the stack's roots."""
    ordered = sorted(roots, key=lambda each: (not each.is_stuck, each.is_done, each.root))
    rows = bounded([*map(_row, ordered)], _ROWS, lambda count: f"| … and {count} more | |")
    parts = (
        MERGED,
        _counts(ordered),
        f"| Root | Deployment |\n|---|---|\n{rows}",
        "\n\n".join(_failures(ordered)),
        link("All its deployments", page_url),
    )
    return "\n\n".join(filter(None, parts))


def with_end(comment: str, end: str) -> str:
    """Return a comment with another final part; if it does not fit, without the last lines of failures."""
    start = comment.rfind(f"\n\n{MERGED}\n\n")
    plans = comment if start < 0 else comment[:start]
    room = MAXIMUM_COMMENT - size(plans) - _GLUE
    if size(end) > room:
        end = end.partition("\n\n<details")[0]
    return f"{plans}\n\n{end}" if size(end) <= room else comment


def _counts(roots: Sequence[MergedRoot]) -> str:
    done = sum(each.is_done for each in roots)
    if done == len(roots):
        return f"**Everything is deployed**: {many(done, 'root')}."
    stuck = [each.deployment.state for each in roots if each.deployment is not None and each.is_stuck]
    blocked = stuck.count(State.BLOCKED)
    counted = {"failed": len(stuck) - blocked, "blocked": blocked}
    more = "".join(f", {count} {word}" for word, count in counted.items() if count)
    return f"**{done} of {many(len(roots), 'root')} deployed**{more}."


def _row(each: MergedRoot) -> str:
    cells = code(each.root, _NAME), _state(each)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _state(each: MergedRoot) -> str:
    deployment = each.deployment
    if deployment is None:
        return "not queued yet"
    if deployment.state is State.QUEUED and each.lock is not None and is_held_back(waiting_for(deployment), each.lock):
        return f"{link('**locked**', each.url) or '**locked**'}: {_behind(each.root, each.lock)}"
    words = "applied before the merge" if was_applied_before(deployment) else _WORDS[deployment.state]
    shown = link(words, each.url) or words
    by = f" by {code(deployment.rejected_by)}" if deployment.rejected_by and is_final(deployment.state) else ""
    newer = deployment.revision.sha != each.of
    with_ = f", with the newer {code(deployment.revision.short)}" if newer else ""
    why = f": {prose(deployment.reason, _REASON)}" if deployment.state in _EXPLAINED and deployment.reason else ""
    return f"{shown}{by}{with_}{why}"


def _behind(root: str, lock: Lock) -> str:
    """Return who locked what blocks a deployment, until when, why, and how to unlock it."""
    what = named(lock.scope) if lock.scope else "its queue"
    end = f" until {moment(lock.expires_at)}" if lock.expires_at else ""
    about = "--all" if lock.scope == WHOLE else f"--stack {lock.scope}" if lock.scope else f"-p {root}"
    unlock = code(f"tidegate unlock {about}")
    return f"{code(lock.by)} locked {escaped(what)}{end}. {prose(lock.reason, _REASON)} To continue, comment {unlock}."


def _failures(roots: Sequence[MergedRoot]) -> Iterator[str]:
    """Yield the last lines of what failed, which the runner has masked."""
    failed = [each.deployment for each in roots if each.deployment is not None and each.is_stuck]
    shown = [each for each in failed if each.outcome.last_lines.strip()][:_FAILURES]
    for each in shown:
        lines = fenced(cut_middle(each.outcome.last_lines.rstrip(), min(LAST_LINES, _LINES // len(shown))))
        yield folded(f"Last lines of {tagged_code(each.root.name, _NAME)}", lines, opened=len(shown) == 1)
