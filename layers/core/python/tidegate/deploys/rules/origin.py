"""What a deployment deploys: pushed commits, or the destruction of an earlier deployment."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.plans.rules.plan import Artifact


@dataclass(frozen=True, slots=True)
class Destruction:
    """That a deployment destroys what its root made. Its plan is always reviewed.

    ``deployment`` is the one deployed last, whose files are planned again with the engine of ``engine_version`` and the
    ``lock_file`` that its plan had, as far as these are known. It is empty where the root's configuration says
    ``destroy: true``: then the revision's own files are planned. ``asked_on`` is the number of the pull request whose
    comment asked for it.
    """

    deployment: str = ""
    engine_version: str | None = None
    lock_file: Artifact | None = None
    asked_on: int | None = None
