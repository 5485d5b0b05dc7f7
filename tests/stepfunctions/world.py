"""Tidegate on a local cloud, with a scripted runner: enqueue, press, stop, look."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from tests.stepfunctions.histories import History, read_history
from tests.stepfunctions.limits import PLANS
from tidegate.bootstrap import Bootstrap
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import Deployment, State, Trigger, is_final
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.texts.text import check_run_name
from tidegate.policies.rules.files import packed
from tidegate.policies.rules.policy import HeldPolicySet
from tidegate.ports import Enrolled
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.roots.rules.root import Revision, Root, deployment_id, queue_id
from tidegate.vcs.rules.pull_request import PullRequestSpec
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient

T = TypeVar("T")
#: Seconds that anything may take on a busy machine. Nothing waits for so long when all is well.
PATIENCE = 300.0
_PAUSE = 0.1
REPOSITORY = "paths/roots"
NO_WAITS = Waits()


def until(check: Callable[[], T | None], what: str | Callable[[], str], patience: float = PATIENCE) -> T:
    """Return the first result of ``check`` that counts; fail with ``what`` when there is none in time."""
    deadline = time.monotonic() + patience
    while not (found := check()):
        late = time.monotonic() >= deadline
        assert not late, f"not within {patience:.0f} s: {what if isinstance(what, str) else what()}"
        time.sleep(_PAUSE)
    return found


class OperatorWiring(Bootstrap):
    """The use cases with an operator's rights, from outside."""

    def __init__(self, cloud: LocalCloud) -> None:
        queues = {name: url for name, url in cloud.queues.items() if "Dead" not in name and "Later" not in name}
        words = ("CheckRun", "Line", "Change")
        check_run, line, change = (next(url for name, url in queues.items() if word in name) for word in words)
        super().__init__(
            {
                "TIDEGATE_TABLE": cloud.table,
                "TIDEGATE_EVENT_BUS": cloud.event_bus,
                "TIDEGATE_CHECK_RUN_QUEUE": check_run,
                "TIDEGATE_LINE_QUEUE": line,
                "TIDEGATE_CHANGE_QUEUE": change,
                "TIDEGATE_DEPLOY_STATE_MACHINE": cloud.state_machines["deploy"],
                "TIDEGATE_PULL_REQUEST_STATE_MACHINE": cloud.state_machines["pull_request"],
                "TIDEGATE_AUDIT_TOPIC": cloud.info["audit_topic"],
                "TIDEGATE_PULL_REQUEST_PLANS": str(PLANS),
                "TIDEGATE_RUNNER_SLOTS": "40",
            }
        )
        self._cloud = cloud

    def client(self, service: str) -> Any:
        return self._cloud.client(service)


@dataclass(frozen=True)
class Commits:
    """A repository on the forge: three commits in a row, and one beside the second."""

    repository: str
    installation: int
    first: str
    second: str
    third: str
    beside: str


class World:
    """A local cloud with a repository, and people who act."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.forge = ForgeClient(cloud.forge_url, "maintainer")
        self.tidegate = OperatorWiring(cloud)
        self.states = cloud.client("stepfunctions")

    @cached_property
    def commits(self) -> Commits:
        return self.make_repository(REPOSITORY)

    def make_repository(self, repository: str, configuration: str = "version: 1\n") -> Commits:
        """Push what holds no root module: then only what the cases enqueue is deployed."""
        first = self.forge.push(repository, {"README.md": "first", "tidegate.yaml": configuration}, "first")
        beside = self.forge.push(repository, {"beside.md": "beside"}, "beside", branch="beside", base="main")
        second, third = (self.forge.push(repository, {"README.md": text}, text) for text in ("second", "third"))
        owner = self.forge.call("GET", f"/repos/{repository}")["owner"]
        return Commits(repository, int(owner["id"]), first, second, third, beside)

    def enroll(self, change: str, stack: str, root: str, deployment: str) -> None:
        """Let a deployment be part of a change."""
        at = self.tidegate.clock.now()
        self.tidegate.change_sets.enroll(change, [Enrolled(root, stack, deployment, at)])

    def occupy(self, repository: str) -> None:
        """Let all places for plans of a repository be taken by others."""
        for number in range(PLANS):
            self.tidegate.plan_places.take(repository, f"another-{number}", PLANS)

    def make_room(self, repository: str) -> None:
        """Let the others give their places back once somebody waits for one."""
        until(lambda: self.tidegate.plan_places.read(repository).line, f"somebody who waits in {repository}")
        self.tidegate.place_giver.leave(repository, [f"another-{number}" for number in range(PLANS)])

    def root(self, name: str, commits: Commits | None = None) -> RootInWorld:
        return RootInWorld(self, name, commits or self.commits)


@dataclass(frozen=True)
class RootInWorld:
    """A root whose name tells the scripted runner what happens to it."""

    world: World
    name: str
    commits: Commits

    @property
    def queue(self) -> str:
        return queue_id(self.commits.repository, self.name)

    def deployment(
        self, sha: str | None = None, trigger: Trigger = Trigger.MERGE, request: str = "merge"
    ) -> Deployment:
        """Return what a merge of ``sha`` (default: the first commit) asks for; it is not enqueued yet."""
        sha = sha or self.commits.first
        now = self.world.tidegate.clock.now()
        return Deployment(
            id=deployment_id(self.commits.repository, self.name, sha, request),
            repository=self.commits.repository,
            root=Root(self.name, self.name),
            revision=Revision(sha, "main"),
            trigger=trigger,
            requested_by="maintainer",
            requested_at=now,
            installation=self.commits.installation,
            changed_at=now,
            review_rule=ReviewRule(PlanReview.NEVER if "plan-only-adds" in self.name else PlanReview.ALWAYS),
        )

    def in_change(
        self, change: str, stack: str, waits: Waits = NO_WAITS, *, shared: bool = False, sha: str | None = None
    ) -> Deployment:
        """Return and enroll what a merge asks for that changes several stacks; it is not enqueued yet."""
        wanted = self.deployment(sha, request=f"merge {stack}" if shared else "merge")
        deployment = replace(wanted, change_set=change, stack=stack, shared=shared, waits=waits)
        self.world.enroll(change, stack, self.name, deployment.id)
        return deployment

    def held(self, policy: str) -> dict[str, Any]:
        """Return what a deployment of a pull request has besides that is held against a policy of nobody."""
        key, content = packed({"main.rego": f'package main\n\ndeny contains "no" if {policy}\n'.encode()})
        self.world.cloud.client("s3").put_object(Bucket=self.world.cloud.artifact_bucket, Key=key, Body=content)
        number = zlib.crc32(self.name.encode())
        of = self.commits
        spec = PullRequestSpec(
            of.repository, number, of.installation, "feature", "main", of.first, of.first, "maintainer"
        )
        at = self.world.tidegate.clock.now()
        self.world.tidegate.pull_requests.save(PullRequestRecord(spec, opened_at=at, closed_at=at))
        policy_set = HeldPolicySet("words", key, sha256(content).hexdigest())
        return {"pull_request": number, "policy_sets": (policy_set,)}

    def enqueue(self, *deployments: Deployment) -> None:
        for deployment in deployments:
            self.world.tidegate.enqueuer.enqueue(deployment)

    def head(self) -> QueueHead:
        return self.world.tidegate.queues.read(self.queue)[0]

    def record(self, deployment: Deployment) -> Deployment:
        return self.world.tidegate.deployments.get(deployment.id)

    def until_state(self, deployment: Deployment, *states: State) -> Deployment:
        def look() -> Deployment | None:
            record = self.record(deployment)
            assert record.state in states or not is_final(record.state), f"{record.state}: {record.reason}"
            return record if record.state in states else None

        return until(look, f"{deployment.id} in {states}, it is {self.record(deployment).state}")

    def until_final(self, deployment: Deployment) -> Deployment:
        def look() -> Deployment | None:
            record = self.record(deployment)
            return record if is_final(record.state) else None

        return until(look, lambda: f"the end of {deployment.id}, which is {self._now(deployment)}")

    def press(self, deployment: Deployment, button: str, user: str = "reviewer") -> None:
        """Press a button of the deployment's check run, once it is there."""

        def run() -> Mapping[str, Any] | None:
            found = self.check_run(deployment)
            return found if found and button in self.world.forge.buttons(deployment.repository, found["id"]) else None

        found = until(run, lambda: f"the button {button} on {deployment.id}, which is {self._now(deployment)}")
        ForgeClient(self.world.forge.url, user).press(deployment.repository, found["id"], button)

    def _now(self, deployment: Deployment) -> str:
        """Return all that is known of a deployment, for whoever must find out why it does not go on."""
        record, run = self.record(deployment), self.check_run(deployment)
        line = [each.deployment for each in self.world.tidegate.queues.waiting(self.queue)]
        went = self.history(self.terraform_arn(deployment)).states
        return f"{record}\nwent through {went}\nshown as {run}\nbehind {self.head()}\nin {line}"

    def check_run(self, deployment: Deployment) -> Mapping[str, Any] | None:
        name = check_run_name(deployment)
        runs = self.world.forge.check_runs(deployment.repository, deployment.revision.sha, name=name)
        mine = [run for run in runs if run["external_id"] == deployment.id]
        return max(mine, key=lambda run: int(run["id"]), default=None)

    def title(self, deployment: Deployment) -> str:
        run = self.check_run(deployment)
        return str(run["output"]["title"]) if run else ""

    def runners(self, job: str) -> int:
        """Return how many runners were started for a job."""
        tasks = self.world.cloud.read("tasks")
        return sum(f'"value": "{job}"' in json.dumps(task["overrides"]) for task in tasks)

    def audits(self, deployment: Deployment) -> list[str]:
        return [message["state"] for message in self.world.cloud.audit() if message["deployment"] == deployment.id]

    def unlocks(self) -> list[Mapping[str, Any]]:
        return [
            message
            for message in self.world.cloud.audit()
            if (message["state"], message["root"]) == ("UNLOCKED", self.name)
        ]

    def terraform_arn(self, deployment: Deployment) -> str:
        return self._arn("terraform", deployment.id)

    def deploy_arn(self, execution: str | None = None) -> str:
        """Return the ARN of an execution on this queue (default: the one that works there now)."""
        worker = self.head().worker
        name = execution or (worker.execution if worker else "")
        return self._arn("deploy", name)

    def _arn(self, machine: str, name: str) -> str:
        arn = self.world.cloud.state_machines[machine]
        return f"{arn.replace(':stateMachine:', ':execution:')}:{name}"

    def history(self, execution_arn: str) -> History:
        machine = "deploy" if execution_arn.startswith(self._arn("deploy", "")) else "terraform"
        return read_history(machine, list(events_of(self.world.states, execution_arn)))

    def until_in(self, execution_arn: str, state: str, times: int = 1) -> History:
        """Wait until an execution is in a state (for the n-th time), or has ended."""

        def look() -> History | None:
            history = self.history(execution_arn)
            there = history.states[-1:] == (state,) and history.states.count(state) >= times
            return history if there or history.end else None

        history = until(look, f"{execution_arn} in {state}")
        assert history.states[-1] == state, history
        return history

    def until_ended(self, execution_arn: str) -> History:
        def look() -> History | None:
            history = self.history(execution_arn)
            return history if history.end else None

        return until(look, f"the end of {execution_arn}")


def events_of(states: Any, execution_arn: str) -> Iterator[dict[str, Any]]:
    request = {"executionArn": execution_arn, "maxResults": 1000}
    while True:
        try:
            answer = states.get_execution_history(**request)
        except states.exceptions.ExecutionDoesNotExist:
            return
        yield from answer["events"]
        if "nextToken" not in answer:
            return
        request["nextToken"] = answer["nextToken"]
