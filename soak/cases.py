"""How often a history had the situation in which a broken rule would have been seen: without one it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from soak.gate_rules import awaited
from soak.history import Audit, History
from soak.plan_rules import FARGATE, doubled, lost, moved, on_lambda
from soak.pull_rules import refused
from soak.update_rules import ConfigHistory, covered, landed, made_anew
from soak.violation import CUTS, OUTAGES, begun, changed_roots, has_ended, is_on_branch, may_leave

#: Troubles that lose a message, a process or an execution on the way.
_LOSES = ("webhooks go wrong", "function dies at a call", "function is killed", "calls are throttled")


@dataclass(frozen=True, slots=True)
class Case:
    """A situation: which rule it tries, what it is, and how often it was there."""

    rule: str
    what: str
    count: int


def cases(histories: Iterable[History], plan_runner: str = FARGATE, updates: ConfigHistory | None = None) -> list[Case]:
    """Return every situation, with how often it was there in all these histories.

    Those of Lambda are asked for where plans begin on it, those of config updates where there is a history of them.
    """
    every = list(histories)
    counted = [Case(rule, what, sum(count(one) for one in every)) for rule, what, count in _SITUATIONS]
    struck = every[0].struck if every else {}
    counted += [Case(rule, what, sum(struck.get(name, 0) for name in names)) for rule, what, names in _TROUBLES]
    if updates is not None:
        counted += [Case("updates", what, count(updates)) for what, count in _UPDATES]
    if plan_runner == FARGATE:
        return counted
    return counted + [Case(rule, what, sum(count(one) for one in every)) for rule, what, count in _ON_LAMBDA]


def _waited(history: History) -> int:
    """Count applies whose revision was there while another one of their root was applied."""
    pushed = {push.after: push.at for push in reversed(history.pushes)}
    applies, ends = begun(history), _ends(history)
    return sum(
        any(one.root == other.root and pushed[one.revision] < ends.get(other.deployment, 0.0) for other in applies[:at])
        for at, one in enumerate(applies)
        if one.revision in pushed
    )


def _ends(history: History) -> dict[str, float]:
    return {audit.deployment: audit.ended for audit in history.audits if audit.ended}


def _pushed(history: History) -> int:
    return sum(len(changed_roots(history, push)) for push in history.pushes)


def _woken(history: History) -> int:
    """Count changes that came to a queue with nothing to do: whoever works at it waits, or ends just then."""
    found = 0
    for push in history.pushes:
        for root in changed_roots(history, push):
            before = [run for run in history.checks if run.root == root and run.begun and run.begun < push.at]
            found += bool(before) and all(run.ended and run.ended < push.at for run in before)
    return found


def _behind(history: History) -> int:
    """Count deployments that began when something was applied that they do not contain."""
    found = 0
    for run in history.checks:
        last = [one for one in begun(history) if one.root == run.root and (one.started or 0.0) < (run.begun or 0.0)]
        found += bool(last) and not history.contains(run.sha, last[-1].revision)
    return found


def _forced_off(history: History) -> int:
    """Count deployments whose commit left the default branch while they were in progress."""
    return sum(
        may_leave(history, run.sha)
        and bool(run.begun and is_on_branch(history, run.sha, run.begun))
        and any(
            (run.begun or 0.0) < push.at < (run.ended or float("inf")) and not history.contains(push.after, run.sha)
            for push in history.pushes
        )
        for run in history.checks
    )


def _unknown(history: History) -> list[Audit]:
    return [audit for audit in history.audits if audit.state == "UNKNOWN"]


def _locked(history: History) -> int:
    """Count unknown outcomes after which a merge of the root was applied: it had to wait for somebody to unlock."""
    later = [audit for audit in begun(history) if audit.trigger != "manual"]
    return sum(
        any(one.root == audit.root and (one.started or 0.0) > (audit.ended or 0.0) for one in later)
        for audit in _unknown(history)
    )


def _approved(history: History, people: int) -> int:
    return sum(len(audit.approvals) >= people for audit in begun(history))


def _broken_plans(history: History) -> int:
    commits = history.commits
    return sum(run.sha in commits and run.root in commits[run.sha].broken and has_ended(run) for run in history.checks)


#: Rule, situation, and how many of it a history has.
_SITUATIONS: tuple[tuple[str, str, Callable[[History], int]], ...] = (
    ("1", "an apply had to wait for another one of its root", _waited),
    ("2", "a change was pushed", _pushed),
    ("2", "a pull request was opened", lambda history: len(history.pulls)),
    ("3", "a change reached an idle queue", _woken),
    ("4", "a deployment was behind or diverged from the applied revision", _behind),
    ("4", "a force push removed a revision in progress", _forced_off),
    ("5", "the outcome of an apply was unknown", lambda history: len(_unknown(history))),
    ("5", "a merge had to wait for an unlock after that", _locked),
    ("6", "an approved plan was applied", lambda history: _approved(history, 1)),
    ("6", "a plan that needs two approvals was applied", lambda history: _approved(history, 2)),
    (
        "6",
        "somebody without permission approved",
        lambda history: sum(act.what == "Approve" and not act.allowed for act in history.acts),
    ),
    ("7", "an apply was audited", lambda history: len(begun(history))),
    ("8", "outputs searched for secrets", lambda history: history.searched),
    ("9", "a merge could not be planned", _broken_plans),
    (
        "9",
        "a pull request could not be planned, or was refused by a policy",
        lambda history: sum(bool(refused(history, pull)) for pull in history.pulls),
    ),
    ("9", "a drifted root was checked", lambda history: sum(len(look.drifted) for look in history.looks)),
    ("gates", "an apply depended on others of its change", awaited),
)
#: What there is to see of a config repository.
_UPDATES: tuple[tuple[str, Callable[[ConfigHistory], int]], ...] = (
    ("an announced image set landed", lambda history: landed(history, "new images published")),
    ("a promotion landed", lambda history: landed(history, "promotion")),
    ("an entry was evicted", lambda history: sum(each.state == "evicted" for each in history.accepted)),
    ("an entry was made anew", made_anew),
    ("a failed entry landed below one that passed", covered),
    ("a check was cancelled", lambda history: sum(each.conclusion == "cancelled" for each in history.reports)),
    ("a person pushed to the default branch", lambda history: history.by_hand),
    (
        "images were announced while their set was held",
        lambda history: sum(one.since <= each.at <= one.until for one in history.held for each in history.accepted),
    ),
)
#: What there is to see where plans begin on Lambda.
_ON_LAMBDA: tuple[tuple[str, str, Callable[[History], int]], ...] = (
    ("1", "Lambda was invoked several times for a job", doubled),
    ("2", "a plan started on Lambda", lambda history: len(on_lambda(history))),
    ("2", "a plan on Lambda was lost with its function", lost),
    ("2", "a plan moved from Lambda to Fargate", moved),
)
#: What troubles tried: they strike all repositories.
_TROUBLES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("2", "a webhook, an API call or a function was lost", _LOSES),
    ("2", "an execution was stopped externally", ("execution is stopped",)),
    ("2", "the clock jumped", ("clock jumps",)),
    ("2", "a runner had no job, or was a duplicate", ("runner comes twice", "runner is orphaned")),
    ("5", "a runner was killed during an apply", (CUTS,)),
    ("7", "an apply tried to start while the audit topic was down", (OUTAGES,)),
)
