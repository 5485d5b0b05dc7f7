"""The comment of a pull request for each stack: what the merge would change there, within the provider's limit.

The least important parts are shortened first: unchanged roots become one line, long plans are cut, then a table of the
first hundred rows replaces the plans. Whatever is left out is counted and linked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.deploys.rules.speculative_plan import Checkout, LayerState, SpeculativePlan
from tidegate.deploys.texts.policies import policy_blocked_by, status_lines, verdict_lines
from tidegate.deploys.texts.presentation import many
from tidegate.pull_requests.rules.ahead import Ahead
from tidegate.pull_requests.rules.apply import HEADING, ApplyView
from tidegate.pull_requests.rules.blocks import LayerView, alarms, blocks, link, names
from tidegate.pull_requests.rules.merge import Circumstances, next_steps, on_merge
from tidegate.pull_requests.rules.record import Overtaken
from tidegate.pull_requests.rules.remarks import left_behind, not_planned, older, rules, with_options
from tidegate.pull_requests.rules.tally import Tally, awaited, by_importance, tally
from tidegate.rules.graphs import tiers
from tidegate.texts.markdown import bounded, code, escaped, prose, size

#: GitHub's limit is in characters; bytes are never fewer.
MAXIMUM_COMMENT = 65_536
#: The beginning of each of our comments, by which it is found again.
MARKER = "<!-- tidegate:plan "
#: Replaces the stack's name, in hexadecimal, if there is none.
NO_STACK = "none"
#: The heading of the final part of a merged pull request's comment, by which it is found. Text from outside is stripped
#: of the invisible character in it, so no plan contains the heading.
MERGED = "### Merged\u200b"
_NAME = 100
#: Bytes of each part that is always shown. Plans and failures share the rest.
_DESTROYED, _POLICIES, _UNCHANGED, _MERGE, _NEXT, _NOTICE = 8_000, 10_000, 3_000, 6_000, 6_000, 10_000
_LEFT = 4_000
_MISSING = 3_000
_PLANS = "### Plans\n\n"
_ON_MERGE, _NOW = "What happens on merge", "What to do now"
_GLUE = 40


@dataclass(frozen=True, slots=True)
class CommentView:
    """The view of one stack's comment. ``layers`` are those of the stack, ``stacks`` all of the pull request.

    ``base`` is the base branch, ``page_url`` lists the whole pull request, and ``fault`` is the internal error, if any.
    ``notice`` and ``notes`` say what is not planned, ``older`` which plans are outdated. A draft cannot be merged.
    ``applied`` is the apply progress, where pull requests are applied before the merge. ``standings`` are the policy
    sets' statuses by the approvals of the head, ``ahead`` the state of the roots' queues. ``rule_changes`` are its
    changes to what runs or grants something.
    """

    stack: str
    layers: Sequence[LayerView]
    stacks: Mapping[str, Sequence[SpeculativePlan]]
    base: str
    page_url: str = ""
    fault: str = ""
    notice: str = ""
    notes: str = ""
    older: Overtaken | None = None
    is_draft: bool = False
    applied: ApplyView | None = None
    policy_statuses: Sequence[Standing] = ()
    ahead: Ahead | None = None
    rule_changes: tuple[str, ...] = ()


def marker(stack: str) -> str:
    """Return the first line of a stack's comment, which readers do not see."""
    return f"{MARKER}{stack.encode().hex() or NO_STACK} -->"


def stack_of(comment: str) -> str | None:
    """Return the stack whose comment begins like this, None if there is no such stack.

    Only our App's comments are read, but everybody with write access may edit them.
    """
    name = comment.removeprefix(MARKER).partition(" ")[0]
    try:
        return "" if name == NO_STACK else bytes.fromhex(name).decode()
    except ValueError:
        return None


def render_comment(view: CommentView) -> str:
    """Return the comment of a stack."""
    ordered = {each.layer.id: each for each in view.layers}
    views = [ordered[layer.id] for layer in by_importance(each.layer for each in view.layers)]
    shown = [each for each in views if each.layer.state is not LayerState.NO_CHANGES]
    head = _head(view)
    missing = not_planned(view.notice, view.notes, _MISSING)
    middle = _joined(
        *alarms([each.layer for each in views], _DESTROYED), missing, *_policies(views, view.policy_statuses)
    )
    end = _joined(_unchanged(views), *_outlook(view), link("All roots", view.page_url))
    room = MAXIMUM_COMMENT - size(head) - size(middle) - size(end) - _GLUE
    failures, plans = blocks(shown, room, link("this page", view.page_url)) if shown else ("", "")
    return _joined(head, failures, middle, f"{_PLANS}{plans}" if plans else "", end)


def render_nothing(stack: str, sha: str) -> str:
    """Return the comment of a stack that a newer commit no longer changes."""
    where = f" of stack {code(stack, _NAME)}" if _is_named(stack) else ""
    return f"{marker(stack)}\n{_heading(stack)}\n\nAs of commit {code(sha[:7])}, nothing{where} would change."


def render_notice(stack: str, sha: str, notice: str, page_url: str = "") -> str:
    """Return the comment that tells why a commit is not planned; without ``sha`` it is for any commit.

    Lines of ``notice`` are paragraphs. ``page_url`` lists all of the pull request.
    """
    lines = [prose(line) for line in notice.splitlines() if line.strip()]
    why = bounded([f"{line}\n" for line in lines], _NOTICE, lambda count: f"… and {count} more lines.")
    what = f"Commit {code(sha[:7])}" if sha else "This"
    head = f"{marker(stack)}\n{_heading(stack)}\n\n**{what} is not planned.**"
    return _joined(head, why.rstrip(), link("All roots", page_url))


def render_closed(text: str, page_url: str, *, merged: bool, applied: bool) -> str:
    """Return a stack's comment with the pull request's end instead of next steps.

    ``applied`` tells that something was applied, or was to be, before the merge. A comment without next steps stays.
    """
    # Plans precede these two headings, whatever a plan contains.
    now = text.rfind("\n\n### ")
    outlook = text.rfind("\n\n### What happens on ", 0, max(now, 0))
    if outlook < 0 or not text.startswith(f"\n\n### {_NOW}\n\n", now):
        return text
    page = link("This page", page_url)
    if merged:
        shown = f"{page} shows its deployments." if page else ""
        end = _joined(MERGED, shown or "The checks of the merge commit show its deployments.")
    else:
        nothing = "" if applied else "Nothing was deployed. "
        end = _joined("### Closed", f"It was closed without a merge. {nothing}Reopen it to plan again.")
    return f"{text[:outlook]}\n\n{end}"


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _is_named(stack: str) -> bool:
    return bool(stack) and stack != DEFAULT_STACK


def _heading(stack: str, place: str = "") -> str:
    return f"## Tidegate: stack {code(stack, _NAME)}{place}" if _is_named(stack) else f"## Tidegate{place}"


def _head(view: CommentView) -> str:
    """Return marker and heading, counts, the planned commit, and the internal error, if any."""
    layers = [each.layer for each in view.layers]
    found = _held_up(tally(layers), view.policy_statuses)
    sets = f" **{many(len(found.failing), 'policy set')} {'fails' if len(found.failing) == 1 else 'fail'}.**"
    others = _blamed(_holding(layers, view.policy_statuses), found)
    held = f" **{many(len(others), 'policy set')} {'blocks' if len(others) == 1 else 'block'} the merge.**"
    counts = f"**{many(found.total, 'root')}**: {found}.{sets if found.failing else ''}{held if others else ''}"
    fault = f"**Internal error** during planning: {escaped(view.fault, 500)}" if view.fault else ""
    return _joined(
        f"{marker(view.stack)}\n{_heading(view.stack, _tier(view))}",
        counts,
        fault,
        rules(view.rule_changes),
        older(_older(view)),
        with_options(layers),
        left_behind(layers, _LEFT),
        _planned_from(layers[0], view.base),
    )


def _older(view: CommentView) -> Overtaken | None:
    """Return which of the stack's own plans are outdated, if any."""
    return view.older.among({each.layer.root.name for each in view.layers}) if view.older else None


def _tier(view: CommentView) -> str:
    places = tiers({stack: awaited(layers) for stack, layers in view.stacks.items()})
    last = max(places.values(), default=1)
    return f", tier {places[view.stack]} of {last}" if last > 1 else ""


def _planned_from(layer: SpeculativePlan, base: str) -> str:
    head = f"Planned from commit {code(layer.sha[:7])}"
    if layer.checkout is Checkout.BRANCH:
        return f"{head} alone, without newer commits of {code(base, _NAME)}."
    return f"{head}, merged into {code(base, _NAME)} at {code(layer.base_sha[:7])}."


def _held_up(found: Tally, policy_statuses: Sequence[Standing]) -> Tally:
    """Return the tally without the sets that owners approved."""
    passed = _let_pass(policy_statuses)
    return replace(found, failing=tuple(name for name in found.failing if name not in passed))


def _let_pass(policy_statuses: Sequence[Standing]) -> Collection[str]:
    """Return the sets that owners approved."""
    return {each.policy_set.name for each in policy_statuses if each.state is SetState.APPROVED}


def _holding(layers: Sequence[SpeculativePlan], policy_statuses: Sequence[Standing]) -> Sequence[Standing]:
    """Return the sets that block the merge by changed rules, or by layers without a verdict."""
    shown = {each.id for each in layers}
    return [
        each
        for each in policy_statuses
        if each.state in {SetState.FAILED, SetState.UNKNOWN}
        and (each.rules or not shown.isdisjoint(layer.id for layer in each.missing))
    ]


def _blamed(holding: Sequence[Standing], found: Tally) -> Sequence[Standing]:
    """Return those that are not said to fail already, and that had plans to evaluate."""
    return [each for each in holding if each.policy_set.name not in found.failing and not each.has_nothing_to_judge]


def _is_unjudged(standing: Standing) -> bool:
    """Tell whether a set has no verdict on a planned layer: another plan may bring it."""
    return any(not each.options and each.plan is not None for each in standing.missing)


def _stuck(view: CommentView) -> tuple[str, ...]:
    """Return the other stacks in which something blocks the merge."""
    others = {name: layers for name, layers in view.stacks.items() if name != view.stack}
    found = {name: _held_up(tally(layers), view.policy_statuses) for name, layers in others.items()}
    return tuple(name for name, each in found.items() if each.failed or each.refused or each.unplanned or each.failing)


def _policies(views: Sequence[LayerView], policy_statuses: Sequence[Standing]) -> Iterator[str]:
    """Yield the approvals, and the policy verdicts on each root, refusals first."""
    layers = [each.layer for each in views]
    found = tally(layers)
    spoken = {verdict.policy_set for each in layers if not each.options for verdict in each.verdicts}
    holding = _holding(layers, policy_statuses)
    passing = spoken - {*found.failing, *found.warning, *(each.policy_set.name for each in holding)}
    lines = [*status_lines(each for each in policy_statuses if each.rules or each.policy_set.name in found.failing)]
    lines += [f"* {policy_blocked_by(each)}" for each in _blamed(holding, found)]
    passed = _let_pass(policy_statuses)
    lines += [line for each in sorted(layers, key=_refusals) for line in _said(each, passed)]
    if passing:
        lines.append(f"* Policy sets that pass: {', '.join(code(name, _NAME) for name in sorted(passing)[:20])}")
    if lines:
        checks = "see the check of each policy set"
        text = bounded(lines, _POLICIES, lambda count: f"* … and {count} more lines: {checks}")
        yield f"### Policies\n\n{text}"


def _refusals(layer: SpeculativePlan) -> bool:
    return not any(each.failed for each in layer.verdicts)


def _said(layer: SpeculativePlan, passed: Collection[str]) -> Iterator[str]:
    verdicts = [each for each in layer.verdicts if each.failed or each.findings]
    if verdicts:
        failed = {each.policy_set for each in verdicts if each.failed}
        refused = "refused" if failed.difference(passed) else "refused, but approved by owners"
        yield f"* {code(layer.root.name, _NAME)} is {refused if failed else 'allowed by an exception'}:"
        yield from (f"  {line}" for line in verdict_lines(verdicts))


def _unchanged(views: Sequence[LayerView]) -> str:
    found = [each for each in views if each.layer.state is LayerState.NO_CHANGES and not each.layer.is_gone]
    return f"Unchanged: {names(found, _UNCHANGED)}." if found else ""


def _outlook(view: CommentView) -> Iterator[str]:
    def listed(sentences: Sequence[str], room: int) -> str:
        return bounded([f"* {each}" for each in sentences], room, lambda count: f"* … and {count} more.")

    layers, applied = [each.layer for each in view.layers], view.applied
    heading = HEADING if applied else _ON_MERGE
    yield f"### {heading}\n\n{listed(on_merge(view.stack, view.stacks, applied, view.ahead), _MERGE)}"
    found = _held_up(tally(layers), view.policy_statuses)
    now = Circumstances(
        is_draft=view.is_draft,
        is_older=_older(view) is not None,
        unapproved=tuple(each.policy_set for each in view.policy_statuses if each.rules and each.blocks),
        unjudged=tuple(each.policy_set.name for each in _holding(layers, view.policy_statuses) if _is_unjudged(each)),
        is_locked=view.ahead is not None and view.ahead.is_locked(each for each in layers if not each.is_extra),
    )
    steps = next_steps(layers, found, applied, _stuck(view), now)
    yield f"### {_NOW}\n\n{listed(steps, _NEXT)}"
