"""The checker's rules of promotion: who goes first goes first, and who waits says for what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from soak.history import Audit, Gated, History
from soak.violation import NOTHING_TO_DO, Violation, begun, changed_roots, story


def gates_hold(history: History) -> Iterator[Violation]:
    """Promotion: no apply begins before what goes first in the same change is applied or has nothing to change."""
    rule = "gates: no apply before its gate"
    for audit, before in _gated(history):
        for root in before:
            if not _is_done(history, audit.revision, root, audit.started or 0.0):
                yield story(history, rule, audit, f"it started before its dependency {root} was applied")


def awaited(history: History) -> int:
    """Return how many applies had others of their change before them."""
    return sum(bool(before) for _, before in _gated(history))


def _gated(history: History) -> Iterator[tuple[Audit, list[str]]]:
    """Yield the applies that wait for others of their change, with those."""
    changes = _changes(history)
    for audit in begun(history):
        if audit.trigger == "manual" or _may_be_by_hand(history, audit):
            continue
        commit = history.commits.get(audit.revision)
        first = set(commit.before.get(audit.root, ())) if commit else set()
        yield audit, sorted(first & changes.get(audit.revision, set()))


def _changes(history: History) -> dict[str, set[str]]:
    """Return the roots that are surely part of the change of each commit that was pushed to the default branch.

    That are those whose mark was not on the default branch before, from whichever commit the change is counted, and
    what depends on them.
    """
    seen: dict[str, set[str]] = defaultdict(set)
    found: dict[str, set[str]] = {}
    for push in history.pushes:
        commit = history.commits[push.after]
        new = {root for root in changed_roots(history, push) if commit.marks[root] not in seen[root]}
        sure = new | {root for root in commit.depends if new & set(commit.depends[root])}
        found[push.after] = found.get(push.after, sure) & sure  # Pushed again, it is another change of the same commit.
        for root, mark in commit.marks.items():
            seen[root].add(mark)
    return found


def _may_be_by_hand(history: History, audit: Audit) -> bool:
    """Tell whether it may run something again that somebody deployed by hand, which is a change of its own."""
    return audit.trigger == "rerun" and any(act.what == "Deploy" and act.root == audit.root for act in history.acts)


def _is_done(history: History, revision: str, root: str, at: float) -> bool:
    """Tell whether a root was applied by then, or a deployment of it had begun and found no changes.

    That is at this revision, or at one that contains it: a correction brings what failed before.
    """
    applied = [
        audit.revision
        for audit in history.audits
        if (audit.root, audit.state) == (root, "SUCCESS") and (audit.ended or at) <= at
    ]
    empty = [
        run.sha
        for run in history.checks
        if run.root == root and run.title.startswith(NOTHING_TO_DO) and (run.begun or 0.0) <= at
    ]
    return any(history.contains(newer, revision) for newer in (*applied, *empty))


def gates_say_what_they_wait_for(history: History) -> Iterator[Violation]:
    """Promotion: whoever waits names a root or a stack that goes first, by a file that counted at some time."""
    rule = "gates: each names its dependency"
    for gate in history.gates:
        if not set(gate.named) & _goes_first(history, gate):
            what = f"check run {gate.run} names no dependency: {gate.title}"
            yield Violation(rule, gate.root, what, gate.sha)


def _goes_first(history: History, gate: Gated) -> set[str]:
    """Return roots and stacks. By hand, it is the default branch's file that counts, not the commit's."""
    found: set[str] = set()
    for commit in history.commits.values():
        before = commit.before.get(gate.root, ())
        found |= {*before, *(commit.stacks[root] for root in before if root in commit.stacks)}
    return found
