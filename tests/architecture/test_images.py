"""Images are built on base images by digest: what a tag means changes without a commit."""

from __future__ import annotations

import re
import subprocess
import sys
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


def test_the_runner_takes_no_module_from_where_its_engine_can_write(tmp_path: Path) -> None:
    """Its working directory is such a place; modules that it needs late would be looked for there first."""
    stages = (TOP / "runner/Dockerfile").read_text(encoding="utf-8").split("\nFROM ")
    (text,) = [each for each in stages if each.partition("\n")[0].endswith("AS plain")]
    (variables,) = re.findall(r"^ENV ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    environ = dict(re.findall(r"(PYTHON\w+)=(\S+)", variables))
    (tmp_path / "traceback.py").write_text("", encoding="utf-8")
    asking = "import sys, traceback; print(sys.flags.safe_path, sys.flags.no_user_site, traceback.__file__)"
    argv = [sys.executable, "-c", asking]
    done = subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True 1 ")
    assert str(tmp_path) not in done.stdout


def test_both_images_of_the_runner_are_that_stage_and_the_smaller_one_is_built_unless_a_target_is_named() -> None:
    text = (TOP / "runner/Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^FROM plain AS (\w+)$", text, re.MULTILINE) == ["clusters", "runner"]
    assert text.rstrip().endswith("FROM plain AS runner")


def test_what_installs_everything_is_installed_by_hash():
    lines = (TOP / ".ci/uv.txt").read_text(encoding="utf-8").splitlines()
    version = re.search(r'"uv==([\d.]+)"', (TOP / "pyproject.toml").read_text(encoding="utf-8"))
    assert version
    assert lines[0] == f"uv=={version[1]} \\"
    assert all(line.startswith("    --hash=sha256:") for line in lines[1:])
