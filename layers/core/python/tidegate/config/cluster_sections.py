"""What is wrong between the clusters that a file declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.workflow_tasks import task_ids
from tidegate.config.model.clusters import ClusterSection
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.documents.document import Document, Path
from tidegate.roots.rules.nearest import nearest
from tidegate.rules.errors import InvalidConfiguration, quoted


def refused_clusters(document: Document, sections: Sequence[ClusterSection]) -> Iterator[InvalidConfiguration]:
    """Yield what is wrong: management clusters that are none, names that occur twice, unknown tasks."""
    kinds = {each.name: each.kind for each in sections}
    for number, each in enumerate(sections):
        path: Path = ("clusters", number)
        if each.management is not None:
            yield from _of_management(document, (*path, "management"), each, kinds)
        for key, named in (("components", each.components), ("hooks", each.hooks)):
            yield from _twice(document, (*path, key), (one.name for one in named))
        yield from _unknown_tasks(document, (*path, "hooks"), each)


def _of_management(
    document: Document, path: Path, section: ClusterSection, kinds: dict[str, ClusterKind]
) -> Iterator[InvalidConfiguration]:
    name = section.management or ""
    managing = [each for each, kind in kinds.items() if kind is ClusterKind.MANAGEMENT and each != section.name]
    if section.kind is ClusterKind.MANAGEMENT:
        problem = f"{quoted(section.name)} is a management cluster, and these have none above them"
        yield document.refusal(path, problem, "Remove 'management', or set kind: workload")
    elif name not in managing:
        problem = f"{quoted(name)} is no management cluster of this file"
        near = nearest(name, managing)
        meant = f"Did you mean {quoted(near)}? " if near else ""
        yield document.refusal(path, problem, f"{meant}Management clusters: {', '.join(managing) or 'none'}")


def _unknown_tasks(document: Document, path: Path, section: ClusterSection) -> Iterator[InvalidConfiguration]:
    """Yield a refusal for each hook at a task that none of the cluster's workflows has."""
    known = task_ids(section.kind, PROVIDERS[section.provider].capabilities)
    for number, hook in enumerate(section.hooks):
        task = hook.hook.task
        if task and task not in known:
            near = nearest(task, known)
            meant = f"Did you mean {quoted(near)}? " if near else ""
            problem = f"{quoted(task)} is no task of a {section.kind} cluster with the provider {section.provider}"
            place = (*path, number, hook.hook.point)
            yield document.refusal(place, problem, f"{meant}Tasks: {', '.join(known)}")


def _twice(document: Document, path: Path, names: Iterable[str]) -> Iterator[InvalidConfiguration]:
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) != number:
            line = document.place((*path, first[name]))[0]
            problem = f"the name {quoted(name)} is already on line {line}"
            yield document.refusal((*path, number, "name"), problem, "Use another one")
