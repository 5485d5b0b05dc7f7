"""Plays: a case or a story on a world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.stepfunctions.cases import CASES, Case
from tests.stepfunctions.drift_cases import DRIFT_CASES, DriftCase, play_drift
from tests.stepfunctions.gate_stories import GATE_STORIES
from tests.stepfunctions.pull_cases import PULL_CASES, PullCase, play_pull
from tests.stepfunctions.stories import ALONE, STORIES
from tests.stepfunctions.ways import WAITING
from tests.stepfunctions.world import World, until
from tidegate.deploys.rules.deployment import State
from tidegate.roots.rules.root import worker_name


@dataclass(frozen=True)
class Seen:
    """What is to be seen after a case: the states of both executions, and what people find."""

    deploy: tuple[str, ...]
    terraform: tuple[str, ...]
    state: State
    conclusion: str | None
    audits: tuple[str, ...]
    locked: bool


@dataclass(frozen=True)
class Play:
    name: str
    on: Callable[[World], Any]
    alone: bool = False

    def __str__(self) -> str:
        return self.name


def play_case(case: Case, world: World) -> Seen:
    """Play a case until its queue rests, and tell what is to be seen then."""
    root = world.root(case.name)
    deployment = root.deployment()
    if case.waits is not None:
        world.enroll(deployment.id, "dev", "never-comes", "never-comes")
        deployment = replace(deployment, change_set=deployment.id, stack="prod", waits=case.waits)
    deployment = replace(deployment, requires=case.requires)
    if case.policy:
        deployment = replace(deployment, **root.held(case.policy))
    for fault in case.faults(root, deployment):
        world.cloud.add_fault(**fault)
    root.enqueue(deployment)
    case.act(root, deployment)
    record = root.until_final(deployment)
    deploy = root.until_in(root.deploy_arn(worker_name(root.queue, 1)), WAITING)

    def shown() -> str | None:
        run = root.check_run(deployment)
        as_expected = run is not None and run["conclusion"] == case.conclusion
        return run["conclusion"] if run and (as_expected or record.state is not case.state) else None

    return Seen(
        deploy=deploy.states,
        terraform=root.history(root.terraform_arn(deployment)).states,
        state=record.state,
        conclusion=until(shown, f"a check run that shows {case.conclusion}"),
        audits=tuple(root.audits(deployment)),
        locked=root.head().lock is not None,
    )


def expected(case: Case) -> Seen:
    return Seen(case.deploy, case.terraform, case.state, case.conclusion, case.audits, case.locked)


def _of_case(case: Case) -> Play:
    return Play(case.name, lambda world: play_case(case, world))


def _of_pull(case: PullCase) -> Play:
    return Play(case.name, lambda world: play_pull(case, world))


def _of_drift(case: DriftCase) -> Play:
    return Play(case.name, lambda world: play_drift(case, world))


DRIFT_PLAYS = [(case, _of_drift(case)) for case in DRIFT_CASES]
PULL_PLAYS = [(case, _of_pull(case)) for case in PULL_CASES]
CASE_PLAYS = [(case, _of_case(case)) for case in CASES]
STORY_PLAYS = [Play(story.__name__, story, story in ALONE) for story in [*STORIES, *GATE_STORIES]]
