"""Find Terraform providers on this machine, so that ``init`` need not download them.

A filesystem mirror is looked for in ``TIDEGATE_PROVIDER_MIRROR``, in Terraform's implied mirror
directories, and in the places where packagers put one. If the user has a CLI configuration of their
own, it is used instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

_REGISTRY = "registry.terraform.io"
_ROOTS = ("/opt", "/usr/share", "/usr/local/share", "/usr/local/lib", "/usr/lib")


def environment(directory: Path, own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for the engine: its CLI configuration, written to ``directory`` if a mirror is found."""
    theirs = own.get("TF_CLI_CONFIG_FILE")
    if theirs and Path(theirs).is_file():
        return {"TF_CLI_CONFIG_FILE": theirs}
    mirror = find(own)
    if mirror is None:
        # One cache for all tasks: otherwise each downloads the providers again.
        cache = Path(own.get("TF_PLUGIN_CACHE_DIR") or directory / "plugins")
        cache.mkdir(parents=True, exist_ok=True)
        return {"TF_PLUGIN_CACHE_DIR": str(cache)}
    file = directory / "terraform.rc"
    file.write_text(
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n'
        f"  direct {{\n    exclude = [{_names(mirror)}]\n  }}\n}}\ndisable_checkpoint = true\n"
    )
    return {"TF_CLI_CONFIG_FILE": str(file)}


def find(own: Mapping[str, str]) -> Path | None:
    """Return the first mirror's directory, or None."""
    return next((path for path in _candidates(own) if (path / _REGISTRY).is_dir()), None)


def _candidates(own: Mapping[str, str]) -> Iterator[Path]:
    if "TIDEGATE_PROVIDER_MIRROR" in own:
        yield Path(own["TIDEGATE_PROVIDER_MIRROR"])
    home = Path(own.get("HOME", str(Path.home())))
    yield home / ".terraform.d" / "plugins"
    data = Path(own.get("XDG_DATA_HOME") or home / ".local" / "share")
    for base in (data, Path("/usr/local/share"), Path("/usr/share")):
        yield base / "terraform" / "plugins"
    if sys.platform == "darwin":
        yield home / "Library" / "Application Support" / "io.terraform" / "plugins"
    for root in _ROOTS:
        yield from _below(Path(root))


def _below(root: Path) -> Iterator[Path]:
    """Yield directories at most two levels below ``root``."""
    try:
        children = sorted(Path(entry.path) for entry in os.scandir(root) if entry.is_dir())
    except OSError:
        return
    yield from children
    if root == Path("/opt"):
        for child in children:
            yield from _below(child)


def _names(mirror: Path) -> str:
    """Return the mirrored providers, quoted: whatever else is needed comes from its registry."""
    registry = mirror / _REGISTRY
    names = [f"{_REGISTRY}/{path.parent.name}/{path.name}" for path in registry.glob("*/*") if path.is_dir()]
    return ", ".join(f'"{name}"' for name in sorted(names))
