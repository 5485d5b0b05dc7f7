"""The ways that one pull request can go through its machine, each in a repository of its own.

The name of the root that it adds tells the scripted runner what happens in it, as for deployments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.stepfunctions.histories import History, read_history
from tests.stepfunctions.layer_faults import Faults, both, no_faults, refuses, stumbles, throttled_runs
from tests.stepfunctions.world import World, events_of, until
from tidegate.deploys.rules.temporary_layer import LayerState, TemporaryLayer
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

FOUND = ("Begin the pull request", "Find what the pull request changes", "Is anything to be planned?")
EACH = ("Plan all that it changes", "Begin the layer")
PLANNING = ("Begin the plan", "Start a runner for the plan", "Plan")
WAITING = ("Begin the plan", "Wait for a free place")
AGAIN = ("May the plan be tried again?", "Wait before planning again")
RECORDED = ("Record the plan", "Do policies cover it?")
JUDGED = (*RECORDED, "Hold the plan against the policies")
SHOWN = ("Show what the merge would do", "Did Tidegate fail on the way?", "Shown")
ALARMED = (*SHOWN[:-1], "Tidegate failed")
FAILED = ("Record that the plan failed", "Layer failed", *SHOWN)
FAULT = ("Record that Tidegate failed", "Layer at fault")
TOLD = ("Show that Tidegate failed", "Tidegate failed")
BACKEND = 'terraform {\n  backend "s3" {}\n}\n'
POLICIES = {
    "tidegate.yaml": "policy_sets:\n  security:\n    paths: [policies]\n",
    "policies/main.rego": 'package main\n\nimport rego.v1\n\ndeny contains "never" if input.never\n',
}


def nobody(_: PullInWorld) -> None:
    """Let it run."""


@dataclass(frozen=True)
class PullCase:
    """What a pull request changes, what goes wrong (by its repository), and what is to be seen of its execution."""

    name: str
    states: tuple[str, ...]
    layer: LayerState | None = None
    faults: Faults = no_faults
    changes: Mapping[str, str] = field(default_factory=dict)
    main: Mapping[str, str] = field(default_factory=dict)
    draft: bool = False
    occupied: bool = False
    act: Callable[[PullInWorld], None] = nobody

    @property
    def repository(self) -> str:
        return f"{self.name}/roots"


@dataclass(frozen=True)
class PullInWorld:
    """A pull request on the local cloud, and what Tidegate knows of it."""

    world: World
    case: PullCase
    number: int

    @property
    def id(self) -> str:
        return f"{self.case.repository}#{self.number}"

    def record(self) -> PullRequestRecord | None:
        try:
            return self.world.tidegate.pull_requests.get(self.case.repository, self.number)
        except NotFound:
            return None

    def layer(self) -> TemporaryLayer | None:
        record = self.record()
        found = self.world.tidegate.temporary_layers.many(record.layers) if record else ()
        return next(iter(found), None)

    def history(self, execution: str) -> History:
        """Return what an execution did, once it has ended."""
        machine = self.world.cloud.state_machines["pull_request"].replace(":stateMachine:", ":execution:")

        def look() -> History | None:
            found = read_history("pull_request", list(events_of(self.world.states, f"{machine}:{execution}")))
            return found if found.end else None

        return until(look, f"the end of {execution}")


def play_pull(case: PullCase, world: World) -> tuple[tuple[str, ...], LayerState | None]:
    """Play a case to the end of its execution; return its states, and the state of its layer."""
    world.forge.push(case.repository, {"README.md": "first", **case.main}, "first")
    if case.occupied:
        world.occupy(case.repository)
    for fault in case.faults(case.repository):
        world.cloud.add_fault(**fault)
    files = case.changes or {f"{case.name}/main.tf": BACKEND}
    world.forge.push(case.repository, dict(files), "change", branch="feature", base="main")
    number = world.forge.open_pull_request(case.repository, "feature", title="Change", draft=case.draft)
    pull = PullInWorld(world, case, number)
    record = until(pull.record, f"the record of {pull.id}")
    case.act(pull)
    history = pull.history(record.execution)
    layer = pull.layer()
    return history.states, layer.state if layer else None


def _close_quietly(pull: PullInWorld) -> None:
    """Let the record say that it is closed, and the execution go on, as if it could not be stopped."""
    until(lambda: (layer := pull.layer()) and layer.job, f"a plan for {pull.id}")

    def close() -> PullRequestRecord:
        record = pull.record()
        assert record is not None
        return pull.world.tidegate.pull_requests.save(replace(record, closed_at=pull.world.tidegate.clock.now()))

    deciding_again(close)


def _make_room(pull: PullInWorld) -> None:
    pull.world.make_room(pull.case.repository)


_TO_PLAN = (*FOUND, *EACH, *PLANNING)
_TO_WAIT = (*FOUND, *EACH, *WAITING)
_PLANNED, _FAILED = LayerState.PLANNED, LayerState.FAILED

PULL_CASES = [
    PullCase("pulls-plans", (*_TO_PLAN, *RECORDED, "Layer planned", *SHOWN), _PLANNED),
    PullCase(
        "pulls-stumble",
        (*_TO_PLAN, *JUDGED, "Layer planned", *SHOWN),
        _PLANNED,
        stumbles(
            "discover_pull_request",
            "begin_speculation",
            "hand_over_job",
            "record_speculation",
            "check_policies",
            "publish_pull_request",
        ),
        main=POLICIES,
    ),
    PullCase("pulls-plan-fails", (*_TO_PLAN, *FAILED), _FAILED, stumbles("record_speculation")),
    PullCase("pulls-speculate-never-starts", (*_TO_PLAN[:-1], *FAULT, *ALARMED), _FAILED),
    PullCase(
        "pulls-speculate-starts-late-once",
        (*_TO_PLAN, *RECORDED, "Layer planned", *SHOWN),
        _PLANNED,
        throttled_runs,
    ),
    PullCase(
        "pulls-dies-in-plan-once",
        (*_TO_PLAN, *AGAIN, *PLANNING, *RECORDED, "Layer planned", *SHOWN),
        _PLANNED,
    ),
    PullCase(
        "pulls-silent-in-plan-once",
        (*_TO_PLAN, *AGAIN, *PLANNING, *RECORDED, "Layer planned", *SHOWN),
        _PLANNED,
    ),
    PullCase(
        "pulls-plan-faults",
        (*_TO_PLAN, *AGAIN, *PLANNING, AGAIN[0], *FAULT, *ALARMED),
        _FAILED,
        stumbles("record_speculation"),
    ),
    PullCase(
        "pulls-waits",
        (*_TO_WAIT, *PLANNING, *RECORDED, "Layer planned", *SHOWN),
        _PLANNED,
        stumbles("wait_for_place"),
        occupied=True,
        act=_make_room,
    ),
    PullCase("pulls-finds-no-place", (*_TO_WAIT, *FAULT, *ALARMED), _FAILED, occupied=True),
    PullCase("pulls-may-not-wait", (*_TO_WAIT, *FAULT, *ALARMED), _FAILED, refuses("wait_for_place"), occupied=True),
    PullCase("pulls-refused-to-begin", (*_TO_PLAN[:-2], *FAULT, *ALARMED), _FAILED, refuses("begin_speculation")),
    PullCase(
        "pulls-unrecorded",
        (*_TO_PLAN, RECORDED[0], *FAULT, *ALARMED),
        LayerState.PLANNING,
        refuses("record_speculation"),
    ),
    PullCase(
        "pulls-plan-fails-unrecorded",
        (*_TO_PLAN, FAILED[0], "Layer at fault", *ALARMED),
        LayerState.PLANNING,
        refuses("record_speculation"),
    ),
    PullCase(
        "pulls-not-judged", (*_TO_PLAN, *JUDGED, *FAULT, *ALARMED), _FAILED, refuses("check_policies"), main=POLICIES
    ),
    PullCase("pulls-not-found", (*FOUND[:2], *TOLD), None, refuses("discover_pull_request")),
    PullCase(
        "pulls-not-found-stumbles",
        (*FOUND[:2], *TOLD),
        None,
        both(refuses("discover_pull_request"), stumbles("publish_pull_request")),
    ),
    PullCase(
        "pulls-not-found-untold",
        (*FOUND[:2], *TOLD),
        None,
        refuses("discover_pull_request", "publish_pull_request"),
    ),
    PullCase(
        "pulls-unshown",
        (*_TO_PLAN, *RECORDED, "Layer planned", SHOWN[0], "Tidegate failed"),
        _PLANNED,
        refuses("publish_pull_request"),
    ),
    PullCase("pulls-nothing", (*FOUND, "Nothing to plan"), None, changes={"README.md": "second"}),
    PullCase("pulls-unusable", (*FOUND, *SHOWN), None, main={"tidegate.yaml": "policy_sets: 3\n"}),
    PullCase(
        "pulls-skipped",
        (*FOUND, "Nothing to plan"),
        None,
        main={"tidegate.yaml": "pull_requests:\n  drafts: false\n"},
        draft=True,
    ),
    PullCase(
        "pulls-plan-is-slow",
        (*_TO_PLAN, *RECORDED, "Layer planned", *SHOWN[:-1], "Overtaken"),
        _PLANNED,
        act=_close_quietly,
    ),
]
