"""Find the engine: on PATH if its version fits, otherwise in the cache or at the vendor's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.faults import EngineMissing, RunnerFault
from runner.settings import Settings
from tidegate.roots.rules.root import EngineName

#: The oldest version that is used from PATH without a pin: the first with the S3 backend's own lock file.
FLOOR = (1, 10, 0)
_VERSION_SECONDS = 30


@dataclass(frozen=True, slots=True)
class InstalledEngine:
    """An engine's program and its exact version."""

    program: Path
    version: str


def find_engine(
    engine: EngineName, wanted: str | None, settings: Settings, directory: Path, environ: Mapping[str, str]
) -> InstalledEngine:
    """Return an engine of exactly the version ``wanted``; without one, any that fits. Raise RunnerFault.

    Raise EngineMissing if the vendor has no such version.

    ``directory`` receives a download when no cache is configured.
    """
    on_path = _on_path(engine, environ)
    if on_path is not None and _fits(on_path.version, wanted):
        return on_path
    version = wanted or settings.defaults[engine]
    if not version:
        raise RunnerFault(f"No usable {engine} is on PATH, and no version is pinned or configured as the default.")
    program = (settings.engine_cache or directory / "engines") / f"{engine}-{version}" / str(engine)
    if not program.is_file():
        # zipfile, urllib and others cost 50 ms to import, needlessly if the engine is there.
        from runner.release import install_release  # noqa: PLC0415  # As said above.

        try:
            install_release(engine, version, program, settings.mirror, settings.release_keys)
        except EngineMissing as error:
            if wanted is not None:
                raise
            raise RunnerFault(f"The default version is not available. {error}") from error  # The operator's to mend.
    return InstalledEngine(program, _version_of(program, environ) or version)


def _on_path(engine: EngineName, environ: Mapping[str, str]) -> InstalledEngine | None:
    program = shutil.which(str(engine), path=environ.get("PATH"))
    version = _version_of(Path(program), environ) if program else None
    return InstalledEngine(Path(program), version) if program and version else None


def _version_of(program: Path, environ: Mapping[str, str]) -> str | None:
    """Return a program's version; None if it does not answer as an engine does."""
    quiet = {"PATH": environ.get("PATH", os.defpath), "CHECKPOINT_DISABLE": "1", "HOME": os.devnull}
    try:
        result = subprocess.run(
            [str(program), "version", "-json"],
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
        version = json.loads(result.stdout)["terraform_version"]
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired):
        return None
    return str(version)


def _fits(version: str, wanted: str | None) -> bool:
    if wanted is not None:
        return version == wanted
    numbers = version.partition("-")[0].split(".")
    return all(number.isdigit() for number in numbers) and tuple(map(int, numbers)) >= FLOOR
