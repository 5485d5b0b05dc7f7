"""The roots, and the patterns of roots, that a file declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal, TypeVar

from tidegate.config.declarations import AwsText, CloudText, DeclaredGlob, RootDeclaration, RunnerText
from tidegate.config.loaded import DeclaredRoot
from tidegate.config.model.clusters import ClusterSection
from tidegate.config.model.file import WHEN_MODIFIED, Configuration
from tidegate.config.model.roots import (
    DirectorySection,
    EngineSection,
    ReviewSection,
    RootSection,
    WhenModifiedSection,
    WorkspaceSection,
)
from tidegate.config.patterns import check_patterns
from tidegate.config.refusals import MOST_LISTED
from tidegate.deploys.rules.cluster import DeclaredCluster, ProviderName
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.documents.document import KEY, Document, Path
from tidegate.roots.rules.discovery import default_root_name, directory_of, is_module_file
from tidegate.roots.rules.root import Engine, Root, directory, root_name
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.rules.errors import InvalidConfiguration, InvalidName, quoted

_Part = TypeVar("_Part")

#: More would make it slow to find what holds for each root.
_MOST_GLOBS = 200


@dataclass(frozen=True, slots=True)
class Around:
    """What holds for roots that say nothing of their own."""

    repository: str
    engine: Engine
    defaults: RootDeclaration


@dataclass(slots=True)
class RootSections:
    """What a file declares: roots, what it says of each by name, and what it says of patterns of directories.

    ``clusters`` are roots, too.
    """

    roots: list[DeclaredRoot] = field(default_factory=list)
    clusters: list[DeclaredRoot] = field(default_factory=list)
    declarations: dict[str, RootDeclaration] = field(default_factory=dict)
    globs: list[DeclaredGlob] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A root, or a pattern of roots, in either form: what it leaves open is None. Outer sections come first."""

    path: Path
    name: str | None
    dir: str
    workspace: str
    engine: EngineSection | None
    engine_path: Path
    when_modified: tuple[WhenModifiedSection, ...]
    plan_review: tuple[ReviewSection, ...]
    tags: tuple[str, ...]
    glob: bool = False
    named_workspace: bool = True
    root: bool | None = None
    destroy: bool = False
    sections: tuple[tuple[Path, RootSection | DirectorySection | WorkspaceSection | ClusterSection], ...] = ()
    cluster: DeclaredCluster | None = None
    after: tuple[str, ...] = ()


def around(configuration: Configuration, repository: str, rule: ReviewRule) -> Around:
    """Return what holds for roots of which the file says nothing. ``rule`` is that of the whole file."""
    when = configuration.when_modified
    defaults = RootDeclaration(
        when_modified=WHEN_MODIFIED if when.file_patterns is None else when.file_patterns,
        depends_on=when.depends_on.tag_query if when.depends_on else None,
        autoplan=when.autoplan is not False,
        review_rule=rule,
        follow_modules=when.follow_modules is not False,
    )
    return Around(repository, configuration.engine.engine if configuration.engine else Engine(), defaults)


def root_sections(
    document: Document, configuration: Configuration, outside: Around
) -> tuple[RootSections, list[InvalidConfiguration]]:
    """Return what the file declares, and what is wrong: such as two roots with one name, or with one state."""
    found, refusals = RootSections(), []
    lines: dict[tuple[str, ...], int] = {}
    patterns = sum("*" in written for written in configuration.dirs or {})
    if patterns > _MOST_GLOBS:
        problem = f"{patterns} keys of 'dirs' contain a '*'"
        return found, [document.refusal(("dirs",), problem, f"The limit is {_MOST_GLOBS}")]
    for entry in _entries(configuration):
        try:
            _add(document, outside, entry, lines, found)
        except InvalidConfiguration as refusal:
            refusals.append(refusal)
            if len(refusals) >= MOST_LISTED:
                break
    return found, refusals


def _entries(configuration: Configuration) -> Iterator[_Entry]:
    for number, root in enumerate(configuration.roots or ()):
        path: Path = ("roots", number)
        yield _Entry(
            path,
            root.name,
            root.dir,
            root.workspace,
            root.engine,
            (*path, "engine"),
            _given(root.when_modified),
            _given(root.plan_review),
            root.tags,
            destroy=root.destroy is True,
            sections=((path, root),),
        )
    for written, section in (configuration.dirs or {}).items():
        yield from _directory_entries(written, section)
    for number, cluster in enumerate(configuration.clusters):
        path = ("clusters", number)
        yield _Entry(
            path,
            cluster.name,
            directory_of(cluster.spec),
            "default",
            cluster.engine,
            (*path, "engine"),
            (),
            _given(cluster.plan_review),
            cluster.tags,
            destroy=cluster.destroy is True,
            sections=((path, cluster),),
            cluster=replace(cluster.cluster, management_spec=_spec_of_management(cluster, configuration.clusters)),
            after=_clusters_before(cluster, configuration.clusters),
        )


def _clusters_before(section: ClusterSection, clusters: Sequence[ClusterSection]) -> tuple[str, ...]:
    """Return the clusters that a cluster of the same change comes after: it is made after its management cluster, and
    that is deleted after it.
    """
    if section.destroy:
        return tuple(each.name for each in clusters if each.management == section.name and each.destroy)
    return tuple(each.name for each in clusters if each.name == section.management and not each.destroy)


def _spec_of_management(section: ClusterSection, clusters: Sequence[ClusterSection]) -> str:
    """Return the file of a cluster's management cluster, empty if none stays."""
    return next((each.spec for each in clusters if each.name == section.management and not each.destroy), "")


def _directory_entries(written: str, section: DirectorySection) -> Iterator[_Entry]:
    place: Path = ("dirs", written)
    glob, where = "*" in written, directory(written)
    if not section.workspaces:
        yield _Entry(
            place,
            section.name,
            where,
            "default",
            section.engine,
            (*place, "engine"),
            _given(section.when_modified),
            _given(section.plan_review),
            section.tags,
            glob,
            named_workspace=False,
            root=section.root,
            destroy=section.destroy is True,
            sections=((place, section),),
        )
    for title, inner in section.workspaces.items():
        path = (*place, "workspaces", title)
        yield _Entry(
            path,
            inner.name or (section.name if len(section.workspaces) == 1 else None),
            where,
            title,
            inner.engine or section.engine,
            (*(path if inner.engine else place), "engine"),
            _given(section.when_modified, inner.when_modified),
            _given(section.plan_review, inner.plan_review),
            (*section.tags, *inner.tags),
            glob,
            root=section.root,
            destroy=(section.destroy if inner.destroy is None else inner.destroy) is True,
            sections=((place, section), (path, inner)),
        )


def _given(*sections: _Part | None) -> tuple[_Part, ...]:
    return tuple(section for section in sections if section is not None)


def _add(
    document: Document, outside: Around, entry: _Entry, lines: dict[tuple[str, ...], int], found: RootSections
) -> None:
    declaration = _declaration(document, outside, entry)
    if entry.destroy and (entry.glob or entry.root is False):
        problem = "'destroy' is allowed only for a single root"
        raise document.refusal((*entry.path, "destroy"), problem, "Give each root its own key")
    same = f"another root already has the directory {entry.dir!r} and the workspace {entry.workspace!r}"
    if entry.glob:
        _check_glob(document, entry, lines)
    elif entry.root is False:
        _claim(document, entry, lines, ("state", entry.dir, entry.workspace), same)
    if entry.glob or entry.root is False:
        workspace = entry.workspace if entry.named_workspace else None
        found.globs.append(DeclaredGlob(entry.dir, workspace, declaration, entry.root))
        return
    name = entry.name or _default_name(document, entry, outside.repository)
    _claim(document, entry, lines, ("name", name), f"duplicate root name {name!r}")
    if entry.cluster:
        _claim(
            document, entry, lines, ("spec", entry.cluster.spec), f"another cluster has the spec {entry.cluster.spec}"
        )
    if entry.cluster is None or entry.cluster.provider is ProviderName.TERRAFORM:
        _claim(document, entry, lines, ("state", entry.dir, entry.workspace), same)
    engine = entry.engine.engine if entry.engine else outside.engine
    root = Root(name, entry.dir, entry.workspace, engine)
    declared = DeclaredRoot(root, declaration.when_modified, declaration.review_rule, declaration.tags)
    (found.clusters if entry.cluster else found.roots).append(declared)
    found.declarations[name] = declaration


def _declaration(document: Document, outside: Around, entry: _Entry) -> RootDeclaration:
    """Return what the file says of a root: each part as the innermost section says it."""
    defaults = outside.defaults
    patterns, depends_on, autoplan = defaults.when_modified, defaults.depends_on, defaults.autoplan
    follow_modules = defaults.follow_modules
    if entry.cluster:
        # Only the provider's root module is one, and only modules follow modules.
        is_module = entry.cluster.provider is ProviderName.TERRAFORM
        patterns, follow_modules = _files_of(entry.cluster), is_module and follow_modules
        depends_on = parse_tag_query(" or ".join(f"name:{name}" for name in entry.after)) if entry.after else None
    for when in entry.when_modified:
        patterns = patterns if when.file_patterns is None else when.file_patterns
        depends_on = when.depends_on.tag_query if when.depends_on else depends_on
        autoplan = autoplan if when.autoplan is None else when.autoplan
        follow_modules = follow_modules if when.follow_modules is None else when.follow_modules
    _check_patterns(document, entry, patterns)
    return RootDeclaration(
        line=document.place((*entry.path, KEY))[0],
        tags=tuple(dict.fromkeys(entry.tags)),
        engine=entry.engine.text(document.place((*entry.engine_path, KEY))[0]) if entry.engine else None,
        when_modified=patterns,
        depends_on=depends_on,
        autoplan=autoplan,
        review_rule=reduce(lambda outer, inner: inner.rule(outer), entry.plan_review, defaults.review_rule),
        reviewed=any(section.when is not None for section in entry.plan_review),
        follow_modules=follow_modules,
        destroy=entry.destroy,
        aws=_aws(document, entry),
        runner=_runner(document, entry),
        google=_cloud(document, entry, "google"),
        azure=_cloud(document, entry, "azure"),
        cluster=entry.cluster,
    )


def _files_of(cluster: DeclaredCluster) -> tuple[str, ...]:
    """Return the patterns of the files that change a cluster: a leading slash is the repository's top."""
    of_provider = WHEN_MODIFIED if cluster.provider is ProviderName.TERRAFORM else ()
    components = (path for each in cluster.components for path in (each.path, each.values) if path)
    return (*of_provider, f"/{cluster.spec}", *(f"/{path}" for path in components))


def _aws(document: Document, entry: _Entry) -> AwsText | None:
    """Return the account that the sections of a root say: the inner one first, and what that leaves open as around."""
    texts = [
        each.aws.text(document.place((*path, "aws", KEY))[0]) for path, each in entry.sections if each.aws is not None
    ]
    return reduce(lambda outer, inner: inner.over(outer), texts) if texts else None


def _cloud(document: Document, entry: _Entry, key: Literal["google", "azure"]) -> CloudText | None:
    """Return what the sections of a root say of another cloud, as for AWS."""
    sections = [(path, each.google if key == "google" else each.azure) for path, each in entry.sections]
    texts = [each.text(document.place((*path, key, KEY))[0]) for path, each in sections if each is not None]
    return reduce(lambda outer, inner: inner.over(outer), texts) if texts else None


def _runner(document: Document, entry: _Entry) -> RunnerText | None:
    """Return what the sections of a root ask of its runner, as for the account."""
    texts = [
        each.runner.text(document.place((*path, "runner", KEY))[0])
        for path, each in entry.sections
        if each.runner is not None
    ]
    return reduce(lambda outer, inner: inner.over(outer), texts) if texts else None


def _check_glob(document: Document, entry: _Entry, lines: dict[tuple[str, ...], int]) -> None:
    if entry.name:
        problem = f"several roots would have the name {entry.name!r}"
        raise document.refusal(
            (*entry.path, "name"), problem, "Remove 'name': Tidegate names these roots by their directories"
        )
    if is_module_file(entry.dir):
        problem = f"{quoted(entry.dir)} matches files"
        raise document.refusal((*entry.path[:2], KEY), problem, "Write a directory pattern, such as live/**")
    same = f"duplicate pattern {quoted(entry.dir)}"
    _claim(document, entry, lines, ("glob", entry.dir, entry.workspace), same)


def _claim(
    document: Document, entry: _Entry, lines: dict[tuple[str, ...], int], claim: tuple[str, ...], problem: str
) -> None:
    if claim in lines:
        raise document.refusal((*entry.path, "name"), problem, f"It is already used on line {lines[claim]}")
    lines[claim] = document.place(entry.path)[0]


def _default_name(document: Document, entry: _Entry, repository: str) -> str:
    name = default_root_name(repository, entry.dir)
    if entry.workspace != "default":
        name = f"{name}/{entry.workspace}"
    try:
        return root_name(name)
    except InvalidName as error:
        problem = f"the directory {entry.dir!r} is not a valid root name"
        raise document.refusal((*entry.path, "dir"), problem, f"Set 'name'. {error.advice}") from None


def _check_patterns(document: Document, entry: _Entry, patterns: tuple[str, ...]) -> None:
    # Only these are judged by the place; and of a glob, the one nearest to the top counts: ** may be none at all.
    patterns = tuple(pattern for pattern in patterns if "../" in pattern)
    where = "/".join(part for part in entry.dir.split("/") if part != "**") or "."
    try:
        check_patterns(where, patterns)
    except ValueError as error:
        path = (*entry.path, "when_modified")
        raise document.refusal(path, str(error), "Patterns are relative to the root's directory") from None
