"""A speculative plan: a pull request's merge result, planned without running the pull request's own code.

It is a restricted plan job: nothing is locked or written, no workspace is created, and the root's files are inspected
for programs and remote code before the engine reads them (docs/security.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.engine import LOCK_FILE, Engine
from runner.faults import CodeRefused, EngineFailed, StepFailed, WorkspaceMissing
from runner.inspection import Inspection
from runner.job import Preparation, Tools
from runner.log import last_lines
from runner.merging import changed_files, file_of
from runner.plan_job import Planning
from runner.steps import StepRunner
from runner.submodules import with_files_of_submodules
from runner.workspace import Git, links_on, other_addresses, place_in
from tidegate.deploys.rules.job import Job, TakenJob
from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.deploys.rules.workflow_rules import plan_problem
from tidegate.pull_requests.rules.allowed_code import Allowed, engine_problem, patterns_of
from tidegate.pull_requests.rules.untrusted_code import locked_providers

#: What a step's command may name without running it.
_DATA = (".hcl", ".json", ".md", ".tf", ".tfvars", ".tofu", ".txt", ".yaml", ".yml")

#: Where Python searches for imports, and which files it loads; the options that exclude its own directory.
_PYTHON, _IMPORTED = ".py", (".py", ".pyc", ".so")
_ISOLATED = re.compile(r"-[A-HJ-OQ-Za-z]*[IP][A-Za-z]*")


def run_speculative_plan(tools: Tools, preparation: Preparation, taken: TakenJob) -> dict[str, Any]:
    """Run the steps of a plan for a pull request; return the plan for the state machine. Raise JobFault."""
    job = taken.job
    if problem := plan_problem(job.run.plan):
        raise StepFailed(f"The plan steps are invalid: {problem}. Nothing was planned.")
    engine, version = preparation.engine(taken)
    # Drift detection plans the base branch's own code.
    if job.sha != job.base_sha and (problem := engine_problem(engine.name, version)):
        raise CodeRefused(f"{problem} Nothing was planned.")
    git = preparation.git(taken)
    base, place = job.base_sha, Path(job.root.dir) / LOCK_FILE
    locked = locked_providers(file_of(git, base, place.as_posix())) if base else ()
    inspection = Inspection(tools.source, engine.root, _allowed(job, locked))
    inspection.files()
    changed = changed_files(git, base) if base else frozenset()
    if job.run.clone.submodules:
        changed = with_files_of_submodules(changed, git.directory)
    guard = _Guard(git, engine, changed, tools.directory / "engine-ran")
    steps = StepRunner(tools, engine, job, guard.check)
    return _Speculating(tools, preparation, taken, version, steps, inspection=inspection, guard=guard).result()


def _allowed(job: Job, locked: Collection[str]) -> Allowed:
    """Return what the plan may use, including modules of other repositories in the default branch's configuration."""
    listed = (pattern for address in other_addresses(job) for pattern in patterns_of(address))
    return Allowed(job.allowed_providers, (*(job.allowed_modules or ()), *listed), locked)


class _Speculating(Planning):
    """The engine's steps of a speculative plan."""

    locks = False

    def __init__(
        self,
        tools: Tools,
        preparation: Preparation,
        taken: TakenJob,
        version: str,
        steps: StepRunner,
        *,
        inspection: Inspection,
        guard: _Guard,
    ) -> None:
        super().__init__(tools, preparation, taken, version, steps)
        self._inspection, self._guard = inspection, guard

    def init(self, engine: Engine, step: WorkflowStep) -> None:
        with self._guard.watching():
            self._init(engine, step)

    def make(self, engine: Engine, step: WorkflowStep) -> None:
        with self._guard.watching():
            super().make(engine, step)

    def _init(self, engine: Engine, step: WorkflowStep) -> None:
        """Initialize, inspecting everything from outside before it could run."""
        # Again: programs may have run since.
        uses_modules = self._inspection.files()
        self._inspection.settings(step.extra_args)
        if uses_modules:
            with self._preparation.modules_access(self._taken) as environ:
                engine.get(environ)
            self._inspection.modules()
        # Only inspected modules are used: none is fetched again.
        engine.init({}, (*step.extra_args, "-get=false"), readonly=False)
        self._inspection.providers()
        self.check_backend(engine)
        if self._taken.job.root.workspace != "default":
            self._select(engine, self._taken.job.root.workspace)

    def _select(self, engine: Engine, workspace: str) -> None:
        try:
            engine.select_workspace(workspace, create=False)
        except EngineFailed as fault:
            log = self._tools.log
            log.end_line()
            if "doesn't exist" not in last_lines(log.path, log.masker, count=10):
                raise
            raise WorkspaceMissing(
                f"The workspace {workspace!a} does not exist yet, and a plan before the merge creates none. Nothing "
                "was planned. The first deploy of this root creates it, after the merge."
            ) from fault


class _Guard:
    """Keeps steps from running the repository's programs as the pull request has them.

    ``clock`` is a file that it makes.
    """

    def __init__(self, git: Git, engine: Engine, changed: frozenset[str], clock: Path) -> None:
        self._git, self._top, self._root, self._changed = git, git.directory.resolve(), engine.root, changed
        self._home, self._clock, self._spans = Path(engine.environ["HOME"]), clock, list[tuple[int, int]]()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record when the engine runs: data sources write files, such as archives, that could be programs."""
        before = began = self._now()
        while began == before:  # No earlier file may have this time: file systems count milliseconds.
            began = self._now()
        try:
            yield
        finally:
            self._spans.append((began, self._now()))

    def _now(self) -> int:
        """Return the file system's time, which a program cannot choose for a file."""
        self._clock.touch()
        return self._clock.stat().st_ctime_ns

    def _is_written(self, file: Path) -> bool:
        """Tell whether a file was written while the engine ran."""
        if not os.path.isfile(file):  # noqa: PTH113  # A word of a command may be longer than any name.
            return False
        return any(began <= file.stat().st_ctime_ns <= ended for began, ended in self._spans)

    def _is_of_commit(self, file: Path) -> bool:
        return bool(self._git.ask("ls-tree", "-z", "HEAD", "--", self._name(file))[1])

    def _check_home(self) -> None:
        """Raise CodeRefused if the engine has written where programs read settings."""
        written = next((file for file in sorted(self._home.rglob("*")) if self._is_written(file)), None)
        if written is not None:
            raise CodeRefused(
                f"The step did not run, because the plan wrote {written.relative_to(self._home).as_posix()!a} into "
                "the home directory, where programs read their settings. Make sure that no data source writes there."
            )

    def check(self, argv: Sequence[str]) -> None:
        """Raise CodeRefused if a command names such a file, or could read one implicitly."""
        self._check_home()
        for word in argv:
            place = self._root / word
            if "\0" in word or place.suffix in _DATA:
                continue
            file = place_in(self._top, place)
            if any(self._is_changed(each) for each in (file, *links_on(place)) if each is not None):
                raise CodeRefused(_not_as_before(f"would run {word!a}"))
            if file is not None and self._is_written(file) and self._is_of_commit(file):
                raise CodeRefused(
                    f"The step would run {word!a}, which the plan has written: unreviewed programs do not run. "
                    "Nothing was planned. Let no data source write to files of the repository."
                )
            if file is not None and file.suffix == _PYTHON:
                self._check_imports(argv, file.parent)
        if "-m" in argv:
            self._check_imports(argv, self._root)

    def _is_changed(self, place: Path) -> bool:
        return place.is_relative_to(self._top) and self._name(place) in self._changed

    def _name(self, place: Path) -> str:
        return place.relative_to(self._top).as_posix()

    def _check_imports(self, argv: Sequence[str], directory: Path) -> None:
        """Raise CodeRefused if Python could import a changed file, because it searches this directory."""
        if any(_ISOLATED.fullmatch(word) for word in argv[1:2]):
            return
        for name in sorted(self._changed):
            file = self._top / name
            if file.is_relative_to(directory.resolve()) and (file.suffix in _IMPORTED or file.is_symlink()):
                why = _not_as_before(f"may import {name!a}")
                raise CodeRefused(f"{why} Use Python's option -I, which disables imports from there.")


def _not_as_before(what: str) -> str:
    return (
        f"The step {what}, which differs from the base branch: unreviewed programs do not run before the merge. "
        "Nothing was planned. Merge the changed programs first, then merge the base branch into this branch."
    )
