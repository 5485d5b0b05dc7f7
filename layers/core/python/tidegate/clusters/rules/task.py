"""A task of a cluster's workflow, as data: what it needs, produces and takes, and how long it may take.

A task does not choose its successor. Which tasks a workflow has is decided by ``tasks_of`` (workflow_tasks.py) from
what the provider can do; whether one of them runs, by its ``fact`` of the declared and the current cluster (facts.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegate.clusters.rules.context import Key
from tidegate.deploys.rules.cluster import ComponentRole


class Capability(StrEnum):
    """What a provider can do, and needs. Tasks that need one which it lacks are no part of its workflows.

    ``bootstrap``: it creates and deletes management clusters from a bootstrap cluster. ``bootstrap-upgrade``: it
    upgrades them from one as well, which others do in place. ``pivot``: it moves the objects of clusters between two.
    """

    BOOTSTRAP = "bootstrap"
    BOOTSTRAP_UPGRADE = "bootstrap-upgrade"
    PIVOT = "pivot"


class Resource(StrEnum):
    """What a task takes for a while, and another gives back."""

    BOOTSTRAP = "bootstrap-cluster"
    OTHER_CLUSTERS = "pause-of-other-clusters"
    GITOPS = "pause-of-gitops-agent"
    BACKUP = "backup"


class Fact(StrEnum):
    """What decides whether a task runs: facts.py has the rule of each."""

    ALWAYS = "always"
    CLUSTER_CHANGES = "cluster-changes"
    COMPONENTS = "components"
    GITOPS = "gitops"
    OTHER_CLUSTERS = "other-clusters"


@dataclass(frozen=True, slots=True)
class Task:
    """A task. ``title`` is the name of its state, ``contract`` one sentence on what is true after it.

    ``duty`` is what the provider does for it, ``errors`` what fails it. ``needs`` are keys of the context; ``uses`` are
    more of them, which it needs in workflows that have a task which produces them. ``role`` is that of the components
    it installs. ``seconds`` is its time limit without them, ``why`` the reason. ``kept`` is the reason why a failure
    does not run it, although it gives back what it ``releases``. ``checkpoint`` is False for what a resumed workflow
    does again.
    """

    id: str
    title: str
    contract: str
    duty: str
    probe: str
    errors: str
    seconds: int
    why: str
    needs: tuple[Key, ...] = ()
    uses: tuple[Key, ...] = ()
    produces: tuple[Key, ...] = ()
    acquires: Resource | None = None
    releases: Resource | None = None
    kept: str = ""
    capability: Capability | None = None
    fact: Fact = Fact.ALWAYS
    role: ComponentRole | None = None
    checkpoint: bool = True
