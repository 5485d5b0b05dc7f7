"""The steps of a job, in order: the engine's own work, and programs around it."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from runner.engine import Engine
from runner.faults import Interrupted, JobFault, RunnerFault, StepFailed
from runner.job import Tools
from runner.log import error_lines
from runner.step_output import Captured, set_by
from tidegate.aws.client import AwsError
from tidegate.deploys.rules.job import Job
from tidegate.deploys.rules.workflow import RunOn, StepKind, WorkflowStep
from tidegate.deploys.rules.workflow_rules import name_problem, substituted, unknown_variable

#: Seconds of a job's time that other programs must leave for reporting the engine's result.
REPORT_SECONDS = 180
#: Output of programs before the plan, held back until its secrets are known.
STEPS = "steps"
_LONGEST_SHOWN = 200
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

#: Does one of the engine's steps, with the current engine: with all variables, and the step's own.
Act = Callable[[Engine, WorkflowStep], None]

#: Raises JobFault for a program that must not run.
Guard = Callable[[Sequence[str]], None]


class StepRunner:
    """Runs steps, with the variables of the job and of its steps. ``engine`` is the one without these."""

    def __init__(self, tools: Tools, engine: Engine, job: Job, guard: Guard = lambda _argv: None) -> None:
        """Raise StepFailed if the job has a forbidden variable."""
        self._guard = guard
        self._tools = tools
        self._engine = engine
        self._end = tools.begun + job.seconds - REPORT_SECONDS
        for name, _ in job.run.variables:
            if problem := name_problem(name):
                raise StepFailed(f"The stack's variables are invalid: {problem}.")
        self._environ = {**engine.environ, **job_variables(job), **dict(job.run.variables)}

    def know_plan(self, file: Path, more: Mapping[str, Path] | None = None) -> None:
        """Let the steps from now on know where the plan is, and ``more`` files by the names of their variables."""
        self._environ["TIDEGATE_PLAN_FILE"] = str(file)
        self._environ.update({name: str(place) for name, place in (more or {}).items()})

    def run(self, steps: Sequence[WorkflowStep], acts: Mapping[StepKind, Act]) -> JobFault | None:
        """Run the steps that are due, and return the first failure; None without one.

        Once the job must stop, nothing more is started.
        """
        failure: JobFault | None = None
        for position, step in enumerate(steps):
            if not _is_due(step, failure) or (failure and self._tools.interruption.reason):
                continue
            try:
                self._run(step, acts)
            except (JobFault, AwsError, OSError, ValueError) as error:
                failure = self._failed(step, _as_fault(error), failure, steps[position + 1 :])
        return failure

    def _failed(
        self, step: WorkflowStep, fault: JobFault, first: JobFault | None, later: Sequence[WorkflowStep]
    ) -> JobFault | None:
        """Return the first failure so far. Later output must not hide its message."""
        log = self._tools.log
        log.end_line()
        if step.ignore_errors and not isinstance(fault, Interrupted):
            log.say(f"{fault} The failure is ignored.")
            return first
        if first is not None:
            log.say(str(fault))
            return first
        if any(_is_due(each, fault) for each in later):
            log.say(str(fault))
            fault.last_lines = error_lines(log)
        return fault

    def _run(self, step: WorkflowStep, acts: Mapping[StepKind, Act]) -> None:
        self._tools.log.step_begins = self._tools.log.size
        environ = {**self._environ, **{name: self._filled(step, text) for name, text in step.env}}
        if step.kind is StepKind.RUN:
            self._program(step, environ)
        elif step.kind is StepKind.ENV:
            self._set(step, environ)
        else:
            extra = tuple(self._filled(step, word) for word in step.extra_args)
            acts[step.kind](replace(self._engine, environ=environ), replace(step, extra_args=extra))

    def _set(self, step: WorkflowStep, environ: Mapping[str, str]) -> None:
        captured = Captured()
        self._program(step, environ, captured.take)
        try:
            values = set_by(step, captured)
        except ValueError as error:
            raise StepFailed(f"{_name(step)} is invalid: {error}.") from error
        log = self._tools.log
        if step.sensitive:
            log.masker.add(values.values())
        self._environ.update(values)
        log.say(f"set {', '.join(sorted(values)) or 'nothing'}")

    def _program(
        self, step: WorkflowStep, environ: Mapping[str, str], capture: Callable[[bytes], None] | None = None
    ) -> None:
        tools = self._tools
        argv = [self._filled(step, word, environ) for word in step.command]
        tools.log.say(f"{step.kind}: {_shown(step)}")
        self._guard(argv)
        if tools.log.awaits_secrets:
            tools.log.hold(STEPS, title=f"{step.kind}: {_shown(step)} printed:")
        try:
            self._run_program(step, argv, environ, capture)
        except BaseException:
            tools.log.release(STEPS)  # Its author must see it, and no more secrets will become known.
            raise
        tools.log.pause()

    def _run_program(
        self,
        step: WorkflowStep,
        argv: list[str],
        environ: Mapping[str, str],
        capture: Callable[[bytes], None] | None,
    ) -> None:
        tools = self._tools
        try:
            code = tools.processes.run_program(argv, self._engine.root, environ, self._seconds(step), capture)
        except StepFailed as fault:
            raise StepFailed(f"{_name(step)} {fault}.") from fault
        except (OSError, ValueError) as error:
            raise StepFailed(f"{_name(step)} failed to start: {error}.") from error
        tools.log.end_line()
        tools.interruption.check()
        if code < 0:
            raise StepFailed(f"{_name(step)} was killed by {signal.Signals(-code).name}.")
        if code > 0:
            raise StepFailed(f"{_name(step)} failed with exit code {code}.")

    def _seconds(self, step: WorkflowStep) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise StepFailed(f"{_name(step)} did not run: the job reached its time limit.")
        return min(left, self._tools.settings.program_seconds)

    def _filled(self, step: WorkflowStep, text: str, environ: Mapping[str, str] | None = None) -> str:
        values = self._environ if environ is None else environ
        missing = unknown_variable(text, values)
        if missing is not None:
            raise StepFailed(
                f"{_name(step)} uses ${{{missing}}}, which is not set. Set it with an env step before it, or as a "
                f"variable of the stack. Write $$ for a literal $."
            )
        return substituted(text, values)


def job_variables(job: Job) -> dict[str, str]:
    """Return the variables about the job for every program, including the engine."""
    return {
        "TIDEGATE_ENVIRONMENT": job.run.environment,
        "TIDEGATE_STACK": job.stack,
        "TIDEGATE_ROOT": job.root.name,
        "TIDEGATE_DIR": job.root.dir,
        "TIDEGATE_WORKSPACE": job.root.workspace,
        "TIDEGATE_REPOSITORY": job.repository,
        "TIDEGATE_REVISION": job.sha,
        "TIDEGATE_JOB": job.id,
    }


def _as_fault(error: Exception) -> JobFault:
    return error if isinstance(error, JobFault) else RunnerFault(f"The runner failed: {type(error).__name__}: {error}")


def _is_due(step: WorkflowStep, failure: JobFault | None) -> bool:
    if step.kind not in {StepKind.RUN, StepKind.ENV}:
        return failure is None
    return step.run_on is RunOn.ALWAYS or (step.run_on is RunOn.FAILURE) == (failure is not None)


def _name(step: WorkflowStep) -> str:
    return f"The step {step.kind} ({_shown(step)})" if step.command else f"The step {step.kind}"


def _shown(step: WorkflowStep) -> str:
    """Return a step's command in one line, as configured: filled-in values may be secret."""
    text = " ".join(step.command)
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return _UNPRINTABLE.sub(lambda match: repr(match[0])[1:-1], shown)
