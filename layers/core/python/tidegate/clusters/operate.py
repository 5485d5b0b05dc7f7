"""What operators do with a cluster: have everything given back that a failed workflow holds. Another resumes it.

The caller has checked with ``check_operation`` that the person may.
"""

from __future__ import annotations

from tidegate.clusters.end_cluster import error_execution
from tidegate.clusters.rules.audit import ClusterOperation, operator_message
from tidegate.clusters.rules.ending import may_release, released
from tidegate.clusters.rules.execution_refusals import NoCluster
from tidegate.clusters.rules.record import ClusterRecord, FirstError
from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.authorize import Asking
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound

ERROR_MACHINE = "cluster-error"
#: The error of a workflow that an operator gives up.
RELEASED = "Released"
#: Characters of a cluster's name, as of everything that Kubernetes names. DynamoDB refuses long keys.
_LONGEST_NAME = 63


def cluster_record(ports: Ports, repository: str, name: str) -> ClusterRecord:
    """Return a cluster's record. Raise NoCluster."""
    record = ports.clusters.cluster(repository, name) if len(name) <= _LONGEST_NAME else None
    if record is None:
        raise NoCluster(repository, name)
    return record


def check_operation(ports: Ports, asking: Asking, repository: str, name: str, operation: ClusterOperation) -> Decision:
    """Decide by the access control of its last deployment whether a person may do something with a cluster.

    Raise NoCluster, ForgeRefused and ForgeUnavailable.
    """
    run = cluster_record(ports, repository, name).run
    try:
        access = ports.deployments.get(run.deployment).settings.access if run else None
    except NotFound:  # Without its record, whoever has write permission may.
        access = None
    return asking.may(access, operation.action, f"cluster {name}")


def release_cluster(ports: Ports, repository: str, name: str, by: str, reason: str = "") -> Decision:
    """Have everything given back that a failed workflow holds: its next one starts over.

    A lock is taken only from an execution that has ended. Raise NoCluster. On Conflict or CloudUnavailable, call again.
    """
    return deciding_again(lambda: _release(ports, repository, name, by, reason))


def _release(ports: Ports, repository: str, name: str, by: str, reason: str) -> Decision:
    record = cluster_record(ports, repository, name)
    decision = may_release(record, runs=_runs(ports, record))
    if not decision.done:
        return decision
    audit_operator(ports, record, ClusterOperation.RELEASE, by, reason)
    execution, cause = f"release-{ports.new_id()}", f"{by} gave it up. {reason}".rstrip()
    after = released(record, execution, FirstError(RELEASED, cause, ports.clock.now()))
    ports.clusters.save(after)
    ports.cluster_workflows.start_error(execution, after.working.deployment, execution, RELEASED, cause)
    return decision


def _runs(ports: Ports, record: ClusterRecord) -> bool:
    """Tell whether an execution that has the lock is running: the workflow, or what handles its error."""
    if record.lock is None:
        return False
    execution = record.lock.execution
    workflow = f"cluster-{record.working.workflow}-{record.provider}"
    places = ((workflow, execution), (ERROR_MACHINE, error_execution(execution)), (ERROR_MACHINE, execution))
    return any(ports.cluster_workflows.is_running(machine, name) for machine, name in places)


def audit_operator(ports: Ports, record: ClusterRecord, operation: ClusterOperation, by: str, reason: str = "") -> None:
    """Publish it. Raise CloudUnavailable if the topic does not accept it; the caller must then stop."""
    audit_first(ports.audit, operator_message(operation, record, by, ports.clock.now(), reason))
