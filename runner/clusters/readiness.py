"""Whether an object is ready, by its own status: pure rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.clusters.objects import Object, conditions, identity

_TRUE = "True"


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether an object is ready; if not, why. ``failed`` tells that waiting is of no use."""

    ready: bool
    why: str = ""
    failed: bool = False


_READY = Readiness(True)


def readiness(found: Object) -> Readiness:
    """Tell whether an object is ready, and was observed at its current generation."""
    of, status = identity(found), found.get("status") or {}
    rule = _RULES.get(of.group_kind)
    observed = status.get("observedGeneration")
    if observed is not None and observed < found["metadata"].get("generation", 0):
        return Readiness(False, "its last change is not observed yet")
    return rule(found, status) if rule else _by_condition(found)


def _by_condition(found: Object) -> Readiness:
    """An object of any other kind is ready as its condition Ready says, or Available; without one, at once."""
    known = conditions(found)
    condition = known.get("Ready") or known.get("Available")
    if condition is None:
        return _READY
    observed = condition.get("observedGeneration")
    if observed is not None and observed < found["metadata"].get("generation", 0):
        return Readiness(False, "its last change is not observed yet")
    return _READY if condition.get("status") == _TRUE else Readiness(False, _told(condition))


def _told(condition: Mapping[str, Any]) -> str:
    text = condition.get("message") or condition.get("reason") or "no reason is given"
    return f"its condition {condition['type']} is {condition.get('status')}: {text}"


def _deployment(found: Object, status: Mapping[str, Any]) -> Readiness:
    wanted = _replicas(found)
    if "observedGeneration" not in status:
        return Readiness(False, "no controller has observed it")
    counts = (status.get("updatedReplicas", 0), status.get("availableReplicas", 0))
    if min(counts) >= wanted and status.get("replicas", 0) <= counts[0]:
        return _READY
    said = [_told(each) for each in conditions(found).values() if each.get("status") != _TRUE]
    return Readiness(False, "; ".join([f"{counts[0]} of {wanted} replicas are new, {counts[1]} available", *said]))


def _stateful_set(found: Object, status: Mapping[str, Any]) -> Readiness:
    wanted = _replicas(found)
    if "observedGeneration" not in status:
        return Readiness(False, "no controller has observed it")
    partition = ((found["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}).get("partition") or 0
    updated, ready = status.get("updatedReplicas", 0), status.get("readyReplicas", 0)
    if ready >= wanted and updated >= wanted - partition:
        return _READY
    return Readiness(False, f"{updated} of {wanted} replicas are new, {ready} ready")


def _daemon_set(_found: Object, status: Mapping[str, Any]) -> Readiness:
    if "observedGeneration" not in status:
        return Readiness(False, "no controller has observed it")
    wanted = status.get("desiredNumberScheduled", 0)
    updated, available = status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0)
    if min(updated, available) >= wanted:
        return _READY
    return Readiness(False, f"{updated} of {wanted} pods are new, {available} available")


def _job(found: Object, _status: Mapping[str, Any]) -> Readiness:
    known = conditions(found)
    if (failed := known.get("Failed")) and failed.get("status") == _TRUE:
        return Readiness(False, _told(failed), failed=True)
    if (complete := known.get("Complete")) and complete.get("status") == _TRUE:
        return _READY
    return Readiness(False, "it has not completed")


def _definition(found: Object, _status: Mapping[str, Any]) -> Readiness:
    known = conditions(found)
    if (established := known.get("Established")) and established.get("status") == _TRUE:
        return _READY
    refused = known.get("NamesAccepted")
    if refused and refused.get("status") == "False":
        return Readiness(False, _told(refused), failed=True)
    return Readiness(False, "its kind is not served yet")


def _namespace(_found: Object, status: Mapping[str, Any]) -> Readiness:
    phase = status.get("phase")
    return Readiness(False, "it is being deleted") if phase == "Terminating" else _READY


def _replicas(found: Object) -> int:
    wanted = found["spec"].get("replicas")
    return 1 if wanted is None else int(wanted)


_RULES: Mapping[tuple[str, str], Callable[[Object, Mapping[str, Any]], Readiness]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("", "Namespace"): _namespace,
}
