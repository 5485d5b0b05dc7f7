"""From a component to its objects: files of manifests, a kustomization, or a Helm chart."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runner.clusters.api import Api
from runner.clusters.objects import Identity, Object, annotations_of, identity
from runner.clusters.work import Work
from runner.faults import TaskFailed
from runner.workspace import place_in
from tidegate.deploys.rules.cluster import ComponentForm, DeclaredComponent

#: Seconds for kubectl or helm to render: they read files.
_RENDER_SECONDS = 120.0
_MOST_BYTES = 64 << 20
#: The annotation of what Helm itself would run around an installation.
_HOOK = "helm.sh/hook"
#: Levels of a document: schemas of large definitions have some forty. Bytes that its aliases may add to it.
_DEEPEST, _MOST_REPEATED = 200, 4 << 20
_ENDINGS = frozenset({".yaml", ".yml", ".json"})
#: The file of a kustomization, and its keys that name files, directories or, which is refused, other repositories.
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_NAMING = ("resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators")
#: Who renders needs no credentials and no network: what runs on a cluster is what was reviewed. There is no such proxy.
_PASSED = ("PATH", "HOME", "TMPDIR", "LANG")
_NO_PROXY = "http://127.0.0.1:9"
_OFFLINE = {"HTTP_PROXY": _NO_PROXY, "HTTPS_PROXY": _NO_PROXY, "GIT_ALLOW_PROTOCOL": "none"}


def render(work: Work, component: DeclaredComponent, version: str) -> list[Object]:
    """Return a component's objects, as the commit has them. ``version`` is the cluster's, for charts.

    Raise TaskFailed for a component that cannot be rendered.
    """
    place = work.path(component.path)
    if component.form is ComponentForm.MANIFESTS:
        texts: Iterable[tuple[str, bytes]] = _manifests(work, component, place)
    elif component.form is ComponentForm.KUSTOMIZATION:
        _check_kustomization(work, component, place, set())
        texts = [(component.path, _output(work, component, ["kubectl", "kustomize", str(place)]))]
    else:
        texts = [(component.path, _output(work, component, _helm(work, component, place, version)))]
    found = [each for name, text in texts for each in _parsed(component, name, text)]
    for each in found:
        if _HOOK in annotations_of(each):
            raise _wrong(
                component,
                f"has the chart's hook {identity(each)}, whose order would be lost. Turn it off by a value of the "
                "chart, or do what it does in a hook of the workflow",
            )
    return found


def _manifests(work: Work, component: DeclaredComponent, place: Path) -> list[tuple[str, bytes]]:
    files = [place] if place.is_file() else sorted(each for each in place.rglob("*") if each.suffix in _ENDINGS)
    names = [str(each.relative_to(work.tools.source.resolve())) for each in files]
    found = [(name, work.path(name)) for name in names]  # A link may lead out of the repository.
    if not found:
        raise _wrong(component, "has no file of YAML or JSON")
    return [(name, file.read_bytes()) for name, file in found if file.is_file()]


def _check_kustomization(work: Work, component: DeclaredComponent, place: Path, seen: set[Path]) -> None:
    """Refuse a kustomization that names anything but files and directories of the commit."""
    seen.add(place)
    for file in (place / name for name in _KUSTOMIZATIONS):
        documents = _documents(component, file.name, file.read_bytes()) if file.is_file() else []
        for entry in (each for document in documents for each in _named_in(document)):
            found = place_in(work.tools.source, place / entry)
            if found is None or not found.exists():
                raise _wrong(component, f"names {entry[:200]!r}, which is not in the commit: nothing is fetched")
            if found.is_dir() and found not in seen:
                _check_kustomization(work, component, found, seen)


def _named_in(document: object) -> list[str]:
    items = document.items() if isinstance(document, dict) else ()
    lists = [said for key, said in items if str(key).lower() in _NAMING]  # kustomize reads them in any case.
    entries = [each for listed in lists if isinstance(listed, list) for each in listed]
    return [each for each in entries if isinstance(each, str) and "\n" not in each]  # Others stand there in full.


def _helm(work: Work, component: DeclaredComponent, place: Path, version: str) -> list[str]:
    values = ["--values", str(work.path(component.values))] if component.values else []
    namespace = ["--namespace", component.namespace] if component.namespace else []
    known = ["--kube-version", version] if version else []
    return [
        "helm",
        "template",
        component.name,
        str(place),
        "--include-crds",
        "--skip-tests",
        *namespace,
        *values,
        *known,
    ]


def _output(work: Work, component: DeclaredComponent, argv: list[str]) -> bytes:
    printed = io.BytesIO()

    def keep(block: bytes) -> None:
        if printed.tell() <= _MOST_BYTES:
            printed.write(block)

    what = f"{argv[0]} for the component {component.name}"
    environ = {name: text for name, text in work.place.environ.items() if name in _PASSED} | _OFFLINE
    work.say(what)
    try:
        code = work.tools.processes.run_program(argv, work.tools.source, environ, _RENDER_SECONDS, keep)
    except OSError as error:
        raise TaskFailed(f"{what} failed to start: {error}. The runner's image for clusters has it.") from error
    work.tools.log.end_line()
    work.tools.interruption.check()
    if code:
        raise _wrong(component, f"cannot be rendered: {argv[0]} failed with exit code {code}, see the log")
    if printed.tell() > _MOST_BYTES:
        raise _wrong(component, f"has more than {_MOST_BYTES >> 20} MB")
    return printed.getvalue()


def _parsed(component: DeclaredComponent, name: str, text: bytes) -> list[Object]:
    documents = _documents(component, name, text)
    return [found for each in documents if each is not None for found in _objects(component, name, each)]


def _documents(component: DeclaredComponent, name: str, text: bytes) -> list[Any]:
    import yaml  # noqa: PLC0415  # Only the image for clusters has it.

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if problem := _hostile(yaml.parse(text, Loader=loader)):
            raise _wrong(component, f"has a document in {name} that {problem}")
        return list(yaml.load_all(text, Loader=loader))
    except (yaml.YAMLError, ValueError) as error:
        raise _wrong(component, f"has no YAML in {name}: {error}") from error


def _hostile(events: Iterable[Any]) -> str:
    """Return why documents cannot be read, empty if they can.

    Events come one by one: making values of them recurses, and too many levels would end the process without a word. An
    alias counts as what it stands for, so that aliases of aliases do not grow without end. One within what it stands
    for has no end at all.
    """
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []
    size = repeated = 0
    for event in events:
        kind, anchor = type(event).__name__, getattr(event, "anchor", None)
        if kind == "AliasEvent":
            if anchor not in sizes:
                return "has an alias within what it stands for"
            size, repeated = size + sizes[anchor], repeated + sizes[anchor]
        elif kind == "ScalarEvent":
            own = len(event.value) + 1
            size += own
            sizes |= {anchor: own} if anchor else {}
        elif kind.endswith("StartEvent") and hasattr(event, "anchor"):
            open_.append((anchor, size))
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            anchor, before = open_.pop()
            size += 1
            sizes |= {anchor: size - before} if anchor else {}
        if len(open_) > _DEEPEST or repeated > _MOST_REPEATED:
            return f"has more than {_DEEPEST} levels, or aliases for more than {_MOST_REPEATED >> 20} MB"
    return ""


def _objects(component: DeclaredComponent, name: str, document: Any) -> list[Object]:
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List") and "items" in document:
        return [found for each in document["items"] or () for found in _objects(component, name, each)]
    try:
        of = identity(document)
    except (KeyError, TypeError) as error:
        raise _wrong(component, f"has something in {name} that is no object: it lacks {error}") from error
    if not all(isinstance(part, str) for part in of):
        raise _wrong(component, f"has an object in {name} whose kind or name is no text")
    return [document]


def placed(api: Api, component: DeclaredComponent, found: Object) -> Object:
    """Return an object in its namespace: that of the component, where it says none."""
    of = identity(found)
    if of.namespace or not _is_namespaced(api, of):
        return found
    metadata = {**found["metadata"], "namespace": component.namespace or "default"}
    return {**found, "metadata": metadata}


def _is_namespaced(api: Api, of: Identity) -> bool:
    return api.is_namespaced(of.api_version, of.kind)


def _wrong(component: DeclaredComponent, why: str) -> TaskFailed:
    return TaskFailed(f"The component {component.name} ({component.path}) {why}.")
