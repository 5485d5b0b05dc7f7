"""Commits as discovery sees them: their files, and what changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from tidegate.ports import FileChange
from tidegate.usecases.discovery.discover_roots import Discovery, Reading, discover_roots

USES_NETWORK = 'module "network" {\n  source = "../../modules/network"\n}\n'
BACKEND = 'terraform {\n  backend "s3" {}\n}\n'


@dataclass
class Trees:
    """The port PushedTrees on two mappings of paths to contents."""

    old: dict[str, str]
    new: dict[str, str]
    before_is_known: bool = True
    requests: list[set[str]] = field(default_factory=list)

    @property
    def files(self):
        return {path: blob(text) for path, text in self.new.items()}

    @property
    def changes(self):
        old = self.old if self.before_is_known else {}
        paths = sorted(path for path in old.keys() | self.new.keys() if old.get(path) != self.new.get(path))
        return [FileChange(path, blob(old.get(path)), blob(self.new.get(path))) for path in paths]

    def read(self, contents):
        self.requests.append(set(contents))
        known = {blob(text): text.encode() for text in [*self.old.values(), *self.new.values()]}
        return {name: known[name] for name in contents}


def blob(text: str | None) -> str | None:
    return None if text is None else hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


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
