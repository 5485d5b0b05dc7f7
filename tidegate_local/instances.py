"""Running local clouds of this user: a small file for each, by which other commands find them."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

DEFAULT_PORT = 4750
"""The forge's port; the two ports after it are the HTTP API's and the AWS API's."""


#: Where this program is: the top of a checkout, or what an installer made.
_HERE = Path(__file__).resolve().parent.parent


class NotRunning(Exception):
    """No local cloud runs (on the wanted port, or of this checkout)."""


def directory() -> Path:
    """Return where the files are."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "tidegate" / "local"


def write(info: Mapping[str, Any]) -> Path:
    """Remember a running local cloud; return its file, to be removed when it ends."""
    directory().mkdir(parents=True, exist_ok=True)
    path = directory() / f"{info['pid']}.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"checkout": str(_HERE), **info}, indent=2) + "\n")
    return path


def running() -> list[dict[str, Any]]:
    """Return the information of all local clouds that run, the newest first."""
    clouds = []
    for path in sorted(directory().glob("*.json"), key=_written, reverse=True):
        try:
            info: dict[str, Any] = json.loads(path.read_text())
        except (OSError, ValueError):
            continue  # It has just ended, or is just being written.
        if is_alive(int(info["pid"])):
            clouds.append(info)
        else:
            path.unlink(missing_ok=True)
    return clouds


def of_this_checkout(clouds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the local clouds that this checkout started; all for a program that is installed outside of any."""
    if not (_HERE / "Makefile").is_file():
        return list(clouds)
    return [cloud for cloud in clouds if cloud.get("checkout") == str(_HERE)]


def find(port: int | None = None) -> dict[str, Any]:
    """Return the information of the local cloud whose forge has this port (None: this checkout's newest).

    Raise NotRunning.
    """
    clouds = running()
    for info in of_this_checkout(clouds) if port is None else clouds:
        if port is None or forge_port(info) == port:
            return info
    where = "" if port is None else f" with its forge on port {port}"
    raise NotRunning(f"No local cloud is running{where}. {elsewhere(clouds) if port is None else ''}Start one: make up")


def elsewhere(clouds: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence about the local clouds of other checkouts, empty if there are none."""
    others = [f"{cloud.get('checkout')} ({cloud['api_url']})" for cloud in clouds]
    return f"Other checkouts have one: {', '.join(others)}. " if others else ""


def forge_port(info: Mapping[str, Any]) -> int | None:
    """Return the port of a local cloud's forge, by which people choose it."""
    return urlsplit(str(info["forge_url"])).port


def ports(wanted: int | None) -> tuple[int, int, int]:
    """Return the forge's, the HTTP API's and the AWS API's port. Raise OSError when a wanted one is taken.

    Without a wish it is 4750 and the two after it, or any free ones when another local cloud has these.
    """
    first = DEFAULT_PORT if wanted is None else wanted
    chosen = (first, first + 1, first + 2)
    taken = [port for port in chosen if not _free(port)]
    if not taken:
        return chosen
    if wanted is not None:
        raise OSError(f"port {taken[0]} is in use; choose another with PORT=")
    return (0, 0, 0)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def is_alive(pid: int) -> bool:
    """Tell whether a process runs."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
