"""`make mutants`: does a test fail when a rule, a verb or a state machine is changed? A fixed sample, one at a time.

Decision 170 says why this is no tool of others.

Unit and contract tests are collected once. A first run notes which test runs which line. Then each mutant is a fork of
the process in which one function's code is replaced; it runs the tests that run the changed line, the quickest first,
until one fails. A mutant of a state machine has its definition changed, and runs the tests that read or execute it.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import io
import os
import pickle
import resource
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from coverage import Coverage

from tests.mutants.changes import Mutant, changed, mutants, unchanged
from tests.mutants.machines import change_machine, machine_items, machine_mutants

TOP = Path(__file__).parents[2]
PACKAGE = TOP / "layers/core/python/tidegate"
#: Packages whose modules are neither rules nor verbs.
_NOT_CHANGED = frozenset({"adapters", "aws", "bootstrap", "git", "github", "gitlab", "model", "ports", "rego", "web"})
#: A mutant that loops for ever is killed: its tests need a few seconds, or as long as before and these.
_CPU_SECONDS = 20
_SECONDS_OF_WAYS = 30
_BYTES_MORE = 2 << 30
_SURVIVED, _KILLED, _BROKEN = 0, 1, 2
#: So many functions are first replaced by themselves: no test may fail for the replacing.
_CONTROLS = 5
#: What makes the sample: the same mutants for ever, and with new functions some new ones in place of old ones.
_SEED = "tidegate"
_OF_MACHINES = "tests/stepfunctions/"


@dataclass
class Measured:
    """By line (file, number) the tests that run it; by test how long it takes."""

    tests: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=dict)

    def of(self, mutant: Mutant) -> list[str]:
        found = set().union(*(self.tests.get((mutant.path, line), set()) for line in mutant.lines))
        return sorted(found, key=lambda name: (self.seconds[name], name))


class Runs:
    """A plugin of pytest: what runs in place of its loop, and whether a test has failed."""

    def __init__(self, number: int, machines: int, jobs: int, only: str) -> None:
        self.number, self.machines, self.jobs, self.only = number, machines, jobs, only
        self.failed = False
        self.verdicts: dict[str, tuple[Mutant, bool]] = {}
        self._caches: list[_lru_cache_wrapper[object]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("tests cannot be collected")
        gc.unfreeze()  # What is frozen is in no list of objects.
        functions = _functions()
        self._caches = [each for each in gc.get_objects() if isinstance(each, _lru_cache_wrapper)]
        gc.freeze()
        session.config.get_terminal_writer()._file = io.StringIO()  # Its dots say nothing.
        items = {item.nodeid: item for item in session.items}
        of_code = {name: item for name, item in items.items() if not name.startswith(_OF_MACHINES)}
        measured: Measured = _in_a_fork(lambda: self._measure(of_code)) if self.number else Measured()
        _say(f"{len(of_code)} tests run {len(measured.tests)} lines in {sum(measured.seconds.values()):.0f} s")
        machines = _first(self.machines, self.only, machine_mutants())
        sample = [*machines, *_sample(self.number, self.only, functions)]
        controls = [unchanged(mutant) for mutant in [*machines[:1], *sample[-_CONTROLS:]]]
        for mutant, survived in self._judged([*controls, *sample], functions, items, measured):
            if mutant in controls and not survived:
                raise RuntimeError(f"killed without a change: {mutant.name}")
            if mutant not in controls:
                self.verdicts[mutant.name] = mutant, survived
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def _measure(self, items: dict[str, pytest.Item]) -> Measured:
        measured = Measured()
        coverage = Coverage(data_file=None, source=[str(PACKAGE)], config_file=False, messages=False)
        coverage.start()
        for name, item in items.items():
            coverage.switch_context(name)
            began = time.process_time()
            self._run([item])
            measured.seconds[name] = time.process_time() - began
            if self.failed:
                _say(f"fails unchanged: {name}")
                self.failed = False
                measured.seconds.pop(name)
        coverage.stop()
        data = coverage.get_data()
        for file in data.measured_files():
            path = Path(file).relative_to(TOP).as_posix()
            for line, names in data.contexts_by_lineno(file).items():
                measured.tests[path, line] = {name for name in names if name in measured.seconds}
        measured.tests = {key: names for key, names in measured.tests.items() if names}
        return measured

    def _run(self, items: list[pytest.Item]) -> None:
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return

    def _judged(
        self,
        sample: list[Mutant],
        functions: dict[tuple[str, str], list[FunctionType]],
        items: dict[str, pytest.Item],
        measured: Measured,
    ) -> Iterator[tuple[Mutant, bool]]:
        running: dict[int, Mutant] = {}
        for mutant in [*sample, *[None] * self.jobs]:
            if len(running) == self.jobs or mutant is None:
                if not running:
                    return
                pid, status = os.wait()
                done, survived = running.pop(pid), status == _SURVIVED
                if os.waitstatus_to_exitcode(status) == _BROKEN:
                    raise RuntimeError(f"cannot be tried: {done.name}")
                if done.before != done.after:
                    _say(f"{'survived' if survived else 'killed  '} {done.name}: {done.before!r} -> {done.after!r}")
                yield done, survived
            if mutant is not None:
                if _is_of_a_machine(mutant):
                    change, seconds = partial(change_machine, mutant), _SECONDS_OF_WAYS
                    touching = machine_items(mutant, list(items.values()))
                else:
                    names = measured.of(mutant)
                    change, seconds = partial(_replace, mutant, functions), sum(map(measured.seconds.get, names))
                    touching = [items[name] for name in names]
                running[_fork(partial(self._try, change, touching, seconds))] = mutant

    def _try(self, change: Callable[[], None], items: list[pytest.Item], seconds: float) -> int:
        limit = int(seconds * 3) + _CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + _BYTES_MORE,) * 2)
        change()
        for cache in self._caches:
            cache.cache_clear()
        try:
            self._run(items)
        except MemoryError:  # Where pytest itself had none left.
            return _KILLED
        return _KILLED if self.failed else _SURVIVED


def _is_of_a_machine(mutant: Mutant) -> bool:
    return mutant.path.startswith("stepfunctions/")


def _replace(mutant: Mutant, functions: dict[tuple[str, str], list[FunctionType]]) -> None:
    code = _code(mutant)
    for function in functions[mutant.path, mutant.function]:
        function.__code__ = code


def _functions() -> dict[tuple[str, str], list[FunctionType]]:
    """Return every function of ours that is in memory, by file and name."""
    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(str(PACKAGE)):
            path = Path(each.__code__.co_filename).relative_to(TOP).as_posix()
            found[path, each.__code__.co_qualname].append(each)
    return found


def _sample(number: int, only: str, functions: dict[tuple[str, str], list[FunctionType]]) -> list[Mutant]:
    files = [path for path in sorted(PACKAGE.glob("*/**/*.py")) if not _NOT_CHANGED & set(path.parts)]
    every = _first(None, only, [mutant for path in files for mutant in mutants(TOP, path)])
    _say(f"{len(every)} mutants of {len(files)} files")
    sample: list[Mutant] = []
    for mutant in every:
        if len(sample) == number:
            break
        old = functions.get((mutant.path, mutant.function))
        # A function that nobody holds (overloads, or made anew each time) cannot be replaced in memory.
        if old and len(_code(mutant).co_freevars) == len(old[0].__code__.co_freevars):
            sample.append(mutant)
    return sample


def _first(number: int | None, only: str, every: list[Mutant]) -> list[Mutant]:
    wanted = [mutant for mutant in every if only in mutant.name]
    return sorted(wanted, key=lambda mutant: hashlib.sha256(f"{_SEED} {mutant.name}".encode()).digest())[:number]


def _code(mutant: Mutant) -> CodeType:
    whole = compile(changed(TOP, mutant), str(TOP / mutant.path), "exec", dont_inherit=True)
    return next(code for code in _codes(whole) if code.co_qualname == mutant.function)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _fork(work) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = _BROKEN
    told = os.dup(1)
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(silence, stream)
        status = work()
    except BaseException:  # noqa: BLE001 - the edge of the process, and nobody else would say it.
        os.write(told, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _in_a_fork(work):
    reading, writing = os.pipe()

    def told() -> int:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(work(), pipe)
        return 0

    pid = _fork(told)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pickle.load(pipe)  # noqa: S301  # It comes from this very process.
    os.waitpid(pid, 0)
    return result


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--machines", type=int, default=100, help="so many more in definitions of state machines")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--at-least", type=float, default=0, help="fail when a smaller share is killed")
    parser.add_argument("--to", type=Path, help="write the verdicts to this file")
    parser.add_argument("tests", nargs="*", default=["tests/unit", "tests/contract", _OF_MACHINES])
    asked = parser.parse_args()
    runs = Runs(asked.number, asked.machines, asked.jobs, asked.only)
    arguments = ["-qq", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=1"]
    status = pytest.main([*arguments, *asked.tests], plugins=[runs])
    if status not in {0, 5} or not runs.verdicts:
        return int(status) or 1
    lines = [f"{'survived' if survived else 'killed'} {name}" for name, (_, survived) in sorted(runs.verdicts.items())]
    if asked.to:
        asked.to.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    survivors = [mutant for mutant, survived in runs.verdicts.values() if survived]
    _say(f"\n{len(lines) - len(survivors)} killed, {len(survivors)} survived")
    for mutant in sorted(survivors, key=lambda mutant: (mutant.path, mutant.lines.start)):
        _say(f"{mutant.path}:{mutant.lines.start}: {mutant.function}: {mutant.before!r} -> {mutant.after!r}")
    return 0 if len(lines) - len(survivors) >= asked.at_least * len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
