"""``python -m soak.mutation [--only TEXT]``: every mutant is found, or the exit code is 1. It works in copies.

A mutant is found by a soak that stops at the first broken rule.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from soak.mutants import MUTANTS, DoesNotApply, Mutant
from soak.verdict import BROKEN

TOP = Path(__file__).parents[1]
#: Seconds within which a mutant has to be found, of work and trouble and of coming to rest.
_LONGEST = 600
#: Seconds in which nothing moves in a soak of a mutant: what was lost does not come any more.
_IDLE_LIMIT = 60
#: How a soak begins to tell of a broken rule.
_FOUND = re.compile(r"[0-9]+\. rule (.+?)(?: [a-z]+-[0-9]+)?\s*(?:[0-9a-f]{7})?\s*$")


def main(arguments: list[str]) -> int:
    """Try all mutants that are asked for; print what found each and after how many seconds."""
    parser = argparse.ArgumentParser(prog="python -m soak.mutation")
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--seed", type=int, default=1, help="seed of the soaks (default 1)")
    given = parser.parse_args(arguments)
    missed = []
    for mutant in (each for each in MUTANTS if given.only in each.name):
        began = time.monotonic()
        try:
            found = _try(mutant, given.seed)
        except DoesNotApply as error:
            found = ""
            _say(f"does not apply: {error}")
        _say(
            f"{'found ' if found else 'MISSED'} {time.monotonic() - began:4.0f} s  rule {mutant.name}: {found}".rstrip(
                ": "
            )
        )
        missed += [] if found else [mutant]
    _say(f"{len(missed)} missed")
    return 1 if missed else 0


def _try(mutant: Mutant, seed: int) -> str:
    """Return what found a mutant, nothing if that was nothing."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as directory:
        tree = Path(directory, "tree")
        copy_tree(tree)
        mutant.apply(tree)
        return _soaked(mutant, tree, seed)


def copy_tree(place: Path) -> None:
    """Copy all files of the project that git knows, as they are now, and nothing else."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=TOP, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in (each for each in names if each and (TOP / each).is_file()):
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((TOP / name).read_bytes())
        target.chmod((TOP / name).stat().st_mode)


def _soaked(mutant: Mutant, tree: Path, seed: int) -> str:
    focus = [word for event in mutant.focus for word in ("--focus", event)]
    figures = {"minutes": mutant.minutes, "roots": mutant.roots, "idle-limit": _IDLE_LIMIT, "seed": seed}
    options = [word for name, figure in figures.items() for word in (f"--{name}", str(figure))]
    try:
        done = _run(["-m", "soak", "--stop-at-first", *options, *focus], tree)
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode not in {0, BROKEN}:
        raise DoesNotApply(f"{mutant.name}: the soak exited with code {done.returncode}:\n{done.stderr[-2000:]}")
    rules = {found.group(1): None for line in done.stdout.splitlines() if (found := _FOUND.match(line))}
    return (", ".join(rules) or "work that never ended") if done.returncode == BROKEN else ""


def _run(arguments: list[str], tree: Path) -> subprocess.CompletedProcess[str]:
    """Run this Python with a copy's code in place of the project's."""
    path = os.pathsep.join((str(tree), str(tree / "layers" / "core" / "python")))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(tree / "build" / "pycache")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
