"""Install components: apply what one has, delete what it no longer has, and wait until all of it is ready.

What a component has is kept in a ConfigMap on the cluster, its inventory: before anything is applied with all that may
be there afterwards, and at the end with what is there. So nothing is forgotten, wherever a runner dies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.clusters.api import Api
from runner.clusters.objects import MARKS, Identity, Object, identity, in_order, labels, rank, stage
from runner.clusters.readiness import readiness
from runner.clusters.rendering import placed, render
from runner.clusters.work import Work
from runner.faults import TaskFailed
from tidegate.deploys.rules.cluster import ComponentForm, ComponentRole, DeclaredComponent

#: The label with the component that an object is part of.
COMPONENT = f"{MARKS}/component"
#: The label of an inventory with the cluster that declares its component.
CLUSTER = f"{MARKS}/cluster"
#: Where inventories are: a namespace that every cluster has.
_NAMESPACE = "kube-system"
_OF_THE_SERVER = frozenset({"managedFields", "resourceVersion"})
#: Seconds until the kinds of new definitions are served.
_DEFINITION_SECONDS = 60
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Installed:
    """What became of a component. ``before`` is its version until now, empty if it was not there."""

    name: str
    before: str
    after: str
    changed: bool


def install(work: Work, api: Api, components: Sequence[DeclaredComponent]) -> list[Installed]:
    """Install components one after the other, and remove those that the cluster no longer declares.

    Raise TaskFailed or ClusterUnreachable.
    """
    version = api.version() if components else ""
    installed = [_Installing(work, api, each).run(version) for each in components]
    return installed + [_Installing(work, api, each).remove() for each in _undeclared(work, api)]


def _undeclared(work: Work, api: Api) -> list[DeclaredComponent]:
    """Return the components that are installed for this cluster, and are declared no more."""
    declared = {each.name for each in work.order.cluster.components}
    found = api.list("v1", "ConfigMap", f"{CLUSTER}={work.name},{COMPONENT}", _NAMESPACE)
    names = {labels(each)[COMPONENT] for each in found if _declared_by(each) == _declarer(work)} - declared
    return [DeclaredComponent(name, ComponentRole.PACKAGE, ComponentForm.MANIFESTS, ".") for name in sorted(names)]


def _declarer(work: Work) -> str:
    """Return the cluster that declares a component: others, of other repositories, may be adopted from the same one."""
    return f"{work.job.repository}/{work.name}"


def _declared_by(inventory: Object) -> str:
    return str((inventory.get("data") or {}).get("cluster", ""))


class _Installing:
    def __init__(self, work: Work, api: Api, component: DeclaredComponent) -> None:
        self._work, self._api, self._component = work, api, component
        self._inventory = Identity("v1", "ConfigMap", _NAMESPACE, f"tidegate-{component.name}")
        self._changed = False

    def run(self, version: str) -> Installed:
        work, component = self._work, self._component
        desired = render(work, component, version)
        known, before = self._known()
        work.say(f"component {component.name} {component.version}: {len(desired)} objects")
        self._make_namespace()
        early = [each for each in desired if stage(each) == 0]
        self._remember({*known, *map(identity, early)}, before)
        self._apply(early)
        self._until_ready([each for each in early if each["kind"] != "Namespace"], _DEFINITION_SECONDS)
        if early:
            self._api.learn_kinds()
        late = [placed(self._api, component, each) for each in desired if stage(each)]
        wanted = {identity(each) for each in (*early, *late)}
        self._remember({*known, *wanted}, before)
        self._apply(late)
        self._delete(known - wanted)
        self._until_ready([*early, *late], component.seconds)
        self._check()
        self._remember(wanted, component.version)
        return Installed(component.name, before, component.version, self._changed)

    def remove(self) -> Installed:
        """Delete all that the component has."""
        known, before = self._known()
        self._work.say(f"removing the component {self._component.name}, which is declared no more")
        self._remember(known, before)
        self._delete(known)
        self._api.delete(self._inventory)
        return Installed(self._component.name, before, "", changed=True)

    def _make_namespace(self) -> None:
        """Make the component's namespace. It may be that of others as well, so it stays when the component goes."""
        name = self._component.namespace
        if name and self._api.get(of := Identity("v1", "Namespace", "", name)) is None:
            self._api.apply({"apiVersion": of.api_version, "kind": of.kind, "metadata": {"name": name}})

    def _known(self) -> tuple[set[Identity], str]:
        """Return what may be there of the component, and its version. Raise TaskFailed for a later workflow's."""
        found = self._api.get(self._inventory)
        if found is None:
            return set(), ""
        data = found.get("data") or {}
        if (other := _declared_by(found)) != _declarer(self._work):
            raise TaskFailed(
                f"The component {self._component.name} on {self._api.name} is that of the cluster {other}: what is its "
                "own would be deleted. Nothing was changed. Give this component another name."
            )
        if int(data.get("fence", "0")) > self._work.order.fence:
            raise TaskFailed(
                f"A later workflow has changed the component {self._component.name} on {self._api.name}: this one has "
                "lost its lock. It changes nothing more."
            )
        return {Identity(*each) for each in json.loads(data.get("objects", "[]"))}, data.get("version", "")

    def _check(self) -> None:
        """Raise TaskFailed once a later workflow has the component: before each write, as waiting takes minutes."""
        self._known()

    def _remember(self, objects: set[Identity], version: str) -> None:
        data = {
            "cluster": _declarer(self._work),
            "objects": json.dumps(sorted(objects)),
            "version": version,
            "fence": str(self._work.order.fence),
        }
        marks = {COMPONENT: self._component.name, CLUSTER: self._work.name}
        metadata = {"name": self._inventory.name, "namespace": _NAMESPACE, "labels": marks}
        self._api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def _apply(self, objects: Iterable[Object]) -> None:
        for each in in_order(objects):
            self._check()
            of = identity(each)
            found = self._api.get(of)
            owner = labels(found).get(COMPONENT) if found else None
            if owner not in {None, self._component.name}:
                raise TaskFailed(
                    f"{of} on {self._api.name} is part of the component {owner}: it cannot be part of "
                    f"{self._component.name} as well. Remove it from one of them."
                )
            metadata = {**each["metadata"], "labels": {**labels(each), COMPONENT: self._component.name}}
            applied = self._api.apply({**each, "metadata": metadata})
            self._changed |= found is None or _content(found) != _content(applied)

    def _delete(self, objects: set[Identity]) -> None:
        """Delete what the component no longer has; what others have taken over stays."""
        for of in sorted(objects, key=_rank, reverse=True):
            found = self._api.get(of)
            if found is not None and labels(found).get(COMPONENT) == self._component.name:
                self._check()
                self._work.say(f"deleting {of}, which the component {self._component.name} no longer has")
                self._api.delete(of, found["metadata"]["uid"])
                self._changed = True

    def _until_ready(self, objects: Sequence[Object], seconds: float) -> None:
        waiting = {identity(each) for each in objects}

        def in_the_way() -> str:
            told = []
            for of in sorted(waiting):
                found = self._api.get(of)
                state = readiness(found) if found else None
                if state is not None and state.failed:
                    raise TaskFailed(f"{of} on {self._api.name} has failed: {state.why}.")
                if state is not None and state.ready:
                    waiting.discard(of)
                else:
                    told.append(f"{of}: {state.why if state else 'it was deleted'}")
            more = f", and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
            return "; ".join(told[:_MOST_NAMED]) + more

        self._work.until(in_the_way, f"The component {self._component.name}", seconds)


def _rank(of: Identity) -> tuple[int, int, Identity]:
    return *rank(of), of


def _content(found: Object) -> Object:
    """Return an object without what others write.

    A server before 1.22 notes the time of each apply, also of the same.
    """
    metadata = {name: value for name, value in found["metadata"].items() if name not in _OF_THE_SERVER}
    return {**found, "metadata": metadata, "status": None}
