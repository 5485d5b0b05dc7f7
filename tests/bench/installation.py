"""A large installation: what pages are measured on.

The stores are the real ones, on DynamoDB in memory. All but old deployments are written by them. The VCS provider and
S3 are played in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import sha1, sha256
from typing import Any

from bench.pages import plan_document
from tests.api.calls import prepare
from tests.api.scenario import WebScenario
from tests.bench.plain_dynamodb import PlainDynamo
from tests.builders import (
    NOW,
    PLAN_TEXT,
    amended,
    any_artifact,
    any_drift,
    any_layer,
    any_plan,
    any_pull_request,
    any_pull_request_record,
    any_queue,
    any_root,
    deployment_in,
    sha,
    stored_rows,
)
from tests.contract.stores import BotoAws
from tests.fakes import MemoryArtifacts
from tidegate.aws.records import from_item
from tidegate.changes.adapters.change_sets import DynamoChangeSets
from tidegate.changes.rules.waits import Waits
from tidegate.changes.rules.wave import WaveRules
from tidegate.clusters.adapters.store import DynamoClusters
from tidegate.clusters.rules.record import ClusterRecord
from tidegate.config.rules.drift import DriftFinding, DriftState
from tidegate.config_updates.adapters.store import DynamoConfigUpdates
from tidegate.deploys.adapters.deployments import DynamoCheckRuns, DynamoDeployments, put_new
from tidegate.deploys.adapters.jobs import DynamoJobLogs, DynamoJobs
from tidegate.deploys.adapters.plan_slots import DynamoPlanSlots
from tidegate.deploys.adapters.queues import DynamoDeployQueues
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, ProviderName
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.needs import KNOWN_FAILURES
from tidegate.deploys.rules.queue import Deployed, Lock, QueueHead, Standing
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.timeline import Step
from tidegate.discovery.adapters.repository_index import DynamoRepositoryIndex
from tidegate.drift.adapters.drifts import DynamoDrifts
from tidegate.insights.adapters.days import DynamoInsights
from tidegate.insights.rules.day import Day, Figures, StackFigures
from tidegate.insights.rules.histogram import Histogram
from tidegate.notifications.adapters.store import DynamoNotifications
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.ports import Enrolled, KnownRepository, LogChunk, ObjectStart, RepositoryNames
from tidegate.pull_requests.adapters.pull_requests import DynamoPullRequests, DynamoSpeculativePlans
from tidegate.roots.rules.root import Revision, deployment_id
from tidegate.vcs.adapters.deliveries import DynamoDeliveries
from tidegate.vcs.rules.headline import Headline
from tidegate.web.adapters.sign_outs import DynamoSignOuts

REPOSITORY, CHANGE = "acme/platform", "fleet-change"
STACKS = ("canary", "early", "half", "rest")
#: Of ten roots: how their newest deployments are.
_STATES = (
    *(State.AWAITING_REVIEW, State.BLOCKED, State.PLANNING, State.APPLYING, State.QUEUED, State.APPLY_FAILED),
    *(State.APPLIED, State.APPLIED, State.APPLIED, State.NO_CHANGES),
)
_WAY = (State.QUEUED, State.PLANNING, State.AWAITING_REVIEW, State.APPROVED, State.APPLYING, State.APPLIED)
_TABLE, _BATCH, _NUMBER = "tidegate", 25, 5
_RESOURCES = tuple(f'module.service["team-{number}"].aws_sqs_queue.queue["orders-{number}"]' for number in range(10))


class _Deployments(DynamoDeployments):
    """Deployments that can also be stored without a queue, as scenarios do with those in memory."""

    def add(self, deployment: Deployment) -> bool:
        item = from_item(put_new(deployment)["Item"])
        self._table.put(f"The deployment {deployment.id}", item)
        return True


class _Artifacts(MemoryArtifacts):
    """Stored objects, each of which is read by one call."""

    def __init__(self, calls: list[str]) -> None:
        super().__init__()
        self._calls = calls

    def get(self, key: str) -> bytes:
        self._calls.append("GetObject")
        return super().get(key)

    def get_start(self, key: str, size: int) -> ObjectStart:
        self._calls.append("GetObject")
        return super().get_start(key, size)


class Installation:
    """The installation: ``wires`` are its ports, ``names`` those for ``tests.api.calls.CALLS``.

    ``calls`` are the names of all calls of DynamoDB and S3, in their order.
    """

    def __init__(self, roots: int, deployments: int, resources: int) -> None:
        self.calls: list[str] = []
        self.client = PlainDynamo(self.calls)
        self.wires = WebScenario(**self._ports())
        self._repositories = [REPOSITORY, *(f"acme/service-{number:02}" for number in range(39))]
        homes = [REPOSITORY if number // 10 % 5 else self._repositories[number % 39 + 1] for number in range(roots)]
        self._roots = [(home, f"{_hash(home)[:4]}-root-{number:04}") for number, home in enumerate(homes)]
        self._know()
        self.names = {**prepare(self.wires, REPOSITORY), "change": CHANGE}
        newest = [self._newest(number, *root) for number, root in enumerate(self._roots)]
        members = [each for each in newest if each.repository == REPOSITORY]
        self._enroll(members)
        self.names |= {each.state.value: each.id for each in members}
        self._put(list(self._older(deployments - roots)))
        self._plan(resources)
        self._open_pull_requests(300)
        self._find_drift()
        self._run_clusters(60)
        self._count_days()

    def _ports(self) -> dict[str, Any]:
        dynamo = {
            "change_sets": DynamoChangeSets,
            "check_runs": DynamoCheckRuns,
            "clusters": DynamoClusters,
            "config_updates": DynamoConfigUpdates,
            "deployments": _Deployments,
            "drifts": DynamoDrifts,
            "insights": DynamoInsights,
            "job_logs": DynamoJobLogs,
            "jobs": DynamoJobs,
            "notifications": DynamoNotifications,
            "plan_slots": DynamoPlanSlots,
            "pull_requests": DynamoPullRequests,
            "queues": DynamoDeployQueues,
            "repository_index": DynamoRepositoryIndex,
            "sign_outs": DynamoSignOuts,
            "speculative_plans": DynamoSpeculativePlans,
        }
        made = {name: kind(self.client, _TABLE) for name, kind in dynamo.items()}
        aws: Any = BotoAws(self.client)
        return {**made, "artifacts": _Artifacts(self.calls), "deliveries": DynamoDeliveries(aws, _TABLE)}

    def _know(self) -> None:
        """Store the repositories, and the names of what is in them."""
        for number, name in enumerate(self._repositories):
            self.wires.forge.readers |= {"reader"}
            seen_at = NOW - timedelta(minutes=number)
            self.wires.repository_index.remember(KnownRepository(name, "main", sha(), seen_at))
            roots = tuple(root for home, root in self._roots if home == name)
            self.wires.repository_index.keep_names(RepositoryNames(name, roots, STACKS, ()))

    def _newest(self, number: int, home: str, root: str) -> Deployment:
        """Queue a root's newest deployment, and let it go as far as it is."""
        state, stack = _STATES[number % len(_STATES)], STACKS[number % len(STACKS)]
        rules = {"stack": stack, "change_set": CHANGE, "wave": WaveRules(20, 3)} if home == REPOSITORY else {}
        one = _deployment(state, number, home, root, **rules)
        if state is State.BLOCKED and home == REPOSITORY:
            one = amended(one, waits=Waits(apply_after=(STACKS[0],)))
        self.wires.queues.enqueue(one)
        head, first = self.wires.queues.read(any_queue(root, home))
        if state is State.QUEUED:
            return one
        after = _taken(head, one)
        if number % 20 == 7:
            after = replace(after, lock=Lock("maintainer", NOW, one.revision.sha, "Quarter end"))
        self.wires.queues.commit(head, after, take=first)
        if is_final(state):
            self.wires.deployments.shown(one.id)
        return one

    def _enroll(self, members: Sequence[Deployment]) -> None:
        enrolled = [Enrolled(one.root.name, one.stack, one.id, one.request.at) for one in members]
        self.wires.change_sets.enroll(CHANGE, enrolled)

    def _older(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield the items of deployments that ended long ago."""
        for number in range(count):
            home, root = self._roots[number % len(self._roots)]
            one = _deployment(State.APPLIED, number + 10_000, home, root)
            at = NOW - timedelta(minutes=number + 60)
            item = put_new(amended(one, requested_at=at, changed_at=at))["Item"]
            yield {name: value for name, value in item.items() if name not in {"open", "open_since"}}

    def _put(self, items: Sequence[dict[str, Any]]) -> None:
        for start in range(0, len(items), _BATCH):
            puts = [{"PutRequest": {"Item": item}} for item in items[start : start + _BATCH]]
            self.client.batch_write_item(RequestItems={_TABLE: puts})

    def _plan(self, resources: int) -> None:
        """Give the deployment that waits for a review a large plan, and its job a log."""
        one, artifacts = self.wires.deployments.get(self.names["id"]), self.wires.artifacts
        document = plan_document(resources)
        text = PLAN_TEXT * resources * 10
        written = any_artifact(key="plans/large/plan.txt", sha256=sha256(text).hexdigest())
        artifacts.put(written.key, text)
        plan = stored_rows(artifacts, replace(one.planned.plan or any_plan(), text=written), document)
        self.wires.deployments.save(amended(one, plan=plan))
        for position in range(0, 2000, 100):
            self.wires.job_logs.append(self.names["job"], LogChunk(position, ("Refreshing state…",) * 100))

    def _open_pull_requests(self, count: int) -> None:
        """Open pull requests in all repositories; one affects all roots of the largest."""
        for number in range(10, count + 10):
            home = REPOSITORY if number % 2 else self._repositories[number % 39 + 1]
            told = {"title": f"Grow {_word(number)} by {number}", "head_sha": _hash(str(number))}
            spec = any_pull_request(number, repository=home, **told)
            layers = [
                replace(any_layer(f"root-{each:04}", state=LayerState.PLANNED, plan=any_plan()), id=f"{number}-{each}")
                for each in range(3)
            ]
            self.wires.speculative_plans.create([replace(each, repository=home) for each in layers])
            at = NOW - timedelta(minutes=number)
            record = any_pull_request_record(number, spec=spec, opened_at=at, layers=tuple(each.id for each in layers))
            self.wires.pull_requests.save(replace(record, discovered=spec.revision, stacks=STACKS))
        large = self.wires.pull_requests.get(REPOSITORY, _NUMBER)
        roots = [root for home, root in self._roots if home == REPOSITORY]
        layers = [
            replace(
                any_layer(root, stack=STACKS[number % 4], state=LayerState.PLANNED, plan=_plan_of()), id=f"5-{root}"
            )
            for number, root in enumerate(roots)
        ]
        self.wires.speculative_plans.create([replace(each, repository=REPOSITORY) for each in layers])
        ids = tuple(each.id for each in layers)
        self.wires.pull_requests.save(replace(large, layers=ids, discovered=large.spec.revision, stacks=STACKS))

    def _find_drift(self) -> None:
        """Store what nightly schedules found: everywhere some, in the largest repository all that records hold."""
        for home in self._repositories:
            roots = [root for each, root in self._roots if each == home]
            for number in range(0, len(roots), 400):
                record = replace(any_drift(f"nightly-{number // 400}"), repository=home, ended_at=NOW, sha=sha())
                self.wires.drifts.save(replace(record, findings=tuple(_finding(each) for each in roots[number:][:400])))

    def _run_clusters(self, count: int) -> None:
        """Store workload clusters of the management cluster that ``prepare`` left behind."""
        for number in range(count):
            name, current = f"workload-{number:02}", CurrentCluster("1.31", "old", ProviderName.SIMULATED, "1")
            record = ClusterRecord(
                REPOSITORY, name, ClusterKind.WORKLOAD, ProviderName.SIMULATED, "fleet", current=current, exists=True
            )
            self.wires.clusters.save(record)

    def _count_days(self) -> None:
        """Store the figures of a year of the largest repository, and of a month of each other one."""
        times = Histogram(tuple(range(12)))
        figures = Figures(applied=40, unchanged=5, failed=3, lead=times, queue=times, review=times, run=times, cost=90)
        stacks = tuple(StackFigures(stack, f"team-{team}", figures) for stack in STACKS for team in range(5))
        today = self.wires.clock.now().date()
        for home in self._repositories:
            for number in range(365 if home == REPOSITORY else 35):
                self.wires.insights.save(Day(home, (today - timedelta(days=number)).isoformat(), stacks))


def _deployment(state: State, number: int, home: str, root: str, change_set: str = "", **rules: Any) -> Deployment:
    """Return a deployment with a headline, a plan of some resources and the timeline that it has in its state.

    Names, titles and ids differ as they do, so that pages do not become smaller than they are when they are compressed.
    """
    told = 0 if change_set else number
    revision = Revision(_hash(str(told)), "main")
    named = {"id": deployment_id(home, root, revision.sha, Trigger.MERGE), "repository": home, "revision": revision}
    rules |= {"change_set": change_set} if change_set else {}
    fields = {**named, "root": any_root(name=root, dir=f"roots/{root}"), **rules}
    deployment = deployment_in(state, number, **fields)
    title = f"{_word(told)} the {_word(told // 7)} of {_word(told // 3)} ({_hash(str(told))[:6]})"
    headline = Headline(title, _word(told % 90), f"https://github.com/{told}.png", 4000 + told % 900, title)
    way = [each for each in _WAY if each is not state and not is_final(each)]
    steps = tuple(Step(each, NOW, "reviewer", "Because it is time.") for each in (*way, state))
    plan = deployment.planned.plan
    changed = {"plan": replace(plan, changes=_plan_of().changes)} if plan else {}
    return amended(deployment, headline=headline, history=steps, tags=("team:sre", "region:eu"), **changed)


def _hash(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _word(number: int) -> str:
    return _hash(f"word {number % 500}")[: 4 + number % 6]


def _plan_of() -> Any:
    return any_plan(changes=PlannedChanges(add=3, change=4, destroy=10, destroyed=_RESOURCES))


def _taken(head: QueueHead, one: Deployment) -> QueueHead:
    """Return the head of a queue that has admitted a deployment, and has records of each stack of its root."""
    if not is_final(one.state):
        return replace(head, length=0, in_flight=one.id)
    ended = Deployed(one.id, one.revision, one.state, Trigger.MERGE)
    stacks = tuple(Standing(stack, ended, ended) for stack in STACKS[:3])
    failed = ended if one.state in KNOWN_FAILURES else None
    deployed = None if failed else ended
    return replace(head, length=0, attempted=ended, deployed=deployed, undone=failed, by_stack=stacks)


def _finding(root: str) -> DriftFinding:
    state = DriftState.DRIFTED if root.endswith(("1", "2")) else DriftState.NONE
    since = NOW if state is DriftState.DRIFTED else None
    return DriftFinding(
        root, "prod", shared=False, state=state, drifted_since=since, job=f"{root}-{_hash(root)[:8]}-speculate-1"
    )
