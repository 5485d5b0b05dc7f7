"""Applying a pull request before its merge, in comments: the progress and the next steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.changes.rules.change_set import Key
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.deploys.texts.presentation import people
from tidegate.pull_requests.rules.apply_progress import ApplyProgress

HEADING = "What happens on apply and on merge"
_APPLY = "`tidegate apply`"
_BY_DEFAULT = "by one person, on an up-to-date branch without conflicts, unless `apply_requirements` says otherwise"
_ON_APPLY = (
    f"When you comment {_APPLY}, Tidegate plans each root again on the merge result and applies it through the root's "
    "queue. The queue stays locked until the merge."
)
_ON_MERGE = (
    "The merge does not deploy applied roots again, unless their files differ. It deploys the roots that are not "
    "applied."
)


@dataclass(frozen=True, slots=True)
class ApplyView:
    """View for pull requests that are applied before the merge: the rules, and the progress over all stacks.

    ``of_head`` tells that something was applied at the very head; only such a head is merged automatically.
    """

    rules: ApplyRules
    progress: ApplyProgress = field(default_factory=ApplyProgress)
    of_head: bool = True


def how_applied(view: ApplyView) -> Sequence[str]:
    """Return how roots come to be deployed, a sentence each."""
    then = " Once all is applied, Tidegate merges it." if view.rules.merge_after else ""
    return (f"{_ON_APPLY}{then}", _ON_MERGE)


def apply_steps(view: ApplyView, *, ready: bool, look: str, is_draft: bool = False) -> Iterator[str]:
    """Yield the next steps, a sentence each.

    ``ready`` tells that nothing blocks an apply, ``look`` what to check before. A draft cannot be merged.
    """
    progress = view.progress
    if progress.is_complete:
        yield "Everything is applied. " + _merge(view, is_draft=is_draft)
        return
    if progress.going_on:
        yield f"{_names(progress.going_on)}: applying. If a plan waits for a review, its check says so."
    if progress.bad:
        yield f"{_names(progress.bad)}: the apply failed. See its check, then comment {_APPLY} again."
    if progress.older:
        yield (
            f"{_names(progress.older)}: applied from an earlier commit. Comment `tidegate apply -p ROOT` to apply "
            "this one."
        )
    if progress.left and ready:
        yield _left(progress, look)


def _merge(view: ApplyView, *, is_draft: bool) -> str:
    if view.rules.merge_after and not view.of_head:
        return f"Comment {_APPLY} to merge this commit, too."
    if view.rules.merge_after:
        return "The merge is in progress."
    return f"Merge it{' once it is no longer a draft' if is_draft else ''}: nothing is deployed again."


def _left(progress: ApplyProgress, look: str) -> str:
    if progress.done or progress.going_on:
        return f"{_names(progress.left)}: not applied yet. Comment {_APPLY}."
    return f"{look} Then get it approved ({_BY_DEFAULT}) and comment {_APPLY}."


def _names(keys: Sequence[Key]) -> str:
    return people(tuple(dict.fromkeys(root for root, _ in keys)))
