"""The engine's commands, in the root's directory."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.faults import EngineFailed
from runner.process import ProcessRunner
from tidegate.roots.rules.root import EngineName

LOCK_FILE = ".terraform.lock.hcl"
ERRORED_STATE = "errored.tfstate"
#: How long the engine waits for a state lock of somebody else, such as a person.
LOCK_TIMEOUT = "60s"


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine's program in one root's directory. Each command raises EngineFailed, or Interrupted."""

    name: EngineName
    program: Path
    root: Path
    environ: Mapping[str, str]
    processes: ProcessRunner

    def init(self, more_environ: Mapping[str, str], extra: Sequence[str] = (), *, readonly: bool) -> None:
        """Install modules and providers and configure the backend. ``more_environ`` lets git read private modules."""
        options = ["-lockfile=readonly"] if readonly else []
        self._command(["init", *extra, "-input=false", "-no-color", *options], {**self.environ, **more_environ})

    def get(self, more_environ: Mapping[str, str]) -> None:
        """Install modules, and nothing else: no provider, no backend."""
        self._command(["get", "-no-color"], {**self.environ, **more_environ})

    def select_workspace(self, workspace: str, *, create: bool = True) -> None:
        """Select a workspace; create a missing one if ``create`` is set: that writes to the backend."""
        options = ["-or-create=true"] if create else []
        self._command(["workspace", "select", *options, "--", workspace])

    def plan(self, file: Path, extra: Sequence[str] = (), *, lock: bool = True, destroy: bool = False) -> None:
        """Plan into ``file``; with ``destroy``, the destruction of everything in the state.

        The engine uses the last of repeated options: the runner's own.

        Without ``lock`` nothing is written to the backend, and concurrent changes may be missed.
        """
        options = [*([] if lock else ["-lock=false"]), *(["-destroy"] if destroy else [])]
        timeout = f"-lock-timeout={LOCK_TIMEOUT}"
        self._command(["plan", timeout, *extra, "-input=false", "-no-color", *options, f"-out={file}"])

    def show_json(self, file: Path, target: Path) -> None:
        """Write the plan's JSON form to ``target``."""
        with target.open("wb") as output:
            argv = [str(self.program), "show", "-json", "-no-color", str(file)]
            self._judge("show", self.processes.run(argv, self.root, self.environ, output))

    def apply(self, file: Path, extra: Sequence[str] = ()) -> None:
        self._command(["apply", f"-lock-timeout={LOCK_TIMEOUT}", *extra, "-input=false", "-no-color", str(file)])

    def _command(self, arguments: list[str], environ: Mapping[str, str] | None = None) -> None:
        code = self.processes.run([str(self.program), *arguments], self.root, environ or self.environ)
        self._judge(arguments[0], code)

    def _judge(self, command: str, code: int) -> None:
        if code > 0:
            failed = EngineFailed(f"{self.name} {command} failed with exit code {code}.")
            failed.command = command
            raise failed
        if code < 0:
            killed = EngineFailed(f"{self.name} {command} was killed by {signal.Signals(-code).name}.")
            killed.was_killed = True
            raise killed


def keeps_state(root: Path) -> bool:
    """Tell, after ``init``, whether the root's state outlives this directory: in a backend, or at an absolute path."""
    chosen = root / ".terraform" / "terraform.tfstate"
    if not chosen.is_file():
        return False
    backend = json.loads(chosen.read_bytes()).get("backend") or {}
    if backend.get("type") != "local":
        return bool(backend)
    return Path((backend.get("config") or {}).get("path") or "").is_absolute()


def provider_links(root: Path) -> dict[str, str] | None:
    """Return where ``init`` linked the providers to; None if ``init`` did more than that.

    With links only (a mirror or a plugin cache on disk), another job on the same image can make the same links instead
    of running ``init`` again. The engine itself checks the providers against the lock file.
    """
    data = root / ".terraform"
    if _has_installed_modules(data):
        return None
    links: dict[str, str] = {}
    for directory, folders, files in os.walk(data / "providers"):
        if files:
            return None
        for folder in folders:
            place = Path(directory) / folder
            if place.is_symlink():
                links[str(place.relative_to(data))] = str(place.readlink())
    return links


def _has_installed_modules(data: Path) -> bool:
    manifest = data / "modules" / "modules.json"
    if not manifest.is_file():
        return False
    modules = json.loads(manifest.read_bytes()).get("Modules", [])
    return any(module.get("Dir", "").startswith(".terraform/") for module in modules)


def link_providers(root: Path, links: Mapping[str, str]) -> bool:
    """Create the links. Return False, having created none, if a target is missing."""
    data = root / ".terraform"
    places = {data / place: Path(target) for place, target in links.items()}
    if not all(_is_provider_place(place) for place in links) or not all(map(Path.is_dir, places.values())):
        return False
    for place, target in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target, target_is_directory=True)
    return True


def _is_provider_place(place: str) -> bool:
    parts = Path(place).parts
    return parts[:1] == ("providers",) and len(parts) == 6 and ".." not in parts  # noqa: PLR2004  # providers, and five below
