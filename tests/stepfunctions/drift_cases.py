"""The ways that one run that looks for drift can go through its machine, each in a repository of its own.

The name of the root that it looks at tells the scripted runner what happens in it, as for deployments.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.stepfunctions.histories import History, read_history
from tests.stepfunctions.layer_faults import Faults, both, no_faults, refuses, stumbles, throttled_runs
from tests.stepfunctions.pull_cases import BACKEND
from tests.stepfunctions.world import World, events_of, until
from tidegate.config.rules.drift import DriftRecord
from tidegate.rules.errors import NotFound

FOUND = ("Begin the run", "Find what is looked at", "Is anything to be looked at?")
WAITING = ("Begin the plan", "Wait for a free place")
LOOKING = ("Look at all of it", "Begin the layer", "Begin the plan", "Start a runner for the plan", "Plan")
PLANNED = ("Record the plan", "Layer looked at")
SHOWN = ("Keep and show what was found", "Did Tidegate fail on the way?", "Looked for drift")
ALARMED = (*SHOWN[:-1], "Tidegate failed")
UNPLANNED = ("Record that there is no plan", "Whose failure is it?")
FAILED = (*UNPLANNED, "Layer looked at", *SHOWN)
FAULT = (*UNPLANNED, "Layer at fault", *ALARMED)
TOLD = (*FOUND[:2], "Record that Tidegate failed", "Tidegate failed")
#: No merge deploys the root, so that its queue is quiet.
FILE = (
    "when_modified: {{autoplan: false}}\ndrift: {{schedules: {{nightly: {{tag_query: '{query}', schedule: daily}}}}}}\n"
)


@dataclass(frozen=True)
class DriftCase:
    """What goes wrong (by the repository), the states of the execution, and what its record says in the end.

    Where the place for plans is ``occupied``, it becomes free for what is ``served``.
    """

    name: str
    states: tuple[str, ...]
    summary: str
    faults: Faults = no_faults
    query: str = ""
    schedule: str = "nightly"
    occupied: bool = False
    served: bool = True

    @property
    def repository(self) -> str:
        return f"{self.name}/roots"


def play_drift(case: DriftCase, world: World) -> tuple[tuple[str, ...], str]:
    """Play a case to the end of its execution; return its states, and what the record says then."""
    file = FILE.format(query=case.query)
    world.forge.push(case.repository, {"tidegate.yaml": file, f"{case.name}/main.tf": BACKEND}, "first")
    until(lambda: _record(case, world), f"the schedule of {case.repository}")
    if case.occupied:
        world.occupy(case.repository)
    for fault in case.faults(case.repository):
        world.cloud.add_fault(**fault)
    given = f'{{"repository": "{case.repository}", "schedule": "{case.schedule}"}}'
    machine = world.cloud.state_machines["drift"]
    arn = world.states.start_execution(stateMachineArn=machine, name=case.name, input=given)["executionArn"]
    if case.occupied and case.served:
        world.make_room(case.repository)

    def look() -> History | None:
        found = read_history("drift", list(events_of(world.states, arn)))
        return found if found.end else None

    states = until(look, f"the end of {case.name}").states
    record = _record(case, world)
    assert record is not None
    return states, "Tidegate failed" if record.notice.startswith("Tidegate failed") else record.summary


def _record(case: DriftCase, world: World) -> DriftRecord | None:
    try:
        return world.tidegate.drifts.get(case.repository, "nightly")
    except NotFound:
        return None


_LOOKING = (*FOUND, *LOOKING)
_TO_WAIT = (*FOUND, *LOOKING[:2], *WAITING)
_DRIFTED, _FAILED, _NOTHING = "1 drifted", "1 failed", "no roots"

DRIFT_CASES = [
    DriftCase("drift-plans", (*_LOOKING, *PLANNED, *SHOWN), _DRIFTED),
    DriftCase(
        "drift-stumbles",
        (*_LOOKING, *PLANNED, *SHOWN),
        _DRIFTED,
        stumbles("discover_drift", "begin_speculation", "hand_over_job", "record_speculation", "conclude_drift"),
    ),
    DriftCase("drift-plan-fails", (*_LOOKING, *FAILED), _FAILED, stumbles("record_speculation")),
    DriftCase("drift-plan-faults", (*_LOOKING, *FAULT), _FAILED),
    DriftCase("drift-speculate-never-starts", (*_LOOKING[:-1], *FAULT), _FAILED),
    DriftCase("drift-speculate-starts-late-once", (*_LOOKING, *PLANNED, *SHOWN), _DRIFTED, throttled_runs),
    DriftCase("drift-refused-to-begin", (*_LOOKING[:-2], *FAULT), _FAILED, refuses("begin_speculation")),
    DriftCase(
        "drift-unrecorded",
        (*_LOOKING, PLANNED[0], UNPLANNED[0], "Layer at fault", *ALARMED),
        _FAILED,
        refuses("record_speculation"),
    ),
    DriftCase(
        "drift-waits",
        (*_TO_WAIT, *LOOKING[2:], *PLANNED, *SHOWN),
        _DRIFTED,
        stumbles("wait_for_place"),
        occupied=True,
    ),
    DriftCase("drift-finds-no-place", (*_TO_WAIT, *FAULT), _FAILED, occupied=True, served=False),
    DriftCase(
        "drift-may-not-wait",
        (*_TO_WAIT, *FAULT),
        _FAILED,
        refuses("wait_for_place"),
        occupied=True,
        served=False,
    ),
    DriftCase("drift-lost", TOLD, _NOTHING, refuses("discover_drift")),
    DriftCase("drift-lost-and-throttled", TOLD, _NOTHING, both(refuses("discover_drift"), stumbles("conclude_drift"))),
    DriftCase("drift-lost-and-untold", TOLD, _NOTHING, refuses("discover_drift", "conclude_drift")),
    DriftCase("drift-unshown", (*_LOOKING, *PLANNED, SHOWN[0], "Tidegate failed"), _NOTHING, refuses("conclude_drift")),
    DriftCase("drift-of-nothing", (*FOUND, *SHOWN), _NOTHING, query="nothing"),
    DriftCase("drift-unknown", (*FOUND, "Not this run"), _NOTHING, schedule="unknown"),
]
