"""What a cluster is made of, read from a checkout: its file, its root module and its components."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidegate.clusters.rules.refusals import FileMissing, InvalidSpec, UnreadableSpec
from tidegate.clusters.rules.spec import Spec, kubernetes_of, spec_of
from tidegate.deploys.rules.cluster import DeclaredCluster, DeclaredComponent, ProviderName
from tidegate.documents.document import read_document
from tidegate.rules.errors import InvalidConfiguration

#: Bytes of a cluster's file, and of all files of a cluster and its components together.
_LARGEST_FILE, _LARGEST_TOGETHER = 256 * 1024, 64 * 1024 * 1024
#: What a root module is made of.
_MODULE_FILES = ("*.tf", "*.tf.json", "*.tofu", "*.tofu.json", "*.tfvars", ".terraform.lock.hcl")


def read_spec(source: Path, cluster: DeclaredCluster) -> Spec:
    """Return the specification of a cluster in a checkout, with the hashes of all that it is made of.

    Raise ClusterRefused.
    """
    files = [(cluster.spec, _content(source, cluster))]
    document = spec_document(source, cluster)
    if cluster.provider is ProviderName.TERRAFORM:
        module = (source / cluster.spec).parent
        files += [
            _file(source, path)
            for pattern in _MODULE_FILES
            for path in sorted(module.glob(pattern))
            if _is_inside(source, path) and path.is_file()
        ]
    return spec_of(document, cluster, files, _of_components(source, cluster))


def management_version(source: Path, cluster: DeclaredCluster) -> str:
    """Return the version of Kubernetes in the file of a workload cluster's management cluster, empty if none stays.

    Raise ClusterRefused.
    """
    if not cluster.management_spec:
        return ""
    return kubernetes_of(spec_document(source, replace(cluster, name=cluster.management, spec=cluster.management_spec)))


def spec_document(source: Path, cluster: DeclaredCluster) -> Any:
    """Return the values in a cluster's file: texts, lists and mappings. Raise UnreadableSpec for what is no YAML."""
    try:
        return read_document(cluster.spec, _content(source, cluster), merging=True).content
    except InvalidConfiguration as refusal:
        raise UnreadableSpec(str(refusal)) from None


def _content(source: Path, cluster: DeclaredCluster) -> bytes:
    path = source / cluster.spec
    if not _is_inside(source, path) or not path.is_file():
        raise FileMissing(cluster.name, "spec", cluster.spec)
    if path.stat().st_size > _LARGEST_FILE:
        raise InvalidSpec("The whole", "is larger than 256 KiB", "a smaller file")
    return path.read_bytes()


def _of_components(source: Path, cluster: DeclaredCluster) -> Iterator[tuple[str, bytes]]:
    """Yield the files of components. Raise FileMissing, or InvalidSpec for more than there may be."""
    left = _LARGEST_TOGETHER
    for each in cluster.components:
        for name in filter(None, (each.path, each.values)):
            found = source / name
            if not _is_inside(source, found) or not found.exists():
                raise FileMissing(cluster.name, f"component {each.name}", name)
            for path in [found] if found.is_file() else sorted(found.rglob("*")):
                _refuse_link(source, each, path)
                if not path.is_file():
                    continue
                left -= path.stat().st_size
                if left < 0:
                    raise InvalidSpec(f"The component {each.name}", "is too large", "64 MiB for all components")
                yield _file(source, path)


def _refuse_link(source: Path, component: DeclaredComponent, path: Path) -> None:
    """Refuse what Helm would follow: out of the repository, or to files that the hash would not have."""
    if path.is_symlink() and (not _is_inside(source, path) or path.is_dir()):
        problem = f"has the link {path.relative_to(source)}, which leads to a directory or out of the repository"
        raise InvalidSpec(f"The component {component.name}", problem, "links to files of the repository")


def _is_inside(source: Path, path: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(source.resolve())  # It refuses no cycle of links.


def _file(source: Path, path: Path) -> tuple[str, bytes]:
    return path.relative_to(source).as_posix(), path.read_bytes()
