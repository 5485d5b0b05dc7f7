"""Resume the failed workflow of a cluster, by a new deployment of it, which finds the checkpoints of the failed one.

The caller has checked that the person may.
"""

from __future__ import annotations

from tidegate.clusters.operate import audit_operator, cluster_record
from tidegate.clusters.rules.audit import ClusterOperation
from tidegate.clusters.rules.ending import may_resume
from tidegate.ports import Ports
from tidegate.requests.request_deployments import request_deployments
from tidegate.rules.decision import Decision


def resume_cluster(ports: Ports, repository: str, name: str, by: str) -> Decision:
    """Request the deployment. Raise NoCluster, and what ``request_deployments`` raises."""
    record = cluster_record(ports, repository, name)
    decision = may_resume(record)
    if decision.done:
        audit_operator(ports, record, ClusterOperation.RESUME, by)
        request_deployments(ports, repository, [name], by)
    return decision
