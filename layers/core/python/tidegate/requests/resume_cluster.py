"""Resume the failed workflow of a cluster, by a new deployment of it, which finds the checkpoints of the failed one.

The caller has checked that the person may.
"""

from __future__ import annotations

from tidegate.clusters.operate import audit_operator, cluster_record
from tidegate.clusters.rules.audit import ClusterOperation
from tidegate.clusters.rules.ending import may_resume
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.requirements_gate import is_of_head
from tidegate.ports import Ports
from tidegate.requests.request_deployments import request_deployments
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound


def resume_cluster(ports: Ports, repository: str, name: str, by: str) -> Decision:
    """Request the deployment. Raise NoCluster, and what ``request_deployments`` raises."""
    record = cluster_record(ports, repository, name)
    decision = may_resume(record)
    if not decision.done:
        return decision
    failed = _deployment(ports, record.working.deployment)
    if failed is not None and is_of_head(failed):
        request = ports.terms.reference(failed.request.pull_request or 0)
        return Decision(
            False,
            f"The failed workflow of {name} was of {request}, which is not merged, and a resume is of the default "
            f"branch. Apply {request} again, or merge it.",
        )
    audit_operator(ports, record, ClusterOperation.RESUME, by)
    if failed is not None and failed.request.destroy is not None and failed.request.destroy.deployment:
        request_deployments(ports, repository, [name], by, destroy=True)
    else:
        request_deployments(ports, repository, [name], by, resumes=True)
    return decision


def _deployment(ports: Ports, identifier: str) -> Deployment | None:
    try:
        return ports.deployments.get(identifier)
    except NotFound:  # Its record has expired.
        return None
