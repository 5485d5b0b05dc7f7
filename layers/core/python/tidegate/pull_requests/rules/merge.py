"""What happens on merge: which stacks wait, who reviews, and what to do before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.texts.presentation import people
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.pull_requests.rules.ahead import Ahead
from tidegate.pull_requests.rules.apply import ApplyView, apply_steps, how_applied
from tidegate.pull_requests.rules.remarks import AGAIN, PLAN
from tidegate.pull_requests.rules.tally import Tally, awaited
from tidegate.rules.access import EVERYBODY, Action, spelled
from tidegate.texts.markdown import code, escaped

#: Sentences of one kind at most; roots have their own on the deployment's check run.
_SENTENCES = 10
_NAME = 60
_READ = "Read the plans."
_PLAN_AGAIN = f"Comment {PLAN}, because these plans are out of date, and read the new ones."
_LEFT = "Decide whether to keep the resources of the removed roots."
_BEHIND_LOCK = "Note the lock: the merge does not deploy locked roots until somebody unlocks them."
_Kind = TypeVar("_Kind", bound=Hashable)
_ON_MERGE = "Tidegate plans each root again on the merge commit, and deploys it through the root's queue."


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What next steps depend on besides the plans: nobody can merge a draft, plans may be older than the base branch,
    and a lock may hold back what the merge deploys. ``unapproved`` are sets whose owners must approve other rules,
    ``unjudged`` the names of those that have no verdict on some plans.
    """

    unapproved: tuple[PolicySetStatus, ...] = ()
    unjudged: tuple[str, ...] = ()
    is_draft: bool = False
    is_older: bool = False
    is_locked: bool = False


def on_merge(
    stack: str,
    stacks: Mapping[str, Sequence[SpeculativePlan]],
    applied: ApplyView | None = None,
    ahead: Ahead | None = None,
) -> Sequence[str]:
    """Return what happens to a stack's roots on merge, a sentence each. ``stacks`` are all of the pull request.

    ``applied`` is the apply progress, if any, ``ahead`` the state of the roots' queues.
    """
    layers = [each for each in stacks[stack] if not each.is_extra]
    extra = tuple(each.root.name for each in stacks[stack] if each.is_extra and not each.gone)
    gone = tuple(each.root.name for each in stacks[stack] if each.gone)
    deployed = [
        *(how_applied(applied) if applied else [_ON_MERGE]),
        *(ahead.sentences(layers) if ahead else ()),
        *_between_stacks(stack, stacks),
        *_inside(layers),
        *_destroyed(layers),
        *_reviews(layers),
        *([] if applied else [*_unmatched(layers), *_required(layers)]),
        *_frozen(layers),
    ]
    left = [f"{people(extra)}: planned on request. The merge does not deploy it."] if extra else []
    left += [f"{people(gone)}: the merge removes the root. Its resources are not destroyed."] if gone else []
    return [*(deployed if layers else ()), *left]


def next_steps(
    layers: Collection[SpeculativePlan],
    found: Tally,
    applied: ApplyView | None = None,
    stuck: tuple[str, ...] = (),
    now: Circumstances = Circumstances(),
) -> Sequence[str]:
    """Return the next steps, a sentence each. ``found`` are the counts; ``applied`` is as for ``on_merge``.

    ``stuck`` are the other stacks in which something blocks the merge.
    """
    rules = [each for each in now.unapproved if each.name not in found.failing]
    lines = [*_corrections(layers, found), *_approvals(layers, found), *map(_of_rules, rules[:_SENTENCES])]
    lines += [
        f"Policy set {code(each, _NAME)} has not evaluated all plans. {AGAIN}" for each in now.unjudged[:_SENTENCES]
    ]
    if any(each.options for each in layers):
        lines.append(f"Comment {PLAN} to plan without options, before the merge.")
    last = "Every push updates this comment. Comment `tidegate help` to see all commands."
    stays = any(each.leaves_resources for each in layers)
    look = _PLAN_AGAIN if now.is_older else _look(found, stays=stays)
    if applied:
        steps = apply_steps(applied, ready=not lines, look=look or _READ, is_draft=now.is_draft)
        return [*lines, *steps, last]
    if not lines:
        lines.append(_merge(look, stuck, is_draft=now.is_draft))
        if now.is_locked:
            lines.append(_BEHIND_LOCK)
    return [*lines, last]


def _between_stacks(stack: str, stacks: Mapping[str, Sequence[SpeculativePlan]]) -> Iterator[str]:
    plan_after = _present({name for each in stacks[stack] for name in each.waits.plan_after}, stack, stacks)
    apply_after = _present({name for each in stacks[stack] for name in each.waits.apply_after}, stack, stacks)
    waiting = tuple(name for name in stacks if name != stack and stack in awaited(stacks[name]))
    if plan_after:
        yield f"They are planned only after {_stacks(plan_after)} {_is(plan_after)} deployed."
    if set(apply_after) - set(plan_after):
        after = tuple(name for name in apply_after if name not in plan_after)
        yield f"They are applied only after {_stacks(after)} {_is(after)} deployed."
    if waiting:
        yield f"{_begins(_stacks(waiting))} {'wait' if len(waiting) > 1 else 'waits'} for them."


def _present(names: Collection[str], stack: str, stacks: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in stacks if name in names and name != stack)


def _stacks(names: tuple[str, ...]) -> str:
    return f"stack{'s' if len(names) > 1 else ''} {people(names)}"


def _begins(words: str) -> str:
    """Return words as the beginning of a sentence; names in them stay as they are."""
    return words[:1].upper() + words[1:]


def _is(names: tuple[str, ...]) -> str:
    return "are" if len(names) > 1 else "is"


def _inside(layers: Sequence[SpeculativePlan]) -> Sequence[str]:
    sentences = [
        f"{code(each.root.name, _NAME)} is planned after {people(each.waits.roots)}."
        for each in layers
        if each.waits.roots
    ]
    return _first(sentences, "roots are planned after others of this stack")


def _destroyed(layers: Sequence[SpeculativePlan]) -> Iterator[str]:
    names = tuple(each.root.name for each in layers if each.destroy)
    if names:
        yield (
            f"{people(names)}: Tidegate destroys all of its resources, because of `destroy: true`. That plan always "
            "needs a review. Delete the directory once it is applied."
        )


def _grouped(
    layers: Sequence[SpeculativePlan], kinds: Callable[[SpeculativePlan], Iterable[_Kind]]
) -> Mapping[_Kind, tuple[str, ...]]:
    """Return the names of the roots of each kind, in the order of the layers; one may be of several kinds."""
    found: dict[_Kind, list[str]] = {}
    for each in layers:
        for kind in kinds(each):
            found.setdefault(kind, []).append(each.root.name)
    return {kind: tuple(names) for kind, names in found.items()}


def _first(sentences: Sequence[str], others: str) -> Sequence[str]:
    """Return the first sentences of one kind, and how many more there are; ``others`` names what they are about."""
    more = len(sentences) - _SENTENCES
    return [*sentences[:_SENTENCES], *([f"{more} more {others}."] if more > 0 else [])]


def _reviews(layers: Sequence[SpeculativePlan]) -> Sequence[str]:
    rules = _grouped(layers, lambda each: [(each.review, _reviewers(each))])
    sentences = [
        _review("Each plan with changes" if len(rules) == 1 else f"A plan with changes of {people(roots)}", *rule)
        for rule, roots in rules.items()
    ]
    return _first(sentences, "review rules for other roots")


def _required(layers: Sequence[SpeculativePlan]) -> Sequence[str]:
    """Return the requirements of applies after the merge."""
    sentences = [
        f"{people(roots)}: applied only with {'; and '.join(map(code, words))} of the head (`apply_requirements`)."
        for words, roots in _grouped(layers, _words).items()
    ]
    return _first(sentences, "requirements for other roots")


def _unmatched(layers: Sequence[SpeculativePlan]) -> Iterator[str]:
    names = tuple(each.root.name for each in layers if each.unmatched)
    if names:
        yield (
            f"{people(names)}: no check of `apply_requirements` matches. The deployment waits until an operator "
            "overrides this."
        )


def _words(layer: SpeculativePlan) -> Sequence[tuple[str, ...]]:
    words = tuple(filter(None, (wanted.after_merge.words for wanted in layer.requires)))
    return [words] if words else []


def _frozen(layers: Sequence[SpeculativePlan]) -> Sequence[str]:
    """Return which roots freeze windows block, and when."""
    sentences = [
        f"{people(roots)}: frozen {code(window.words)}{f': {escaped(window.reason)}' if window.reason else ''}. "
        "Waiting deployments are applied automatically when the freeze ends."
        for window, roots in _grouped(layers, lambda each: each.freezes).items()
    ]
    return _first(sentences, "freezes for these roots")


def _reviewers(layer: SpeculativePlan) -> tuple[str, ...]:
    return layer.access.who_may(Action.REVIEW) if layer.access else (EVERYBODY,)


def _review(which: str, rule: ReviewRule, reviewers: tuple[str, ...]) -> str:
    if rule.when is not PlanReview.ALWAYS:
        return f"{which} is applied without a review."
    by = "one person" if rule.approvals == 1 else f"{rule.approvals} people"
    others = ", none of whom made the change" if rule.exclude_authors else ""
    return f"{which} waits for a review by {by}{others}: {_who(reviewers)}."


def _who(reviewers: tuple[str, ...]) -> str:
    if not reviewers:
        return "but `access_control` allows nobody"
    if reviewers == (EVERYBODY,):
        return "anybody with write permission on this repository"
    return people(tuple(spelled(each) for each in reviewers))


def _corrections(layers: Collection[SpeculativePlan], found: Tally) -> Iterator[str]:
    if found.failed and any(each.waits.plan_after for each in layers):
        yield (
            "Fix what failed and push, unless it only lacks what an earlier stack deploys: after that, it is planned "
            "again. Anything else fails again."
        )
    elif found.failed:
        yield "Fix what failed and push. If you merge this now, it fails again."
    if found.refused:
        yield "Change what was refused; the reason is above. It was not run."
    if found.unplanned:
        yield f"Some roots are not planned. {AGAIN}"


def _approvals(layers: Collection[SpeculativePlan], found: Tally) -> Iterator[str]:
    held = {each.name: each for layer in layers for each in layer.policy_sets}
    for name in found.failing[:_SENTENCES]:
        yield f"Policy set {code(name, _NAME)} fails: change the plan, or {_approval(held.get(name))}."
    if len(found.failing) > _SENTENCES:
        yield f"{len(found.failing) - _SENTENCES} more policy sets fail: see their checks."


def _of_rules(held: PolicySetStatus) -> str:
    return f"Because the rules change, {_approval(held)} (policy set {code(held.name, _NAME)})."


def _approval(held: PolicySetStatus | None) -> str:
    if held is None or not held.owners:
        return "this policy set has no owners: ask its maintainers to change it"
    how_many = "an approving review" if held.approvals == 1 else f"approving reviews by {held.approvals}"
    return f"get {how_many} of this commit by its owners: {people(held.owners)}"


def _merge(look: str, stuck: tuple[str, ...], *, is_draft: bool) -> str:
    if stuck:
        look = look or "Nothing would change here."
        return f"{look} {_begins(_stacks(stuck))} {'blocks' if len(stuck) == 1 else 'block'} the merge."
    # No event updates this comment when a draft becomes ready: the text must be true then, too.
    ready = " once it is no longer a draft" if is_draft else ""
    if not look:
        return f"Nothing would change. Merge it{ready}." if is_draft else "Nothing would change. You can merge."
    return f"{look.removesuffix('.')}, then merge{ready}."


def _look(found: Tally, *, stays: bool) -> str:
    """Return what to check before the merge, empty without changes. ``stays``: resources may."""
    if found.changes.destroy or found.changes.replace:
        look = "Check what is destroyed and replaced."
    else:
        look = _READ if found.changed else ""
    return " ".join(filter(None, (look, _LEFT if stays else "")))
