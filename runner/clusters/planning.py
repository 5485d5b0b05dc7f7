"""The plan job of a cluster: what its workflow would do, decided before anything runs.

The cluster's file and declaration, what the last workflow has made of it, the provider and all registrars give one
``ClusterPlan``. With the provider ``terraform``, the engine plans the root module first, and its plan is part of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from runner.faults import ClusterPlanRefused
from runner.job import Preparation, Tools
from runner.plan_job import store_structured
from tidegate.aws.records import pack, unpack
from tidegate.clusters.adapters.source import management_version, read_spec
from tidegate.clusters.rules.construct import Decision, build, operation_of
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.plan_json import plan_document
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.refusals import ClusterRefused
from tidegate.clusters.rules.registrar import Registrar
from tidegate.clusters.rules.workflow import Operation
from tidegate.clusters.texts.workflow_text import workflow_text
from tidegate.deploys.rules.cluster import DeclaredCluster, ProviderName
from tidegate.deploys.rules.job import Job, TakenJob, plan_prefix
from tidegate.plans.rules.plan import Artifact, Plan, planned_changes

#: Plans the root module, as for a root that is no cluster.
EnginePlan = Callable[[Tools, Preparation, TakenJob], dict[str, Any]]


def plan_cluster(
    tools: Tools, preparation: Preparation, taken: TakenJob, engine: EnginePlan, registrars: Sequence[Registrar]
) -> dict[str, Any]:
    """Construct the plan, store it, and return it for the state machine.

    ``registrars`` are the installation's. Raise ClusterPlanRefused, and what ``engine`` raises.
    """
    job, cluster = taken.job, _cluster_of(taken.job)
    of_engine = None
    if cluster.provider is ProviderName.TERRAFORM:
        result = engine(tools, preparation, taken)
        of_engine = unpack(Plan, {name: value for name, value in result.items() if value is not None})
    else:
        preparation.check_out(taken)
    try:
        decision, plan = _constructed(tools, job, cluster, of_engine, registrars)
    except ClusterRefused as refusal:
        raise ClusterPlanRefused(f"{refusal} Nothing was planned.") from refusal
    return asdict(_Storing(tools, job, of_engine).plan(cluster, decision, plan))


def _cluster_of(job: Job) -> DeclaredCluster:
    if job.run.cluster is None:
        raise ClusterPlanRefused(f"The root {job.root.name} is no cluster.")
    return job.run.cluster


def _constructed(
    tools: Tools, job: Job, cluster: DeclaredCluster, of_engine: Plan | None, registrars: Sequence[Registrar]
) -> tuple[Decision, ClusterPlan | None]:
    spec = read_spec(tools.source, cluster)
    decision = operation_of(cluster, spec, job.current, destroy=job.destroy, begun=job.begun)
    if decision.operation is None and of_engine and of_engine.changes.any:
        operation = Operation.DELETE if job.destroy else Operation.UPGRADE
        decision = Decision(operation, "The root module of the cluster has changes.")
    if decision.operation is None:
        return decision, None
    deleted = decision.operation is Operation.DELETE
    management = "" if deleted else management_version(tools.source, cluster)
    plan = build(
        decision.operation,
        cluster,
        spec,
        job.current,
        PROVIDERS[cluster.provider],
        registrars,
        management=management,
        terraform=of_engine.file if of_engine else None,
        unchanged=of_engine is not None and not of_engine.changes.any,
    )
    return _after_management(decision, job, cluster, management), plan


def _after_management(decision: Decision, job: Job, cluster: DeclaredCluster, version: str) -> Decision:
    """Tell people what must come before, as validation refuses to go on without it."""
    if not version or (job.management and job.management.kubernetes == version):
        return decision
    return replace(
        decision, reason=f"{decision.reason} It comes after {cluster.management}, which gets Kubernetes {version}."
    )


class _Storing:
    """Stores the parts of a plan where those of every plan are."""

    def __init__(self, tools: Tools, job: Job, of_engine: Plan | None) -> None:
        self._tools, self._job, self._of_engine = tools, job, of_engine

    def plan(self, cluster: DeclaredCluster, decision: Decision, plan: ClusterPlan | None) -> Plan:
        text = self._tools.log.masker.mask(workflow_text(plan, cluster.name, decision.reason)).encode()
        self._tools.log.write(text)
        document = plan_document(plan, self._json_of_engine())
        stored = self._store("cluster.json", json.dumps(pack(plan) if plan else None, sort_keys=True).encode())
        as_json = self._store("cluster-plan.json", json.dumps(document).encode())
        as_text = self._store("cluster-plan.txt", text + self._text_of_engine())
        rows = store_structured(self._tools, self._job.id, self._written(document), "cluster-plan.rows")
        changes = planned_changes(document)
        if self._of_engine is None:
            version = PROVIDERS[cluster.provider].version
            return Plan(self._job.id, changes, version, stored, None, as_json, as_text, rows)
        known = replace(changes, resources=self._of_engine.changes.resources)
        return replace(self._of_engine, changes=known, file=stored, json=as_json, text=as_text, structured=rows)

    def _written(self, document: dict[str, Any]) -> Path:
        file = self._tools.directory / "cluster-plan.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        return file

    def _store(self, name: str, content: bytes) -> Artifact:
        key = f"{plan_prefix(self._job.id)}/{name}"
        return Artifact(key, self._tools.aws.put_object(self._tools.settings.bucket, key, content))

    def _json_of_engine(self) -> dict[str, Any] | None:
        if self._of_engine is None:
            return None
        document: dict[str, Any] = json.loads((self._tools.directory / "plan.json").read_bytes())
        return document

    def _text_of_engine(self) -> bytes:
        """Return the text of the root module's plan, which the engine's job has masked."""
        if self._of_engine is None:
            return b""
        return b"\nThe root module:\n\n" + (self._tools.directory / "plan.txt").read_bytes()
