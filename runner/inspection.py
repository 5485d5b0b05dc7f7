"""Inspect the files of a pull request's root before the engine runs, and the modules that it fetched.

``tidegate.pull_requests.rules.untrusted_code`` decides what a file may contain; this module finds the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runner.faults import CodeRefused
from runner.workspace import place_in
from tidegate.pull_requests.rules.allowed_code import NOTHING_ALLOWS, Allowed, Finding
from tidegate.pull_requests.rules.untrusted_code import Examined, examine

_SUFFIXES = (".tf", ".tf.json", ".tofu", ".tofu.json")
#: Paths in the root's directory that the engine would take for its own installation, including programs.
_INSTALLED = (".terraform", "terraform.d")
#: Larger than any file that a person or a generator writes; a larger one is not read, and so not planned.
_LARGEST = 5 * 1024 * 1024
_MOST_DIRECTORIES = 1_000
_TOLD = 10


class Inspection:
    """Inspects the root in ``root`` of the repository in ``top``. Each method raises CodeRefused."""

    def __init__(self, top: Path, root: Path, allowed: Allowed) -> None:
        self._top, self._root, self._allowed = top.resolve(), root, allowed
        self._told: list[str] = []

    def files(self) -> bool:
        """Inspect the root and the repository's modules that it uses; tell whether it uses modules."""
        self._told = [
            (
                f"{self._name(self._root / name)}: a repository may not contain files that the engine installs. "
                "Delete it."
            )
            for name in _INSTALLED
            if (self._root / name).exists() or (self._root / name).is_symlink()
        ]
        found = list(self._directories([self._root]))
        self._judge()
        return any(each.uses_modules for each in found)

    def settings(self, options: Sequence[str]) -> None:
        """Inspect the repository's files in options of ``init``. Others are the runner's own."""
        self._told = []
        for option in options:
            name, _, value = option.lstrip("-").partition("=")
            if name == "backend-config" and "=" not in value and not Path(value).is_absolute():
                self._file(self._root / value)
        self._judge()

    def modules(self) -> None:
        """Inspect all modules that the engine has installed, from any source."""
        manifest = self._root / ".terraform" / "modules" / "modules.json"
        if not manifest.is_file():
            return
        self._told = []
        modules = json.loads(manifest.read_bytes()).get("Modules", [])
        for source in sorted({module.get("Source", "") for module in modules}):
            if source and not source.startswith(("./", "../")):
                self._tell(manifest, [self._allowed.refused_module(source)])
        list(self._directories(self._root / module.get("Dir", ".") for module in modules))
        self._judge()

    def providers(self) -> None:
        """Check which providers the engine has installed: it has started none of them so far."""
        self._told = []
        installed = self._root / ".terraform" / "providers"
        for place in sorted(installed.glob("*/*/*")):
            self._tell(self._root, [self._allowed.refused_provider(place.relative_to(installed).as_posix())])
        self._judge()

    def _directories(self, begin: Iterable[Path]) -> Iterator[Examined]:
        """Examine directories and the local modules that they use, each once."""
        waiting, seen = list(begin), set[Path]()
        while waiting:
            directory = self._place(waiting.pop())
            if directory is None or directory in seen:
                continue
            seen.add(directory)
            if len(seen) > _MOST_DIRECTORIES:
                self._told.append(f"there are more than {_MOST_DIRECTORIES} modules, which is the limit.")
                return
            for file in _configuration(directory):
                examined = self._file(file)
                waiting.extend(directory / source for source in examined.local_modules)
                yield examined

    def _place(self, path: Path) -> Path | None:
        """Return where a path leads; None, and refuse it, if that is outside of the repository."""
        place = place_in(self._top, path)
        if place is None:
            self._told.append(f"{self._name(path)}: this points outside of the repository. {NOTHING_ALLOWS}")
        return place

    def _file(self, file: Path) -> Examined:
        if self._place(file) is None or not file.is_file():
            return Examined()
        if file.stat().st_size > _LARGEST:
            self._told.append(f"{self._name(file)}: the file is too large to check.")
            return Examined()
        examined = examine(file.name, file.read_bytes(), self._allowed)
        self._tell(file, examined.findings)
        return examined

    def _tell(self, file: Path, findings: Iterable[Finding | None]) -> None:
        for finding in filter(None, findings):
            line = f":{finding.line}" if finding.line else ""
            self._told.append(f"{self._name(file)}{line}: {finding.what} {finding.remedy}")

    def _name(self, path: Path) -> str:
        name = os.path.relpath(path, self._top)
        return name if name.isprintable() else ascii(name)

    def _judge(self) -> None:
        told = list(dict.fromkeys(self._told))
        if not told:
            return
        more = [f"And {len(told) - _TOLD} more."] if len(told) > _TOLD else []
        raise CodeRefused("\n".join(["This is not planned before the merge:", *told[:_TOLD], *more]))


def _configuration(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(file for file in directory.iterdir() if file.name.endswith(_SUFFIXES))
