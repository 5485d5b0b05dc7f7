"""How a pull request is applied before its merge, as its comments tell it: how far it is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.changes.rules.change_set import Key
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.deploys.texts.presentation import people
from tidegate.pull_requests.rules.apply_progress import ApplyProgress

HEADING = "What happens on apply and on merge"
_APPLY = "`tidegate apply`"
_BY_DEFAULT = "by one person, on a branch up to date and without conflicts, unless `apply_requirements` says otherwise"
_ON_APPLY = (
    f"{_APPLY} in a comment plans each root anew on what the merge would make, and applies it by its own queue, which "
    "stays locked until the merge."
)
_ON_MERGE = (
    "The merge deploys nothing again of what is applied, unless it has other files for a root. What is not applied is "
    "deployed then."
)


@dataclass(frozen=True, slots=True)
class ApplyView:
    """What comments show where pull requests are applied: by which rules, and how far it is, all stacks together.

    ``of_head`` tells that something was applied at the very head, which alone is merged by itself.
    """

    rules: ApplyRules
    progress: ApplyProgress = field(default_factory=ApplyProgress)
    of_head: bool = True


def how_applied(view: ApplyView) -> Sequence[str]:
    """Return how roots come to be deployed, a sentence each."""
    then = " Once all is applied, Tidegate merges it." if view.rules.merge_after else ""
    return (f"{_ON_APPLY}{then}", _ON_MERGE)


def apply_steps(view: ApplyView, *, ready: bool, look: str, is_draft: bool = False) -> Iterator[str]:
    """Yield what is to be done next, a sentence each.

    ``ready`` tells that nothing holds an apply up, ``look`` what to look at before. Nobody can merge a draft.
    """
    progress = view.progress
    if progress.is_complete:
        yield "All of it is applied. " + _merge(view, is_draft=is_draft)
        return
    if progress.going_on:
        yield f"{_names(progress.going_on)}: being applied. If its plan waits for a review, its check says so."
    if progress.bad:
        yield f"{_names(progress.bad)}: the apply failed. Look at its check, then comment {_APPLY} again."
    if progress.older:
        yield (
            f"{_names(progress.older)}: applied from an earlier commit. Comment `tidegate apply -p ROOT` to bring it "
            "to this one."
        )
    if progress.left and ready:
        yield _left(progress, look)


def _merge(view: ApplyView, *, is_draft: bool) -> str:
    if view.rules.merge_after and not view.of_head:
        return f"Comment {_APPLY} to have this commit merged, too."
    if view.rules.merge_after:
        return "It is being merged."
    return f"Merge it{' once it is no draft any more' if is_draft else ''}: nothing is deployed again."


def _left(progress: ApplyProgress, look: str) -> str:
    if progress.done or progress.going_on:
        return f"{_names(progress.left)}: not applied yet. Comment {_APPLY}."
    return f"{look} Then get it approved ({_BY_DEFAULT}), and comment {_APPLY}."


def _names(keys: Sequence[Key]) -> str:
    return people(tuple(dict.fromkeys(root for root, _ in keys)))
