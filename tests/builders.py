"""Things of the domain for tests: complete and valid, so that a test names only what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.config.rules.drift import DriftEntry, DriftFinding, DriftRecord, DriftState
from tidegate.config.rules.timetable import Interval, timetable
from tidegate.config_updates.rules.replay import order_key
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.issued import NOTHING, Issued
from tidegate.deploys.rules.job import Job, JobKind, job_id, replay_job
from tidegate.deploys.rules.lineage import Lineage
from tidegate.deploys.rules.membership import Membership
from tidegate.deploys.rules.outcome import Outcome
from tidegate.deploys.rules.planned import ApplyJob, Planned
from tidegate.deploys.rules.queue import Deployed, Lock
from tidegate.deploys.rules.request import DeployedCommits, DeploymentRequest, Rerun, Trigger
from tidegate.deploys.rules.root_settings import PolicyChecks, RootSettings
from tidegate.deploys.rules.runner_size import RunnerSize
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate, RequirementsCheck, Review
from tidegate.plans.rules.plan import Artifact, Plan, PlannedChanges, planned_changes
from tidegate.plans.rules.structured import Section, action_row, output_row, resource_row
from tidegate.plans.rules.structured_file import packed
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Artifacts, Delivery
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.roots.rules.root import Revision, Root, deployment_id, layer_id, queue_id
from tidegate.vcs.rules.pull_request import PullRequestSpec, SeenPullRequest
from tidegate.vcs.rules.pushers import HeadPush

REPOSITORY = "acme/infra"
NOW = utc("2026-03-02T08:00")
DIGEST = "ab" * 32


def sha(number: int = 1) -> str:
    """Return a commit SHA that tells ``number``."""
    return f"{number:040x}"


def any_revision(number: int = 1, **fields: Any) -> Revision:
    return replace(Revision(sha(number), "main"), **fields)


def any_root(**fields: Any) -> Root:
    return replace(Root("network", "roots/network"), **fields)


#: What the text of any plan is.
PLAN_TEXT = b"  + resource\n"


def any_artifact(**fields: Any) -> Artifact:
    return replace(Artifact("plans/job/plan.tfplan", DIGEST), **fields)


def any_plan(**fields: Any) -> Plan:
    plan = Plan(
        job="network-plan-1",
        changes=PlannedChanges(add=2, destroy=1, destroyed=("aws_sqs_queue.old",)),
        engine_version="1.11.4",
        file=any_artifact(key="plans/network-plan-1/plan.tfplan"),
        lock_file=any_artifact(key="plans/network-plan-1/lock.hcl"),
        json=any_artifact(key="plans/network-plan-1/plan.json"),
        text=any_artifact(key="plans/network-plan-1/plan.txt", sha256=sha256(PLAN_TEXT).hexdigest()),
    )
    return replace(plan, **fields)


def stored_rows(artifacts: Artifacts, plan: Plan, document: Mapping[str, Any]) -> Plan:
    """Store the rows of an engine's JSON plan as a plan job does, and return the plan with them and its counts."""
    found = [resource_row(each, str) for each in document.get("resource_changes", ())]
    found += [resource_row(each, str, Section.DRIFT) for each in document.get("resource_drift", ())]
    found += [output_row(name, each, str) for name, each in document.get("output_changes", {}).items()]
    found += [action_row(each, str) for each in document.get("action_invocations", ())]
    content = packed(each for each in found if each is not None)
    rows = any_artifact(key=f"plans/{plan.job}/plan.rows", sha256=sha256(content).hexdigest())
    artifacts.put(rows.key, content)
    return replace(plan, structured=rows, changes=planned_changes(document))


def any_review(**fields: Any) -> Review:
    return replace(Review("review-1", NOW), **fields)


def amended(deployment: Deployment, **values: Any) -> Deployment:
    """Return the deployment with other fields, those of its values by their own names or those in ``_NAMES``."""
    own = {name: value for name, value in values.items() if name in _OWN}
    named: dict[str, dict[str, Any]] = {}
    for name in values.keys() - own.keys():
        part, field = _NAMES[name]
        named.setdefault(part, {})[field] = values[name]
    made = {part: replace(own.get(part, getattr(deployment, part)), **fields) for part, fields in named.items()}
    return replace(deployment, **{**own, **made})


_OWN = frozenset(each.name for each in fields(Deployment))
_PARTS = {
    "request": DeploymentRequest,
    "rerun": Rerun,
    "commits": DeployedCommits,
    "change": Membership,
    "settings": RootSettings,
    "lineage": Lineage,
    "planned": Planned,
    "policies": PolicyChecks,
    "requirements": RequirementsCheck,
    "apply": ApplyJob,
    "outcome": Outcome,
}
#: What tests call the fields of a deployment's values, where a field's own name does not say enough.
_NAMES = {each.name: (part, each.name) for part, kind in _PARTS.items() for each in fields(kind)} | {
    "requested_by": ("request", "by"),
    "requested_at": ("request", "at"),
    "rerun_of": ("rerun", "of"),
    "reruns_manual": ("rerun", "manual"),
    "change_set": ("change", "id"),
    "policy_sets": ("policies", "sets"),
    "plan_job": ("planned", "job"),
    "plan_digest": ("planned", "digest"),
    "apply_job": ("apply", "job"),
    "apply_started_at": ("apply", "started_at"),
}


def any_deployment(number: int = 1, **values: Any) -> Deployment:
    """Return a queued deployment of revision ``number``; the id follows from repository, root and revision.

    ``values`` are its fields, as ``amended`` takes them.
    """
    root = values.get("root", any_root())
    repository = values.get("repository", REPOSITORY)
    revision = values.get("revision", any_revision(number))
    asked_at = utc(f"2026-03-02T08:00:{number % 60:02}")
    deployment = Deployment(
        id=deployment_id(repository, root.name, revision.sha, values.get("trigger", Trigger.MERGE)),
        repository=repository,
        root=root,
        revision=revision,
        request=DeploymentRequest(Trigger.MERGE, "maintainer", asked_at),
    )
    return amended(deployment, **values)


def deployment_in(state: State, number: int = 1, **values: Any) -> Deployment:
    """Return a deployment in ``state``, with the plan, review and apply job that it has there.

    At a gate it is one of stack ``prod``, and waits with its plan for stack ``dev``.
    """
    deployment = any_deployment(number, state=state, changed_at=NOW)
    if state not in _WITHOUT_PLAN:
        deployment = amended(deployment, plan=any_plan())
    if state in _REVIEWED:
        approved = None if state is State.AWAITING_REVIEW else state is not State.REJECTED
        answered = {} if approved is None else {"by": "reviewer", "at": NOW}
        deployment = replace(deployment, review=any_review(approved=approved, **answered))
    if state in _AT_A_GATE:
        deployment = amended(deployment, stack="prod", change_set="change-1", waits=Waits(apply_after=("dev",)))
    if state is State.AWAITING_REQUIREMENTS:
        wanted, missing = Requirements(approvals=1), ("1 approval is required.",)
        deployment = amended(deployment, requires=(wanted,), missing=missing, gate=Gate("requirements", NOW))
    if state in _APPLIED:
        deployment = replace(deployment, apply=ApplyJob(job_id(deployment.id, JobKind.APPLY, 1), NOW))
    return amended(deployment, **values)


_WITHOUT_PLAN = {State.QUEUED, State.PLANNING, State.PLAN_FAILED, State.REFUSED, State.ENGINE_FAULT}
_APPLIED = {State.APPLYING, State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN}
_AT_A_GATE = {State.GATED, State.BLOCKED, State.GATE_EXPIRED}
_REVIEWED = {State.AWAITING_REVIEW, State.APPROVED, State.REJECTED} | _APPLIED


def any_queue(root: str = "network", repository: str = REPOSITORY) -> str:
    return queue_id(repository, root)


def any_deployed(number: int = 1, **fields: Any) -> Deployed:
    revision = any_revision(number)
    deployed = Deployed(any_deployment(number).id, revision, State.APPLIED, Trigger.MERGE)
    return replace(deployed, **fields)


def any_lock(**fields: Any) -> Lock:
    return replace(Lock("maintainer", NOW, sha(1), "Somebody looks."), **fields)


def any_replay_job(repository: str = "acme/config", number: int = 1) -> Job:
    job = f"config-updates-3f2a-{number}-replay-1"
    stored = Artifact(order_key(job), "0" * 64)
    return replay_job(job, repository, "0" * 40, f"https://github.com/{repository}.git", stored, RunnerSize())


def any_job(kind: JobKind = JobKind.PLAN, **fields: Any) -> Job:
    deployment = any_deployment()
    job = Job(
        id=job_id(deployment.id, kind, 1),
        deployment=deployment.id,
        kind=kind,
        repository=REPOSITORY,
        sha=deployment.revision.sha,
        clone_url=f"https://github.com/{REPOSITORY}.git",
        root=deployment.root,
    )
    if kind is JobKind.APPLY:
        plan = any_plan()
        job = replace(
            job, plan_file=plan.file, lock_file=plan.lock_file, engine_version=plan.engine_version, plan_json=plan.json
        )
    return replace(job, **fields)


def any_delivery(number: int = 1, **fields: Any) -> Delivery:
    delivery = Delivery(f"delivery-{number}", "push", {"repository": REPOSITORY, "after": sha(number)}, NOW)
    return replace(delivery, **fields)


def any_pull_request(number: int = 5, **fields: Any) -> PullRequestSpec:
    """Return an open pull request from ``feature`` to ``main``: its head is commit 3, its base commit 2."""
    spec = PullRequestSpec(REPOSITORY, number, "feature", "main", sha(3), sha(2), "author", "Grow the network")
    changed = replace(spec, **fields)
    # Whoever opened it pushed its head, unless said otherwise.
    return changed if "pushes" in fields else replace(changed, pushes=(HeadPush("", changed.head_sha, changed.author),))


def seen(spec: PullRequestSpec | None = None, **fields: Any) -> SeenPullRequest:
    """Return a pull request as the forge has it: open, unless said otherwise."""
    return replace(SeenPullRequest(spec or any_pull_request(), True, False, NOW), **fields)


def any_pull_request_record(number: int = 5, **fields: Any) -> PullRequestRecord:
    return replace(PullRequestRecord(any_pull_request(number), opened_at=NOW), **fields)


def any_layer(root: str = "network", **fields: Any) -> SpeculativePlan:
    """Return a layer of the pull request of ``any_pull_request``, waiting to be planned."""
    spec, stack = any_pull_request(), fields.get("stack", "default")
    name = layer_id(spec.id, root, stack, spec.revision, 1)
    place = any_root(name=root, dir=f"roots/{root}")
    layer = SpeculativePlan(name, spec.repository, spec.number, place, spec.head_sha, spec.base_sha, changed_at=NOW)
    return replace(layer, **fields)


def any_drift(name: str = "nightly", **fields: Any) -> DriftRecord:
    """Return the record of a schedule that has never run."""
    entry = DriftEntry(name, "", timetable(f"{REPOSITORY} {name}", Interval.DAILY))
    return replace(DriftRecord(REPOSITORY, "main", entry), **fields)


def any_drift_finding(root: str = "network", **fields: Any) -> DriftFinding:
    """Return what was found of a root that drifted."""
    return replace(DriftFinding(root, "default", shared=False, state=DriftState.DRIFTED, drifted_since=NOW), **fields)


def no_tokens(job: Job, digest: str) -> Issued:
    """Issue no tokens of workload identity, as an installation without keys for jobs that ask for none."""
    return NOTHING
