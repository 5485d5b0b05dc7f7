"""Move the objects of clusters from one API server to another: each exactly once, wherever a runner dies.

Everything is paused at the source, and copied in the order of owners, paused. Only when all copies are there is the
source emptied, and only then does the target begin. So at no time do two clusters reconcile the same objects, and a
copy that is marked with its original's uid is never made again. An interrupted move goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from runner.clusters import moving
from runner.clusters.api import Api
from runner.clusters.objects import MARKS, Identity, Object, annotations_of, identity
from runner.clusters.pausing import CLUSTER_KINDS, PAUSED, PAUSED_BY
from runner.clusters.work import Work
from runner.faults import TaskFailed

#: The annotation of a copy with the uid of its original.
MOVED = f"{MARKS}/moved-from"
_OF_SERVER = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"}
    | {"deletionGracePeriodSeconds", "ownerReferences"}
)


def pivot(work: Work, source: Api, target: Api) -> int:
    """Move all objects, and return how many were still at the source. Raise TaskFailed or ClusterUnreachable."""
    found = moving.objects(source)
    work.say(f"moving {len(found)} objects from {source.name} to {target.name}")
    if found:
        _check_kinds(found, source, target)
        _pause(work, source, found)
        copies = _Copies(work, source, target)
        for each in found:
            copies.copy(each)
        for each in reversed(found):
            _delete(source, each)
        if left := moving.objects(source):
            raise TaskFailed(
                f"{len(left)} objects appeared at {source.name} during the move, such as {identity(left[0])}. "
                "All others are moved. Resume the workflow to move these."
            )
    _begin(work, target)
    return len(found)


def is_done(source: Api, target: Api, by: str) -> bool:
    """Tell whether nothing is left to move, and nothing at the target is paused by this workflow."""
    return not moving.objects(source) and not any(_paused_by(each, by) for each in moving.objects(target))


def _check_kinds(found: Sequence[Object], source: Api, target: Api) -> None:
    kinds = sorted({(each["apiVersion"], each["kind"]) for each in found})
    if missing := [f"{kind} ({version})" for version, kind in kinds if not target.has(version, kind)]:
        raise TaskFailed(
            f"{target.name} does not know {', '.join(missing)}, which {source.name} has. Install the components that "
            "define them first. Nothing was moved."
        )


def _pause(work: Work, api: Api, found: Sequence[Object]) -> None:
    for each in found:
        if not _is_paused(each):
            api.patch(identity(each), _pausing(each, work.name))


def _is_paused(found: Object) -> bool:
    return PAUSED in annotations_of(found) or bool(_is_cluster(found) and (found.get("spec") or {}).get("paused"))


def _is_cluster(found: Object) -> bool:
    return (found["apiVersion"], found["kind"]) in CLUSTER_KINDS


def _pausing(found: Object, by: str) -> Object:
    change: Object = {"metadata": {"annotations": {PAUSED: "true", PAUSED_BY: by}}}
    return {**change, "spec": {"paused": True}} if _is_cluster(found) else change


def _unpausing(found: Object) -> Object:
    change: Object = {"metadata": {"annotations": {PAUSED: None, PAUSED_BY: None}}}
    return {**change, "spec": {"paused": None}} if _is_cluster(found) else change


def _paused_by(found: Object, by: str) -> bool:
    return annotations_of(found).get(PAUSED_BY) == by


class _Copies:
    """Makes copies at the target; owners come before what they own, so their new uids are known."""

    def __init__(self, work: Work, source: Api, target: Api) -> None:
        self._work, self._source, self._target = work, source, target
        self._uids: dict[str, str] = {}

    def copy(self, original: Object) -> None:
        of, uid = identity(original), original["metadata"]["uid"]
        found = self._target.get(of)
        if found is None:
            self._make_namespace(of.namespace)
            # What was changed since the list was made is paused by now: copy it as it is.
            current = self._source.get(of)
            if current is None:
                raise TaskFailed(f"{of} was deleted at {self._source.name} during the move. Resume the workflow.")
            found = self._target.create(self._copy_of(current))
        elif annotations_of(found).get(MOVED) != uid:
            raise TaskFailed(
                f"{of} is at {self._target.name} already, and is no copy of what is moved. Nothing was deleted. Delete "
                "or rename one of the two, then resume the workflow."
            )
        self._uids[uid] = found["metadata"]["uid"]

    def _copy_of(self, original: Object) -> Object:
        metadata = {key: said for key, said in original["metadata"].items() if key not in _OF_SERVER}
        ours = {} if _is_paused(original) else {PAUSED: "true", PAUSED_BY: self._work.name}
        marks = {**annotations_of(original), **ours, MOVED: original["metadata"]["uid"]}
        copy = {key: said for key, said in original.items() if key != "status"}
        owned_by = self._owners(original)
        return {**copy, "metadata": {**metadata, "annotations": marks, **owned_by}}

    def _owners(self, original: Object) -> Object:
        """Return the owners by their new uids. One that is not moved is left out, and told."""
        kept = []
        for each in moving.owners(original):
            if each["uid"] in self._uids:
                kept.append({**each, "uid": self._uids[each["uid"]]})
            else:
                self._work.warn(
                    f"{identity(original)} loses its owner {each['kind']} {each['name']}, which is not moved."
                )
        return {"ownerReferences": kept} if kept else {}

    def _make_namespace(self, name: str) -> None:
        namespace = Identity("v1", "Namespace", "", name)
        if name and self._target.get(namespace) is None:
            self._target.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def _delete(source: Api, found: Object) -> None:
    """Delete an original. Its finalizers would delete the machines that it stands for, and its controllers pause."""
    of = identity(found)
    if found["metadata"].get("finalizers"):
        source.patch(of, {"metadata": {"uid": found["metadata"]["uid"], "finalizers": None}})
    source.delete(of, found["metadata"]["uid"])


def _begin(work: Work, target: Api) -> None:
    """Unpause at the target what this workflow has paused, owned objects before their owners."""
    for each in reversed(moving.objects(target)):
        if _paused_by(each, work.name):
            target.patch(identity(each), _unpausing(each))
