"""Find a program that builds the images of a deploy, and check its target architecture."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from os import defpath
from pathlib import Path

from tidegate_cli.doctor.result import Result
from tidegate_cli.harmless import plain

#: A daemon that answers does so at once; one in a machine that sleeps may need a few seconds.
_BUILDER_SECONDS = 10
#: The base image may have to be pulled first.
_RUN_SECONDS = 180
_BUILDERS = ("docker", "podman", "finch")
#: What builders and ``uname`` call the machines that ``architecture`` in cdk.json names.
MACHINES = {"arm64": ("linux/arm64", "aarch64"), "x86_64": ("linux/amd64", "x86_64")}
#: How builders end when they could not start a container at all, such as when its image cannot be pulled.
_NOT_STARTED = 125
_BASE = re.compile(r"^ARG PYTHON=(\S+)$", re.MULTILINE)


def find_builder(environ: Mapping[str, str]) -> tuple[str, Result]:
    """Look for a program that builds images and whose daemon or machine answers. Return its path, empty without one."""
    wanted = environ.get("CDK_DOCKER")
    silent = ""
    for program in [wanted] if wanted else _BUILDERS:
        path = shutil.which(program, path=environ.get("PATH", defpath))
        if path is None:
            continue
        problem = _problem(path, environ)
        if not problem:
            hint = "" if wanted or program == "docker" else f"Set CDK_DOCKER={program}."
            return path, Result("container builder", "ok", f"{program} builds images.", hint)
        silent = silent or f"{program} is on PATH, but cannot build: {problem}"
    start = "Start its daemon or machine (docker: Docker itself; podman machine start; finch vm start)."
    install = "Install one: the runner and root discovery are images. Set CDK_DOCKER when it is not docker."
    missing = f"{wanted} is not on PATH." if wanted else f"None of {', '.join(_BUILDERS)} is on PATH."
    return "", Result("container builder", "fail", silent or missing, start if silent else install)


def base_image(dockerfile: Path) -> str:
    """Return the image that the runner's is built on, which a deploy needs in any case; empty if it is not known."""
    found = _BASE.search(dockerfile.read_text(encoding="utf-8")) if dockerfile.is_file() else None
    return found[1] if found else ""


def try_architecture(builder: str, environ: Mapping[str, str], architecture: str, image: str) -> Result:
    """Run a container of the architecture that is deployed: on another machine, it needs emulation."""
    check = f"images for {architecture}"
    if architecture not in MACHINES:
        return Result(check, "fail", "There is no such architecture.", f"Set it to {' or '.join(MACHINES)}.")
    platform, machine = MACHINES[architecture]
    arguments = [builder, "run", "--rm", "--platform", platform, "--entrypoint", "uname", image, "-m"]
    try:
        done = _run(arguments, environ, _RUN_SECONDS)
    except (subprocess.TimeoutExpired, OSError) as error:
        return Result(check, "warn", f"No container was tried ({type(error).__name__}).", "Run the command again.")
    if done.returncode == _NOT_STARTED:
        return Result(
            check, "warn", f"No container was started: {_last(done)}", "Check that this machine can pull images."
        )
    if done.returncode == 0 and done.stdout.decode("utf-8", "replace").strip() == machine:
        return Result(check, "ok", f"A container for {platform} runs.")
    other = next(name for name in MACHINES if name != architecture)
    do = (
        f"Install emulation, such as with `docker run --privileged --rm tonistiigi/binfmt --install {platform[6:]}`, "
        f"deploy from a machine of that kind, or set `architecture` to {other} in cdk.json."
    )
    return Result(check, "fail", f"A container for {platform} does not run here: {_last(done)}", do)


def _problem(path: str, environ: Mapping[str, str]) -> str:
    """Return why a program cannot build images now; nothing when it can: ``info`` asks its daemon."""
    try:
        done = _run([path, "info"], environ, _BUILDER_SECONDS)
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_BUILDER_SECONDS} s."
    except OSError as error:
        return f"it cannot be run ({error.strerror})."
    return "" if done.returncode == 0 else _last(done)


def _run(arguments: list[str], environ: Mapping[str, str], seconds: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        arguments, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
    )


def _last(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line that a program wrote about its trouble."""
    said = plain(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    return said[:200] or f"it ended with {done.returncode}."
