"""The independent checker: does a history keep the rules of the design? It knows nothing of Tidegate's code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from soak.gate_rules import gates_hold, gates_say_what_they_wait_for
from soak.history import Act, Audit, History
from soak.plan_rules import applies_run_on_fargate, lost_plans_move, one_runner_plans
from soak.pull_rules import drift_is_seen, never_green, pulls_are_answered, secrets_are_masked
from soak.violation import (
    NOTHING_TO_DO,
    RUNNING,
    Violation,
    begun,
    changed_roots,
    has_ended,
    is_answered,
    is_on_branch,
    may_leave,
    never_begun,
    story,
    was_taken_away,
)

ENDS = frozenset({"SUCCESS", "FAILURE", "UNKNOWN"})
#: Stored objects tell their time in whole seconds.
_WHOLE_SECOND = 1.0
#: Seconds in which a commit may be put back between the beginning of an apply and the last look at its branch.
_BACK_AGAIN = 60.0
#: Who makes all changes.
AUTHOR = "developer"
#: How a check run looks when its deployment's apply ended so.
_SHOWN_AS = {
    "SUCCESS": {"success"},
    "FAILURE": {"failure", "timed_out"},  # A runner that was silent before it took the apply is a time-out, too.
    "UNKNOWN": {"failure", "timed_out", "action_required"},
}


def check(history: History) -> list[Violation]:
    """Return every violation of every rule, in the rules' order."""
    return [violation for rule in RULES for violation in rule(history)]


def broken_now(history: History) -> list[Violation]:
    """Return the violations of what may never be so, also while everything is in progress."""
    return [violation for rule in AT_ANY_TIME for violation in rule(history)]


def one_apply_in_flight(history: History) -> Iterator[Violation]:
    """Rule 1: between an apply's beginning and its end, no other apply of the root begins."""
    rule, never = "1 one apply in flight", never_begun(history)
    for audits in _by_root(each for each in _applies(history) if each.deployment not in never).values():
        open_one: Audit | None = None
        for audit in audits:
            if audit.state == RUNNING:
                if open_one is not None:
                    what = f"{audit.deployment} started to apply before {open_one.deployment} ended"
                    yield story(history, rule, audit, what)
                open_one = audit
            elif open_one is not None and open_one.deployment == audit.deployment:
                open_one = None
    yield from _overlapping_effects(history, rule)


def _overlapping_effects(history: History, rule: str) -> Iterator[Violation]:
    for root in history.roots:
        open_mark = None
        lines = [effect for effect in history.effects if effect.root == root]
        ends = Counter(line.mark for line in lines if line.what == "end")
        for line in lines:
            if line.what == "end":
                open_mark = None if open_mark == line.mark else open_mark
            else:
                if open_mark is not None and ends[open_mark]:
                    yield Violation(rule, root, f"the engine applied {line.mark} during the apply of {open_mark}")
                open_mark = line.mark


def nothing_is_lost(history: History) -> Iterator[Violation]:
    """Rules 2 and 3: what was pushed to the default branch ends visibly, and so does every check run."""
    rule = "2, 3 nothing is lost"
    for push in history.pushes:
        for root in changed_roots(history, push):
            if not is_answered(history, push.after, root):
                what = "the push that changed it has no check run that ended, nor has a later one that contains it"
                yield Violation(rule, root, what, push.after)
    for run in history.checks:
        if not has_ended(run):
            what = f"check run {run.id} never ended: {run.status} {run.conclusion or ''}, {run.title}"
            yield Violation(rule, run.root, what, run.sha, (run.url,))


def never_backwards(history: History) -> Iterator[Violation]:
    """Rule 4: no revision is applied after one that contains it; one that left the line is approved by somebody."""
    rule = "4 never backwards"
    for audits in _by_root(begun(history)).values():
        for last, audit in pairwise(audits):
            if last.revision == audit.revision or history.contains(audit.revision, last.revision):
                continue
            if history.contains(last.revision, audit.revision):
                yield story(history, rule, audit, f"it is behind {last.revision[:7]}, which was already applied")
            elif not audit.approved_by and not _carried_on(history, last, audit):
                yield story(history, rule, audit, f"it has diverged from {last.revision[:7]}, and nobody approved it")


def forced_off_is_not_applied(history: History) -> Iterator[Violation]:
    """Rule 4: a commit that a forced push took away from the default branch is not applied any more."""
    for audit in begun(history):
        since = audit.started or 0.0
        heads = [push.after for push in history.pushes if since < push.at <= since + _BACK_AGAIN]
        if not may_leave(history, audit.revision) or is_on_branch(history, audit.revision, since):
            continue
        if not any(history.contains(head, audit.revision) for head in heads):
            yield story(history, "4 what was forced off", audit, "it was no longer on the default branch")


def _carried_on(history: History, last: Audit, audit: Audit) -> bool:
    """Tell whether a revision between two applies, beside the first, had nothing to change: the second contains it."""
    since, until = (last.started or 0.0) - _WHOLE_SECOND, audit.started or 0.0
    return any(
        run.root == audit.root
        and run.title.startswith(NOTHING_TO_DO)
        and since <= (run.begun or 0.0) <= until
        and history.mark(run.sha, run.root) == history.mark(last.revision, last.root)
        and history.contains(audit.revision, run.sha)
        for run in history.checks
    )


def never_retried(history: History) -> Iterator[Violation]:
    """Rule 5: a deployment applies once at most, and the engine does no more than the audit topic heard of."""
    rule = "5 an apply is never retried"
    times = Counter(audit.deployment for audit in begun(history))
    for audit in {audit.deployment: audit for audit in begun(history)}.values():
        if times[audit.deployment] > 1:
            yield story(history, rule, audit, f"its apply started {times[audit.deployment]} times")
    heard = Counter((audit.root, history.mark(audit.revision, audit.root)) for audit in begun(history))
    done = Counter((effect.root, effect.mark) for effect in history.effects if effect.what == "begin")
    for (root, mark), count in done.items():
        if count > heard[root, mark] > 0:
            what = f"the engine applied {mark} {count} times, with {heard[root, mark]} audited applies"
            yield Violation(rule, root, what)


def reviewed_is_applied(history: History) -> Iterator[Violation]:
    """Rule 6: somebody who may, approved this plan before it was applied, and the state is what the revision says."""
    rule = "6 the reviewed plan is applied"
    for audit in begun(history):
        for problem in _review_problems(history, audit):
            yield story(history, rule, audit, problem)
    for root, audits in _by_root(_applies(history)).items():
        yield from _wrong_states(history, rule, root, audits)
    yield from _changed_plans(history, rule)


def _review_problems(history: History, audit: Audit) -> Iterator[str]:
    if audit.approved_by is None:
        if not _needs_no_review(history, audit):
            yield "nobody approved it"
    elif audit.approved_by not in history.writers:
        yield f"{audit.approved_by} approved it without permission"
    elif not any(_approves(act, audit, audit.approved_by) for act in history.acts):
        yield f"{audit.approved_by} did not approve it before it started"
    yield from _missing_approvals(history, audit)
    if not audit.plan:
        yield "the audit message names no plan"


def _needs_no_review(history: History, audit: Audit) -> bool:
    """Tell whether the file at the revision asks for no review; by hand it is the default branch's, of some time."""
    own = history.commits.get(audit.revision)
    said = [own] if own and audit.trigger != "manual" else history.commits.values()
    return any(audit.root in commit.unreviewed for commit in said)


def _missing_approvals(history: History, audit: Audit) -> Iterator[str]:
    """Tell what is missing where several must approve, none of whom made the change or asked for it."""
    commit = history.commits.get(audit.revision)
    needed = commit.approvals.get(audit.root, 0) if commit else 0
    if not needed:
        return
    who = {one for one in audit.approvals if any(_approves(act, audit, one) for act in history.acts)}
    if len(who) < needed:
        yield f"{len(who)} approved it, but {needed} must"
    for one in sorted(who & {AUTHOR, *([audit.initiator] if audit.trigger == "manual" else [])}):
        yield f"{one} approved it, but authored or requested the change"


def _approves(act: Act, audit: Audit, who: str) -> bool:
    by_them = act.what == "Approve" and act.by == who and act.deployment == audit.deployment
    return by_them and audit.started is not None and act.at <= audit.started


def _wrong_states(history: History, rule: str, root: str, audits: list[Audit]) -> Iterator[Violation]:
    """Compare the marks that a root's states went through with those of the revisions that were applied to it."""
    stored = _without_repeats(one.mark for one in history.states if one.root == root and one.mark)
    begun = _without_repeats(history.mark(one.revision, root) for one in audits if one.state == RUNNING)
    succeeded = _without_repeats(history.mark(one.revision, root) for one in audits if one.state == "SUCCESS")
    missing = _first_missing(stored, begun)
    if missing:
        yield Violation(rule, root, f"its state became {missing}, but the applies were, in order: {', '.join(begun)}")
    missing = _first_missing(succeeded, stored)
    if missing:
        yield Violation(rule, root, f"{missing} was applied, but its states were, in order: {', '.join(stored)}")


def _without_repeats(marks: Iterable[str | None]) -> list[str]:
    known = [mark for mark in marks if mark]
    return [mark for mark, before in zip(known, [None, *known], strict=False) if mark != before]


def _first_missing(part: list[str], whole: list[str]) -> str | None:
    """Return the first of ``part`` that does not occur in ``whole`` in this order."""
    rest = iter(whole)
    return next((mark for mark in part if not any(mark == other for other in rest)), None)


def _changed_plans(history: History, rule: str) -> Iterator[Violation]:
    plans = {audit.deployment: audit.plan for audit in begun(history)}
    for audit in _applies(history):
        if audit.state in ENDS and plans.get(audit.deployment, audit.plan) != audit.plan:
            yield story(history, rule, audit, "it ended with another plan than it started with")


def no_apply_without_audit(history: History) -> Iterator[Violation]:
    """Rule 7: whatever an engine did or stored, the audit topic had heard that it was to apply just that."""
    rule = "7 no apply without audit"
    heard = defaultdict(list)
    for audit in begun(history):
        heard[audit.root, history.mark(audit.revision, audit.root)].append(audit.started or 0.0)
    for effect in history.effects:
        if effect.what == "begin" and not any(at <= effect.at for at in heard[effect.root, effect.mark]):
            yield Violation(rule, effect.root, f"the engine applied {effect.mark} without an earlier audit message")
    for stored in history.states:
        marks = [(root, mark) for root, mark in heard if root == stored.root and stored.mark in {mark, None}]
        if not any(at <= stored.at + _WHOLE_SECOND for key in marks for at in heard[key]):
            what = f"state {stored.serial} with {stored.mark} was stored without an earlier audit message"
            yield Violation(rule, stored.root, what)


def audited_exactly_once(history: History) -> Iterator[Violation]:
    """Rule 7: every state of an apply is audited once, in order, and the check run says the same."""
    rule = "7 audited exactly once"
    for event, count in Counter(audit.event for audit in history.audits).items():
        if count > 1:
            audit = next(audit for audit in history.audits if audit.event == event)
            yield story(history, rule, audit, f"{event} was published {count} times")
    never, by_deployment = never_begun(history), defaultdict(list)
    for audit in _applies(history):
        by_deployment[audit.deployment].append(audit)
    for audits in by_deployment.values():
        states = [audit.state for audit in audits]
        if audits[0].deployment in never and states in (["FAILURE"], [RUNNING]):
            continue
        if states[0] != RUNNING or len(states) != 2 or states[1] not in ENDS:  # noqa: PLR2004  # begun and ended
            yield story(history, rule, audits[0], f"audit messages of its apply: {', '.join(states)}")
    yield from _contradictions(history, rule)


def _contradictions(history: History, rule: str) -> Iterator[Violation]:
    newest = {run.deployment: run for run in sorted(history.checks, key=lambda run: run.id)}
    for audit in _applies(history):
        run = newest.get(audit.deployment)
        if audit.state not in ENDS:
            continue
        if run is None:
            yield story(history, rule, audit, "it has no check run")
        elif run.conclusion not in _SHOWN_AS[audit.state]:
            yield story(history, rule, audit, f"audited as {audit.state}, but shown as {run.conclusion}: {run.title}")


def lock_is_respected(history: History) -> Iterator[Violation]:
    """Rule 5, the lock: after an unknown outcome or a manual deploy, nothing but manual ones until somebody unlocks."""
    rule, never = "5 the lock holds", never_begun(history)
    for root, audits in _by_root(each for each in _applies(history) if each.deployment not in never).items():
        since: float | None = None
        for audit in audits:
            if audit.state == RUNNING and audit.trigger != "manual" and since is not None:
                if not _unlocked(history, root, since, audit.started or 0):
                    yield story(history, rule, audit, "it was applied while the queue was locked")
                since = None
            if audit.state == "UNKNOWN":
                since = audit.ended
            elif audit.state == RUNNING and audit.trigger == "manual":
                since = _let_in(history, audit)
            elif audit.state == "FAILURE" and audit.trigger == "manual" and not _touched(history, audit):
                since = None


def _let_in(history: History, audit: Audit) -> float | None:
    """Return when a deployment by hand was let in and locked, before its plan: an unlock during its review counts."""
    begun = [run.begun for run in history.checks if run.deployment == audit.deployment and run.begun]
    return min([*begun, audit.started or 0.0])


def _touched(history: History, audit: Audit) -> bool:
    """Tell whether the engine did anything for this apply: one that did nothing gives its lock back."""
    mark, begun = history.mark(audit.revision, audit.root), audit.started or 0.0
    return any(effect.root == audit.root and effect.mark == mark and effect.at >= begun for effect in history.effects)


def _unlocked(history: History, root: str, since: float, until: float) -> bool:
    return any(
        act.what == "Unlock" and act.allowed and act.root == root and since <= act.at <= until for act in history.acts
    )


def decisions_are_audited(history: History) -> Iterator[Violation]:
    """Rule 7: nobody is said to have rejected or unlocked anything who did not, or may not.

    Tidegate itself rejects a commit that a forced push took away.
    """
    rule = "7 decisions are audited"
    for audit in history.audits:
        what = {"REJECTED": "Reject", "UNLOCKED": "Unlock"}.get(audit.state)
        if not what or (audit.state == "REJECTED" and was_taken_away(history, audit.revision, audit.ended or 0.0)):
            continue
        if not any(act.what == what and act.root == audit.root and act.allowed for act in history.acts):
            yield story(history, rule, audit, f"it was audited as {audit.state}, but nobody with permission did that")


#: All rules, each a function of a history.
RULES: tuple[Callable[[History], Iterator[Violation]], ...] = (
    one_apply_in_flight,
    nothing_is_lost,
    never_backwards,
    never_retried,
    lock_is_respected,
    reviewed_is_applied,
    no_apply_without_audit,
    audited_exactly_once,
    decisions_are_audited,
    gates_hold,
    gates_say_what_they_wait_for,
    forced_off_is_not_applied,
    never_green,
    drift_is_seen,
    secrets_are_masked,
    pulls_are_answered,
    one_runner_plans,
    applies_run_on_fargate,
    lost_plans_move,
)
#: Those of them that may be broken at no time, while others only say how all ends.
AT_ANY_TIME = (
    one_apply_in_flight,
    never_backwards,
    never_retried,
    lock_is_respected,
    reviewed_is_applied,
    no_apply_without_audit,
    forced_off_is_not_applied,
    never_green,
    one_runner_plans,
    applies_run_on_fargate,
)


def _applies(history: History) -> list[Audit]:
    """Return the audit messages of applies, as they arrived."""
    return [audit for audit in history.audits if audit.state == RUNNING or audit.state in ENDS]


def _by_root(audits: Iterable[Audit]) -> dict[str, list[Audit]]:
    found = defaultdict(list)
    for audit in audits:
        found[audit.root].append(audit)
    return found
