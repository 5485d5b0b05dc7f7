"""Images are built on base images by digest: what a tag means changes without a commit."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
#: Base images by tag, each with the reason.
BY_TAG = {
    "public.ecr.aws/lambda/python:3.13": "Lambda's own runtime, which AWS patches under its tag. A pinned one would "
    "have no patches of its operating system until somebody notices: make base-images tells the digest of today.",
}
_PINNED = re.compile(r"[a-z0-9./:_-]+@sha256:[0-9a-f]{64}")
_BASE = re.compile(r"^(?:FROM|COPY\s+--from=)\s*(\S+)(?:\s+AS\s+(\S+))?", re.MULTILINE | re.IGNORECASE)
_ARGUMENT = re.compile(r"^ARG\s+(\w+)=(\S+)", re.MULTILINE)


def bases(dockerfile: str) -> list[str]:
    """Return the images that a Dockerfile takes files from, without its own stages."""
    arguments = dict(_ARGUMENT.findall(dockerfile))
    found = _BASE.findall(re.sub(r"COPY\s+--from=(\S+).*", r"COPY --from=\1", dockerfile))
    stages = {stage for _, stage in found}
    names = [re.sub(r"\$\{(\w+)\}", lambda each: arguments[each[1]], name) for name, _ in found]
    return [name for name in names if name not in stages]


def test_every_base_image_is_named_by_its_digest():
    files = [file for place in ("functions", "runner") for file in (TOP / place).rglob("Dockerfile*")]
    named = {name for file in files for name in bases(file.read_text(encoding="utf-8"))}
    assert {name for name in named if not _PINNED.fullmatch(name)} == set(BY_TAG)


def test_an_image_without_a_digest_is_seen_wherever_it_stands():
    text = "ARG A=x:1\nFROM ${A} AS one\nFROM y@sha256:0\nCOPY --from=one /a /b\nCOPY --from=z:latest /a /b\n"
    assert bases(text) == ["x:1", "y@sha256:0", "z:latest"]


def test_what_installs_everything_is_installed_by_hash():
    lines = (TOP / ".ci/uv.txt").read_text(encoding="utf-8").splitlines()
    version = re.search(r'"uv==([\d.]+)"', (TOP / "pyproject.toml").read_text(encoding="utf-8"))
    assert version
    assert lines[0] == f"uv=={version[1]} \\"
    assert all(line.startswith("    --hash=sha256:") for line in lines[1:])
