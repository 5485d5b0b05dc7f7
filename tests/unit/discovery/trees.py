"""Commits as discovery sees them: their files, and what changed."""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass, field

from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots
from tidegate.ports import FileChange, Merged
from tidegate.roots.rules.discovery import LOCK_FILE, is_module_file

USES_NETWORK = 'module "network" {\n  source = "../../modules/network"\n}\n'
BACKEND = 'terraform {\n  backend "s3" {}\n}\n'


class Link(str):
    """The content of a file that is a symbolic link: where it leads."""

    __slots__ = ()


def with_lock_files(files: dict[str, str]) -> dict[str, str]:
    """Return the files with a lock file in each directory that holds a module: it is a root then, unless it is used."""
    places = {posixpath.dirname(path) for path in files if is_module_file(path)}
    return {**{posixpath.join(place, LOCK_FILE): "" for place in sorted(places)}, **files}


class Submodule(str):
    """Stands for the content of a submodule: its commit. It is no file."""

    __slots__ = ()


@dataclass
class Trees:
    """The port PushedTrees on two mappings of paths to contents.

    Unless it is ``bare``, each directory with a module has a lock file, so that it is a root.
    """

    old: dict[str, str]
    new: dict[str, str]
    before_is_known: bool = True
    requests: list[set[str]] = field(default_factory=list)
    bare: bool = False

    def __post_init__(self):
        if not self.bare:
            self.old, self.new = with_lock_files(self.old), with_lock_files(self.new)

    @property
    def files(self):
        return {path: blob(text) for path, text in self.new.items() if not isinstance(text, Submodule)}

    @property
    def links(self):
        return {path for path, text in self.new.items() if isinstance(text, Link)}

    @property
    def changes(self):
        old = self.old if self.before_is_known else {}
        paths = sorted(path for path in old.keys() | self.new.keys() if old.get(path) != self.new.get(path))
        both = [(path, old.get(path), self.new.get(path)) for path in paths]
        return [FileChange(p, blob(a), blob(b), isinstance(a, Link) or isinstance(b, Link)) for p, a, b in both]

    def read(self, contents):
        self.requests.append(set(contents))
        known = {blob(text): text.encode() for text in [*self.old.values(), *self.new.values()]}
        return {name: known[name] for name in contents}


def blob(text: str | None) -> str | None:
    return (
        None
        if text is None or isinstance(text, Submodule)
        else hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    )


def merged(base: dict[str, str], head: dict[str, str], common: dict[str, str], both: dict[str, str]) -> Merged:
    """Return the merge of two commits, file by file; ``both`` are texts of files that both changed."""
    ours = {path for path in base.keys() | common.keys() if base.get(path) != common.get(path)}
    theirs = {path for path in head.keys() | common.keys() if head.get(path) != common.get(path)}
    conflicts = {path for path in ours & theirs if base.get(path) != head.get(path)} - both.keys()
    if conflicts:
        return Merged(Trees(common, head), tuple(sorted(conflicts)))
    after = {**base, **{path: head.get(path) for path in theirs}, **both}
    return Merged(Trees(base, {path: text for path, text in after.items() if text is not None}))


def discover(old: dict[str, str], new: dict[str, str], **fields) -> Discovery:
    return discover_roots(Trees(old, new, **fields), Reading("acme/infra"))


BASE = {
    "README.md": "hello",
    "live/app/main.tf": USES_NETWORK,
    "live/db/main.tf": "# nothing used",
    "live/db/prod.tfvars": "a = 1",
    "live/db/policies/deny.json": "{}",
    "modules/network/main.tf": 'module "subnet" {\n  source = "../subnet"\n}\n',
    "modules/subnet/main.tf": "# a module that a module uses",
}


def after(**changes: str | None) -> dict[str, str]:
    """Return BASE with files replaced; ``__`` stands for ``/`` and ``_dot_`` for a dot; None removes."""
    renamed = {key.replace("__", "/").replace("_dot_", "."): text for key, text in changes.items()}
    return {path: text for path, text in {**BASE, **renamed}.items() if text is not None}
