"""The checker's rules of what may not be green or shown: failed and refused plans, drift, secrets, pull requests."""

from __future__ import annotations

from collections.abc import Iterator

from soak.history import History, Pull
from soak.violation import Violation

WHOLE, OF_POLICIES = "tidegate/plan", "tidegate/policy: "
_RULE = "9 what failed is never green"
_GREEN = "success"
_UNDER_WAY = frozenset({"queued", "in_progress"})


def never_green(history: History) -> Iterator[Violation]:
    """Rule 9: what could not be planned, and what a policy refuses, is never green, at no time."""
    for run in history.checks:
        commit = history.commits.get(run.sha)
        if commit and run.root in commit.broken and run.conclusion == _GREEN:
            yield Violation(
                _RULE, run.root, f"it cannot be planned, but its check says: {run.title}", run.sha, (run.url,)
            )
    said = {(verdict.sha, verdict.check) for verdict in history.verdicts if verdict.conclusion == _GREEN}
    for pull in history.pulls:
        for root, why in refused(history, pull):
            green = (WHOLE, f"{WHOLE}: {root}") if why == "cannot be planned" else (WHOLE,)
            for check in sorted(name for sha, name in said if sha == pull.sha):
                if check in green or (why == "is denied" and check.startswith(OF_POLICIES)):
                    yield Violation(_RULE, root, f"it {why} in #{pull.number}, but {check} was green", pull.sha)


def refused(history: History, pull: Pull) -> list[tuple[str, str]]:
    """Return the roots of a pull request that may not be green, each with the reason."""
    commit = history.commits.get(pull.sha)
    if commit is None:
        return []
    broken = [(root, "cannot be planned") for root in pull.roots if root in commit.broken]
    return broken + [(root, "is denied") for root in pull.roots if root in commit.denied]


def drift_is_seen(history: History) -> Iterator[Violation]:
    """Rule 9: a drift detection run that is green has overlooked nothing."""
    for look in history.looks:
        if look.drifted and look.conclusion == _GREEN:
            yield Violation("9 drift is never green", look.drifted[0], f"{look.check} was green while it had drifted")


def secrets_are_masked(history: History) -> Iterator[Violation]:
    """Rule 8: nothing that people read, and no log that is stored, holds a secret of a module."""
    for place in history.leaks:
        yield Violation("8 secrets are masked", "", place)


def pulls_are_answered(history: History) -> Iterator[Violation]:
    """Rule 2: every pull request that is open in the end has a verdict on its head."""
    for pull in unanswered_pulls(history):
        yield Violation("2, 3 nothing is lost", "", f"#{pull.number} is open, but no {WHOLE} has ended", pull.sha)


def unanswered_pulls(history: History) -> list[Pull]:
    """Return the open pull requests whose head has no verdict."""
    whole = [verdict for verdict in history.verdicts if verdict.check == WHOLE]
    ended = {verdict.sha for verdict in whole if verdict.conclusion not in _UNDER_WAY}
    return [pull for pull in history.pulls if pull.open and pull.sha not in ended]
