"""The file of a cluster: what Tidegate reads of it. What it says besides, under ``provider``, is the provider's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar

from tidegate.clusters.rules.kubernetes_version import version_of
from tidegate.clusters.rules.refusals import InvalidSpec
from tidegate.deploys.rules.cluster import DeclaredCluster


class BootstrapPlace(StrEnum):
    """Where a bootstrap cluster lives.

    ``existing``: a cluster that is there and is adopted. ``eks``: one that is made for it. ``host``: a machine that is
    reached through Systems Manager. ``container``: containers of the runner, which is always refused.
    """

    NONE = "none"
    EXISTING = "existing"
    EKS = "eks"
    HOST = "host"
    CONTAINER = "container"


class GitOpsAgent(StrEnum):
    """The GitOps agent that runs on a cluster. Workflows pause it while they change what it would change back."""

    NONE = "none"
    ARGO_CD = "argocd"
    FLUX = "flux"


@dataclass(frozen=True, slots=True)
class Spec:
    """A cluster's specification. ``bootstrap`` is None where the file leaves it to the provider, ``makes_bootstrap``
    are the keys under ``provider`` that say how it comes about.

    ``hash`` is that of all that the cluster is made of, ``cluster_hash`` that without its components: if only the
    first is another, only components have changed.
    """

    kubernetes: str
    hash: str
    cluster_hash: str
    bootstrap: BootstrapPlace | None = None
    gitops: GitOpsAgent = GitOpsAgent.NONE
    makes_bootstrap: frozenset[str] = frozenset()


_Word = TypeVar("_Word", bound=StrEnum)
_KEYS = ("kubernetes", "bootstrap", "gitops", "provider")


def spec_of(
    document: object,
    declared: DeclaredCluster,
    files: Iterable[tuple[str, bytes]],
    components: Iterable[tuple[str, bytes]] = (),
) -> Spec:
    """Return the specification of a cluster's file, whose parsed ``document`` it is.

    ``files`` are what the cluster itself is made of, each with its path, in any order: this file, and those of a root
    module. ``components`` are the files of its components. Raise InvalidSpec with the key that is wrong.
    """
    if not isinstance(document, Mapping):
        raise InvalidSpec("The top", "is no mapping", ", ".join(_KEYS))
    for key in document:
        if key not in _KEYS:
            raise InvalidSpec(str(key)[:40], "is not known", ", ".join(_KEYS))
    kubernetes = kubernetes_of(document)
    own = asdict(replace(declared, components=(), hooks=()))
    del own["management_spec"]
    cluster_hash = _hash(own, _digests(files))
    return Spec(
        kubernetes,
        _hash(cluster_hash, [asdict(each) for each in declared.components], _digests(components)),
        cluster_hash,
        _word(document, "bootstrap", BootstrapPlace),
        _word(document, "gitops", GitOpsAgent) or GitOpsAgent.NONE,
        _makes_bootstrap(document.get("provider")),
    )


def _makes_bootstrap(said: object) -> frozenset[str]:
    """Return which of ``tasks`` and ``bootstrap``, under ``provider``, say how the bootstrap cluster comes about."""
    if not isinstance(said, Mapping):
        return frozenset()
    tasks = said.get("tasks")
    commands = isinstance(tasks, Mapping) and "create-bootstrap-cluster" in tasks
    return frozenset({*(["tasks"] if commands else ()), *(["bootstrap"] if said.get("bootstrap") else ())})


def kubernetes_of(document: object) -> str:
    """Return the version of Kubernetes in a cluster's parsed file. Raise InvalidSpec."""
    kubernetes = document.get("kubernetes") if isinstance(document, Mapping) else None
    if not isinstance(kubernetes, str):
        raise InvalidSpec("kubernetes", "is no text", 'a version in quotes such as "1.33"')
    version_of(kubernetes)
    return kubernetes


def _word(document: Mapping[Any, object], key: str, words: type[_Word]) -> _Word | None:
    said = document.get(key)
    if said is None:
        return None
    if said not in tuple(words):
        raise InvalidSpec(key, f"is {str(said)[:40]!r}", ", ".join(words))
    return words(str(said))


def _digests(files: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
    return sorted((path, hashlib.sha256(content).hexdigest()) for path, content in files)


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
