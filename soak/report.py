"""What a soak tells: figures, and the story of each violation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from soak.cases import Case, cases
from soak.history import History
from soak.plan_rules import FARGATE
from soak.update_rules import ConfigHistory
from soak.violation import Violation

#: Violations to print for each rule.
_TOLD = 8


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a soak went. ``settled`` tells whether everything became idle; ``left`` is what did not."""

    seed: int
    seconds: float
    histories: tuple[History, ...]
    events: Mapping[str, int]
    troubles: Mapping[str, int]
    violations: tuple[Violation, ...]
    settled: bool
    left: tuple[str, ...] = ()
    complaints: Mapping[str, int] = field(default_factory=dict)
    plan_runner: str = FARGATE
    updates: ConfigHistory = field(default_factory=ConfigHistory)

    @property
    def ends(self) -> Counter[str]:
        """Return how many deployments ended how, by the titles of their check runs."""
        newest = {run.deployment: run for history in self.histories for run in history.checks}
        return Counter(run.title.partition(":")[0] for run in newest.values())

    @property
    def cases(self) -> list[Case]:
        """Return how often each situation was there in which a broken rule would have been seen."""
        return cases(self.histories, self.plan_runner, self.updates)


def show(outcome: Outcome, console: Console) -> None:
    """Print the figures and the violations."""
    for heading, counted in (
        ("events", outcome.events),
        ("faults injected", outcome.troubles),
        ("deployments by result", outcome.ends),
        ("announced image sets by result", Counter(each.state or "open" for each in outcome.updates.accepted)),
        ("audit messages", Counter(audit.state for history in outcome.histories for audit in history.audits)),
    ):
        console.print(_table(heading, counted))
    for complaint, count in outcome.complaints.items() if outcome.violations or not outcome.settled else ():
        console.print(f"{count:6} {complaint}", markup=False, highlight=False, soft_wrap=True)
    console.print(_case_table(outcome.cases))
    _tell_all(outcome, console)
    pushes = sum(len(history.pushes) for history in outcome.histories)
    states = sum(len(history.states) for history in outcome.histories)
    console.print(
        f"seed {outcome.seed}, {outcome.seconds:.0f} s: {sum(outcome.events.values())} events, "
        f"{sum(outcome.troubles.values())} faults, {pushes} pushes, "
        f"{sum(outcome.ends.values())} deployments, {states} states, {len(outcome.updates.main)} config commits, "
        f"[bold]{len(outcome.violations)} violations[/]"
    )
    if not outcome.settled:
        console.print(f"[red]Work was left at the time limit: {', '.join(outcome.left)}.[/]")


def _table(heading: str, counted: Mapping[str, int]) -> Table:
    table = Table(title=f"{heading}: {sum(counted.values())}", title_justify="left", show_header=False, box=None)
    for name, count in sorted(counted.items(), key=lambda item: -item[1]):
        table.add_row(f"{count:6}", name)
    return table


def _case_table(every: list[Case]) -> Table:
    table = Table(title="tested cases per rule", title_justify="left", show_header=False, box=None)
    for case in sorted(every, key=lambda case: case.rule):
        table.add_row(f"{case.count:6}", case.rule, case.what)
    return table


def _tell_all(outcome: Outcome, console: Console) -> None:
    """Tell the first stories of each rule, and how many more there are."""
    for rule, count in Counter(violation.rule for violation in outcome.violations).items():
        broken = [violation for violation in outcome.violations if violation.rule == rule]
        for number, violation in enumerate(broken[:_TOLD], 1):
            _tell(number, violation, outcome.histories, console)
        if count > _TOLD:
            console.print(f"… and {count - _TOLD} more of rule {rule}")


def _tell(number: int, violation: Violation, histories: Iterable[History], console: Console) -> None:
    console.print(f"[red bold]{number}. rule {violation.rule}[/] {violation.root} {violation.revision[:7]}")
    console.print(f"   {violation.what}", markup=False, highlight=False, soft_wrap=True)
    for line in [*violation.links, *_audits_of(violation, histories)]:
        console.print(f"   {line}", markup=False, highlight=False, soft_wrap=True)


def _audits_of(violation: Violation, histories: Iterable[History]) -> Iterable[str]:
    for audit in (audit for history in histories for audit in history.audits):
        if audit.root == violation.root and (not violation.revision or audit.revision == violation.revision):
            yield f"audit {audit.state} {audit.deployment} {audit.revision[:7]} {audit.started} to {audit.ended}"
