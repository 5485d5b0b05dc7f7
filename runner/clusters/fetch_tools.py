"""Put kubectl and helm into an image: ``python -m runner.clusters.fetch_tools DIRECTORY``.

Each is compared with a digest that stands here: a version is the image's, not a cluster's (docs/decisions/0249).
"""

from __future__ import annotations

import hashlib
import io
import platform
import sys
import tarfile
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Tool:
    """A program. ``url`` has a place for the architecture; ``member`` is its path in an archive, empty without one.

    ``sha256`` are the digests of what is downloaded, by architecture.
    """

    name: str
    url: str
    sha256: Mapping[str, str]
    member: str = ""


TOOLS = (
    Tool(
        "kubectl",
        "https://dl.k8s.io/release/v1.37.1/bin/linux/{}/kubectl",
        {
            "amd64": "65691ff77eb6fa44c908b77a1082c9f092c3b9733b5cefabec0d1104890e21a8",
            "arm64": "ff749f4b78d9c4f1ec87307df9b50119ed819e2094aa9810cb9acffc3286c8c7",
        },
    ),
    Tool(
        "helm",
        "https://get.helm.sh/helm-v4.1.4-linux-{}.tar.gz",
        {
            "amd64": "70b2c30a19da4db264dfd68c8a3664e05093a361cefd89572ffb36f8abfa3d09",
            "arm64": "13d03672be289045d2ff00e4e345d61de1c6f21c1257a45955a30e8ae036d8f1",
        },
        "linux-{}/helm",
    ),
)


class DownloadAltered(Exception):
    """What was downloaded is not what was pinned."""


def fetch(tool: Tool, target: Path, architecture: str) -> None:
    """Download a program into a directory, and make it executable. Raise DownloadAltered, or OSError."""
    with urllib.request.urlopen(tool.url.format(architecture), timeout=_SECONDS) as answer:  # noqa: S310  # Pinned above.
        content: bytes = answer.read()
    digest = hashlib.sha256(content).hexdigest()
    if digest != tool.sha256[architecture]:
        raise DownloadAltered(f"{tool.url.format(architecture)} has the SHA-256 {digest}, which is not the pinned one.")
    if tool.member:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            member = archive.extractfile(tool.member.format(architecture))
            content = member.read() if member else b""
    file = target / tool.name
    file.write_bytes(content)
    file.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Download all programs. Return the exit code."""
    target = Path(arguments[0])
    target.mkdir(parents=True, exist_ok=True)
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    for tool in TOOLS:
        try:
            fetch(tool, target, architecture)
        except (DownloadAltered, OSError) as error:
            sys.stderr.write(f"tidegate: {tool.name}: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
