"""What an event of Flux says of a target: its generic provider posts events in a form of its own.

https://fluxcd.io/flux/components/notification/providers/#generic-webhook
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.config_updates.rules.trailers import COMMIT

_SUCCEEDED = "ReconciliationSucceeded"
#: Reasons of errors that pass by themselves: another object comes first, or the source is not there yet.
_NOT_YET = frozenset({"DependencyNotReady", "ArtifactFailed", "Progressing", "ProgressingWithRetry"})
_REVISION = "revision"


@dataclass(frozen=True, slots=True)
class FluxReport:
    """The commit that a Kustomization applied, and whether that worked."""

    config_sha: str
    succeeded: bool


def read_flux_event(event: Mapping[str, Any]) -> FluxReport | None:
    """Return what an event reports; None for one that tells nothing yet, or of another kind of object.

    A revision is ``BRANCH@sha1:COMMIT``, in old releases ``BRANCH/COMMIT``.
    """
    about, metadata = event.get("involvedObject"), event.get("metadata")
    if not isinstance(about, Mapping) or about.get("kind") != "Kustomization" or not isinstance(metadata, Mapping):
        return None
    revision = metadata.get(_REVISION) or metadata.get(f"kustomize.toolkit.fluxcd.io/{_REVISION}")
    if not isinstance(revision, str):
        return None
    sha = revision.rpartition("@")[2].rpartition(":")[2].rpartition("/")[2]
    if not COMMIT.fullmatch(sha):
        return None
    reason = event.get("reason")
    if reason == _SUCCEEDED:
        return FluxReport(sha, succeeded=True)
    failed = event.get("severity") == "error" and reason not in _NOT_YET
    return FluxReport(sha, succeeded=False) if failed else None
