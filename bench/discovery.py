"""Which roots does this commit change: against git's own answer for files, warm and cold, in small and in large.

The repository is generated: three files for each root, one stack for each fifty, which follow each other, and in each
of them every root depends on the one before. What is compared runs on commits that are there: nothing is fetched.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.lines import Line, medians, noise, paired
from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots
from tidegate.ports import PushedTrees
from tidegate.vcs.git.trees import trees_in

FEW, MANY = 1_000, 10_000
_QUICK_FEW, _QUICK_MANY = 100, 1_000
WARM_RATIO, COLD_RATIO = 5.0, 3.0
_WARM_RUNS, _COLD_RUNS = 21, 5
_ROOTS_OF_A_STACK = 50
_READING = Reading("bench/discovery")


def run(*, quick: bool) -> Iterator[Line]:
    """Yield the warm and the cold figure of the large repository, and how both grow from the small one."""
    warm_runs, cold_runs = (1, 1) if quick else (_WARM_RUNS, _COLD_RUNS)
    fewer, roots = (_QUICK_FEW, _QUICK_MANY) if quick else (FEW, MANY)
    line = partial(_line, roots)
    with generated(fewer) as few, generated(roots) as many:
        small, large = _Discoverer(few), _Discoverer(many)
        grown = roots / fewer
        warm = paired(large.warm, lambda: many.seconds("diff", "--name-only", *many.commits), warm_runs)
        yield line("discovery_warm", warm, WARM_RATIO)
        cold = paired(large.cold, lambda: many.seconds("ls-tree", "-r", "-z", many.commits[1]), cold_runs)
        yield line("discovery_cold", cold, COLD_RATIO)
        yield line("discovery_warm_grows", paired(large.warm, lambda: small.warm() * grown, warm_runs), 1.2)
        yield line("discovery_cold_grows", paired(large.cold, lambda: small.cold() * grown, cold_runs), 1.2)


def _line(roots: int, name: str, pairs: list[tuple[float, float]], target: float) -> Line:
    return Line(name, *medians(pairs), target=target, more={**noise(pairs), "roots": roots})


@dataclass(frozen=True)
class Generated:
    """A repository in ``home``/repository.git, and its two commits: the second changes one file of the first root."""

    home: Path
    commits: tuple[str, str]

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        directory = self.home / "repository.git"
        return subprocess.run(["git", *arguments], cwd=directory, input=stdin, check=True, capture_output=True).stdout

    def seconds(self, *arguments: str) -> float:
        return _seconds(lambda: self.git(*arguments))

    def trees(self) -> PushedTrees:
        return trees_in(self.home, f"file://{self.home}/repository.git", *self.commits)


@contextmanager
def generated(roots: int) -> Iterator[Generated]:
    """Make a repository that lives as long as the context."""
    with tempfile.TemporaryDirectory(prefix="discovery-") as directory:
        home = Path(directory)
        (home / "repository.git").mkdir()
        empty = Generated(home, ("", ""))
        empty.git("init", "--bare", "--quiet")
        empty.git("fast-import", "--quiet", stdin=b"".join(_imported(roots)))
        empty.git("gc", "--quiet")
        before, after = empty.git("rev-parse", "main~1", "main").decode().split()
        yield Generated(home, (before, after))


def _imported(roots: int) -> Iterator[bytes]:
    """Yield what ``git fast-import`` makes both commits of."""
    yield b"commit refs/heads/main\ncommitter x <x@example.org> 0 +0000\ndata 2\n1\n"
    for number in range(roots):
        for name in ("main.tf", "variables.tf", "terraform.tfvars"):
            yield _file(f"{_directory(number, roots)}/{name}", f"# {name} of {number}\n")
    yield _file("tidegate.yaml", _configuration(roots))
    yield b"commit refs/heads/main\ncommitter x <x@example.org> 1 +0000\ndata 2\n2\n"
    yield _file(f"{_directory(0, roots)}/main.tf", "# changed\n")


def _file(path: str, content: str) -> bytes:
    return f"M 100644 inline {path}\ndata {len(content)}\n{content}\n".encode()


def _directory(number: int, roots: int) -> str:
    return f"live/s{number % (roots // _ROOTS_OF_A_STACK):03}/r{number:05}"


def _configuration(roots: int) -> str:
    stacks = roots // _ROOTS_OF_A_STACK
    lines = ["version: 1", "dirs:"]
    for number in range(roots):
        depends = (
            "" if number < stacks else f", when_modified: {{depends_on: 'dir:{_directory(number - stacks, roots)}'}}"
        )
        lines.append(f"  {_directory(number, roots)}: {{tags: [s{number % stacks:03}]{depends}}}")
    lines += ["stacks:", "  names:"]
    for stack in range(stacks):
        lines += [f"    s{stack:03}:", f"      tag_query: s{stack:03}"]
        lines += [f"      on_change: {{can_apply_after: [s{stack - 1:03}]}}"] if stack else []
    return "\n".join(lines) + "\n"


class _Discoverer:
    """Discovers one commit many times, and sees that it finds the changed root and all that depend on it."""

    def __init__(self, repository: Generated) -> None:
        self._repository = repository
        before, _ = repository.commits
        first = trees_in(repository.home, f"file://{repository.home}/repository.git", "0" * 40, before)
        self._known = _found(discover_roots(first, _READING), None).index

    def warm(self) -> float:
        """Return the seconds that it takes with what is known of the commit before."""

        def discover() -> Discovery:
            return discover_roots(self._repository.trees(), _READING, known=self._known)

        return _seconds(lambda: _found(discover(), _ROOTS_OF_A_STACK))

    def cold(self) -> float:
        """Return the seconds that it takes with nothing but the commits."""
        return _seconds(lambda: _found(discover_roots(self._repository.trees(), _READING), _ROOTS_OF_A_STACK))


def _found(discovery: Discovery, members: int | None) -> Discovery:
    if members is not None and len(discovery.members) != members:
        raise RuntimeError(f"discovered {len(discovery.members)} roots, expected {members}")
    return discovery


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
