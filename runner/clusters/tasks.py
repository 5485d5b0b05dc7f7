"""What each task does. Its contract is in tidegate/clusters/rules/task_catalogue.py; each begins with its probe."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping

from runner.clusters import moving, pausing, pivot
from runner.clusters.actions import install_on, required, write_configuration
from runner.clusters.diagnosing import diagnose
from runner.clusters.providers.protocol import Provider
from runner.clusters.values import Values
from runner.clusters.work import Work
from runner.faults import TaskFailed
from tidegate.clusters.rules.context import (
    Access,
    ClusterReference,
    Key,
    diff_text,
    names_text,
    reference_from,
    reference_text,
)
from tidegate.clusters.rules.kubernetes_version import refuse_newer, refuse_skew
from tidegate.clusters.rules.plan import VersionChange
from tidegate.clusters.rules.refusals import ClusterRefused
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import ComponentRole

Task = Callable[[Work, Provider], Values]


def _validate(work: Work, provider: Provider) -> Values:
    provider.validate()
    _refuse_newer_than_management(work)
    for component in work.order.cluster.components:
        work.path(component.path)
        if component.values:
            work.path(component.values)
    found = {key: _find(work, provider, Key(key)) for key in work.step.produces}
    for key, reference in found.items():
        if key != work.own_key or work.order.operation is not Operation.DELETE or not provider.deletes_from_outside:
            _check(work, Key(key), reference)
    return {key: reference_text(reference) for key, reference in found.items()}


def _refuse_newer_than_management(work: Work) -> None:
    """The plan has assumed that its management cluster becomes what its file says: now it must have that version."""
    cluster = work.order.cluster
    if cluster.management and work.order.operation is not Operation.DELETE:
        managing = work.order.management.kubernetes if work.order.management else ""
        refuse_newer(str(work.spec["kubernetes"]), cluster.management, managing)


def _find(work: Work, provider: Provider, key: Key) -> ClusterReference:
    """Return how to reach a cluster that is there: as recorded, or as the provider says."""
    of = work.order.current if key is work.own_key else work.order.management
    if of is not None and of.reference:
        return reference_from(of.reference)
    if key is work.own_key:
        if found := provider.status(key).reference:
            return found
        if work.order.operation is Operation.DELETE and provider.deletes_from_outside:
            work.say(f"nothing says how to reach {work.name}: what there is of it is deleted without that")
            return ClusterReference(work.name, Access.UNKNOWN)
    name = work.name if key is work.own_key else work.order.cluster.management
    raise TaskFailed(f"Nothing is known of how to reach the cluster {name}. Create it first, or adopt it.")


def _check(work: Work, key: Key, reference: ClusterReference) -> None:
    """Ask a cluster for its version, and refuse an upgrade that Kubernetes does not allow from there."""
    if not reference.access.has_api:
        return
    version = work.api(reference).version()
    work.say(f"{reference.name} answers, with Kubernetes {version}")
    if work.order.operation is Operation.UPGRADE and key is work.own_key:
        try:
            refuse_skew(version, str(work.spec["kubernetes"]))
        except ClusterRefused as error:
            raise TaskFailed(str(error)) from error


def _creating(key: Key) -> Task:
    def create(work: Work, provider: Provider) -> Values:
        status = provider.status(key)
        if status.ready and status.reference and status.observed == work.plan.spec_hash:
            work.find("the cluster is as specified")
            return {key: reference_text(status.reference)}
        reference = provider.create(key)
        if reference.access is not Access.SIMULATED:
            work.say(f"{reference.name} answers, with Kubernetes {work.api(reference).version()}")
        return {key: reference_text(reference)}

    return create


def _upgrade(work: Work, provider: Provider) -> Values:
    status = provider.status(work.own_key)
    if status.ready and status.observed == work.plan.spec_hash:
        work.find("the cluster is as specified")
    else:
        provider.upgrade(work.own_key)
    return {}


def _deleting(key: Key) -> Task:
    def delete(work: Work, provider: Provider) -> Values:
        if provider.status(key).gone:
            work.find("there is no such cluster")
        else:
            provider.delete(key)
        return {}

    return delete


def _delete_bootstrap(work: Work, provider: Provider) -> Values:
    """Delete it unless it still owns a cluster: its machines would lose all that knows of them."""
    if provider.status(Key.BOOTSTRAP).gone:
        work.find("there is no such cluster")
        return {}
    reference = work.reference(Key.BOOTSTRAP)
    if reference and reference.access is not Access.SIMULATED and (left := moving.objects(work.api(reference))):
        names = ", ".join(f"{each['kind']} {each['metadata']['name']}" for each in left[:5])
        raise TaskFailed(
            f"The bootstrap cluster still owns {len(left)} objects, such as {names}. It was not "
            "deleted: nothing else knows them. Resume the workflow, so that they are moved, or delete them there."
        )
    provider.delete(Key.BOOTSTRAP)
    return {}


def _installing(role: ComponentRole, *, controllers: bool = False) -> Task:
    """Install the components of a role, and before them, on clusters that make clusters, the provider's controllers."""

    def install(work: Work, provider: Provider) -> Values:
        key = Key(work.step.needs[0])
        changed = _install(work, provider, key, role, controllers=controllers)
        if not changed:
            work.find("all of it is installed and ready")
        return {Key.DIFF: diff_text(changed)} if Key.DIFF in work.step.produces else {}

    return install


def _install(
    work: Work, provider: Provider, key: Key, role: ComponentRole, *, controllers: bool
) -> tuple[VersionChange, ...]:
    own = provider.install(key) if controllers else ()
    components = [each for each in work.order.cluster.components if each.role is role]
    return own + install_on(work, provider, key, components)


def _moving(source: Key, target: Key) -> Task:
    def move(work: Work, provider: Provider) -> Values:
        if provider.move(source, target):
            return {}
        first, second = work.api(required(work, source)), work.api(required(work, target))
        if pivot.is_done(first, second, work.name):
            work.find(f"{first.name} has no object to move")
        else:
            pivot.pivot(work, first, second)
        return {}

    return move


def _back_up(work: Work, _provider: Provider) -> Values:
    """Store all objects of clusters, without secrets."""
    key = work.bucket.key(f"backup-{work.job.deployment}.jsonl.gz")
    if work.bucket.stored(key) is not None:
        work.find("the bundle is there")
        return {Key.BACKUP: key}
    reference = required(work, Key.MANAGEMENT)
    found = moving.objects(work.api(reference)) if reference.access is not Access.SIMULATED else []
    lines = [json.dumps(each) for each in found if each["kind"] != "Secret"]
    work.bucket.store(key, gzip.compress("\n".join(lines).encode(), mtime=0), "application/gzip")
    work.say(f"stored {len(lines)} objects in {key}")
    return {Key.BACKUP: key}


def _delete_backup(work: Work, _provider: Provider) -> Values:
    if work.context.has(Key.BACKUP):
        key = work.context.text(Key.BACKUP)
        if not key.startswith(work.bucket.key("backup-")):
            raise TaskFailed(f"{key[:100]!r} is no backup of {work.name}. Nothing was deleted.")
        work.bucket.discard(key)
    return {}


def _pause_agent(work: Work, _provider: Provider) -> Values:
    agent = _agent(work)
    reference = required(work, Key.MANAGEMENT)
    if reference.access is not Access.SIMULATED:
        names = pausing.pause(work.api(reference), pausing.AGENTS[agent], work.name)
        work.say(f"{agent} leaves {len(names)} objects alone")
    return {Key.PAUSED_GITOPS: agent}


def _resume_agent(work: Work, _provider: Provider) -> Values:
    reference = work.reference(Key.MANAGEMENT)
    if reference and reference.access is not Access.SIMULATED:
        names = pausing.resume(work.api(reference), pausing.AGENTS[_agent(work)], work.name)
        work.say(f"{len(names)} objects are reconciled again")
    return {}


def _agent(work: Work) -> str:
    agent = str(work.spec.get("gitops") or "")
    if agent not in pausing.AGENTS:
        raise TaskFailed(f"The cluster's file names no GitOps agent. Allowed: {', '.join(pausing.AGENTS)}.")
    return agent


def _pause_clusters(work: Work, _provider: Provider) -> Values:
    reference = required(work, Key.MANAGEMENT)
    if reference.access is Access.SIMULATED:
        names = list(work.order.current.workloads) if work.order.current else []
    else:
        names = pausing.pause(
            work.api(reference), pausing.CLUSTERS, work.name, lambda each: each["metadata"]["name"] != work.name
        )
    work.say(f"paused {', '.join(names) or 'no cluster'}")
    return {Key.PAUSED_CLUSTERS: names_text(tuple(names))}


def _resume_clusters(work: Work, _provider: Provider) -> Values:
    """Resume them wherever their objects are: a failed workflow may have moved them to the bootstrap cluster."""
    for key in (Key.MANAGEMENT, Key.BOOTSTRAP):
        reference = work.reference(key)
        if reference and reference.access is not Access.SIMULATED:
            names = pausing.resume(work.api(reference), pausing.CLUSTERS, work.name)
            work.say(f"resumed {', '.join(names) or 'no cluster'} on {reference.name}")
    return {}


def _write(work: Work, _provider: Provider) -> Values:
    write_configuration(work)
    return {}


def _diagnosing(*keys: Key) -> Task:
    def collect(work: Work, provider: Provider) -> Values:
        key = next((each for each in keys if work.context.has(each)), None)
        if key is None:
            work.find("nothing is known of how to reach the cluster")
            return {}
        reference = required(work, key)
        name = f"cluster-tasks/{work.job.id}/diagnostics"  # It expires, unlike what is about the cluster as it is.
        if (own := provider.diagnose(key)) is not None:
            work.bucket.store(f"{name}.json", own)
        if reference.access.has_api:
            work.bucket.store(f"{name}.zip", diagnose(work, work.api(reference)), "application/zip")
        work.say(f"the diagnostics of {reference.name} are {name}.* in the artifact bucket")
        return {}

    return collect


#: The tasks by their ids.
TASKS: Mapping[str, Task] = {
    "validate": _validate,
    "create-bootstrap-cluster": _creating(Key.BOOTSTRAP),
    "install-bootstrap-components": _installing(ComponentRole.BOOTSTRAP, controllers=True),
    "create-management-cluster": _creating(Key.MANAGEMENT),
    "install-networking": _installing(ComponentRole.NETWORKING),
    "upgrade-networking": _installing(ComponentRole.NETWORKING),
    "install-management-components": _installing(ComponentRole.MANAGEMENT, controllers=True),
    "upgrade-management-components": _installing(ComponentRole.MANAGEMENT, controllers=True),
    "pivot-to-management": _moving(Key.BOOTSTRAP, Key.MANAGEMENT),
    "pivot-to-bootstrap": _moving(Key.MANAGEMENT, Key.BOOTSTRAP),
    "install-configuration": _installing(ComponentRole.CONFIGURATION),
    "delete-bootstrap-cluster": _delete_bootstrap,
    "back-up": _back_up,
    "delete-backup": _delete_backup,
    "pause-gitops-agent": _pause_agent,
    "resume-gitops-agent": _resume_agent,
    "pause-other-clusters": _pause_clusters,
    "resume-other-clusters": _resume_clusters,
    "upgrade-cluster": _upgrade,
    "write-configuration": _write,
    "delete-management-cluster": _deleting(Key.MANAGEMENT),
    "create-workload-cluster": _creating(Key.WORKLOAD),
    "install-workload-components": _installing(ComponentRole.WORKLOAD),
    "upgrade-workload-components": _installing(ComponentRole.WORKLOAD),
    "delete-workload-cluster": _deleting(Key.WORKLOAD),
    "diagnose-management-cluster": _diagnosing(Key.BOOTSTRAP, Key.MANAGEMENT),
    "diagnose-workload-cluster": _diagnosing(Key.WORKLOAD),
}
