"""One job, from its dispatch to its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

from runner import memory
from runner.apply_job import run_apply
from runner.background import Background
from runner.descendants import kill_descendants
from runner.faults import EngineFailed, Interrupted, JobFault, RunnerFault
from runner.heartbeat import Heartbeat
from runner.interruption import Interruption
from runner.job import Preparation, Tools
from runner.job_record import JobRecord
from runner.lambda_limits import LambdaLimits
from runner.log import JobLog, copy_masked, error_lines, last_lines
from runner.log_store import LogSender
from runner.masking import FORMS_OF_SESSIONS, Masker
from runner.plan_job import run_plan
from runner.report import NobodyWaits, Reporter
from runner.settings import Settings
from runner.web_identity import takes_sessions
from tidegate.aws.client import Aws, AwsError
from tidegate.deploys.rules.job import JobKind, TakenJob, log_key
from tidegate.deploys.rules.runner_size import out_of_memory

#: How long an interrupted pull-request plan may run on: it locks and leaves nothing.
_SPECULATION_STOP_SECONDS = 10.0
_NOT_CLONED = (
    "The commit has submodules, which Tidegate does not clone. If a module is in one, set clone.submodules: true in "
    "the default branch's tidegate.yaml."
)


class ExitCode(IntEnum):
    """How the runner's process ends; see the package's docstring."""

    REPORTED = 0
    FAULT = 1
    UNUSABLE_SETTINGS = 2
    NOBODY_WAITS = 3
    NOT_OURS = 4
    NOT_REPORTED = 5
    STUCK = 6


def run_job(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    aws: Aws,
    name: str,
    interruption: Interruption,
    directory: Path,
) -> ExitCode:
    """Take the job, run it, store its log and report its result. Raise JobNotForUs."""
    record = JobRecord(aws, settings.table, settings.job, settings.job_digest)
    job = record.specification()
    # Logs of pods, which diagnostics collect, have tokens that the runner does not know either.
    unknown = takes_sessions(job) or job.kind is JobKind.TASK
    masker = Masker((*settings.mask_patterns, *job.run.masks, *(FORMS_OF_SESSIONS if unknown else ())))
    masker.add([settings.start_token, environ.get("AWS_SECRET_ACCESS_KEY", ""), environ.get("AWS_SESSION_TOKEN", "")])
    masker.add(environ.get(name, "") for name in settings.secret_variables)
    log = JobLog(directory / "job.log", masker)
    if job.note:
        log.say(job.note)
    tools = Tools(_for_kind(settings, job.kind), environ, aws, log, interruption, directory)
    preparation = None if job.kind is JobKind.REPLAY else Preparation(tools, job)
    taken = record.take(name, settings.dispatch_seconds, interruption)
    masker.add([taken.token])
    heartbeat = Heartbeat(aws, taken.token, settings.heartbeat_seconds, lambda: _nobody_waits(tools, taken))
    sender = LogSender(aws, settings.table, settings.job, tools.log)
    limits = LambdaLimits(interruption, settings.plan_seconds, directory) if settings.plan_seconds else None
    heartbeat.start()
    sender.start()
    if limits is not None:
        limits.start()
    try:
        outcome = _judged(_outcome(tools, preparation, taken), log, record, limits)
        # A heartbeat after the result would be refused, and mistaken for an abandoned job.
        heartbeat.stop()
        return _Ending(tools, sender, taken).report(outcome)
    finally:
        heartbeat.stop()
        if preparation:
            preparation.close()


def _judged(
    outcome: dict[str, Any] | JobFault, log: JobLog, record: JobRecord, limits: LambdaLimits | None
) -> dict[str, Any] | JobFault:
    """Return a job's result: on Lambda, a failed plan may have exceeded a limit."""
    if limits is None or not isinstance(outcome, JobFault):
        return outcome
    return limits.judged(outcome, last_lines(log.path, log.masker), record)


def _for_kind(settings: Settings, kind: JobKind) -> Settings:
    if kind is not JobKind.SPECULATE:
        return settings
    return replace(settings, stop_seconds=min(settings.stop_seconds, _SPECULATION_STOP_SECONDS))


def _nobody_waits(tools: Tools, taken: TakenJob) -> None:
    """Stop, unless the engine applies: killing an apply would leave more unknown, not less."""
    if not tools.interruption.applying:
        what = {JobKind.APPLY: "apply", JobKind.REPLAY: "replay", JobKind.TASK: "task"}.get(taken.job.kind, "plan")
        tools.interruption.request(f"This {what} was cancelled or has expired.")
    else:
        tools.log.say("this apply's execution has ended; the apply continues to its end, and its log is kept")


def _run_of(kind: JobKind) -> Callable[[Tools, Preparation, TakenJob], dict[str, Any]]:
    if kind is JobKind.SPECULATE:
        from runner.speculative_plan_job import run_speculative_plan  # noqa: PLC0415  # Deploys do not pay for its patterns.

        return run_speculative_plan
    if kind is JobKind.TASK:
        from runner.clusters.job import run_task  # noqa: PLC0415  # Only the image for clusters has what it needs.

        return run_task
    return run_plan if kind is JobKind.PLAN else run_apply


def _result(tools: Tools, preparation: Preparation | None, taken: TakenJob) -> dict[str, Any]:
    run = _run_of(taken.job.kind)
    if preparation and taken.job.run.cluster and taken.job.kind in {JobKind.PLAN, JobKind.SPECULATE}:
        from runner.clusters.planning import plan_cluster  # noqa: PLC0415  # Other roots do without it.
        from tidegate.clusters.rules.installed import USUAL, from_text, installed_registrars  # noqa: PLC0415

        settings = tools.settings
        registrars = installed_registrars(from_text(settings.cluster_hooks), settings.cluster_registrars or USUAL)
        return plan_cluster(tools, preparation, taken, run, registrars)
    if preparation is None:
        from runner.config_updates.job import run_replay  # noqa: PLC0415  # Deploys do without it.

        return run_replay(tools, taken)
    return run(tools, preparation, taken)


def _outcome(tools: Tools, preparation: Preparation | None, taken: TakenJob) -> dict[str, Any] | JobFault:
    try:
        try:
            return _result(tools, preparation, taken)
        finally:
            if not tools.interruption.left_running:
                kill_descendants()
    except EngineFailed as fault:
        reason = tools.interruption.reason
        return _interrupted(reason, fault) if reason else _explained(fault, tools, taken, preparation)
    except JobFault as fault:
        return fault
    except Exception as error:  # noqa: BLE001  # The runner's edge: whatever it is, it must be reported.
        return RunnerFault(f"The runner failed: {type(error).__name__}: {error}")


def _explained(fault: EngineFailed, tools: Tools, taken: TakenJob, preparation: Preparation | None) -> EngineFailed:
    """Return a fault with its possible cause: a module in a submodule is missing if submodules are not cloned."""
    expired = preparation.credentials_problem if preparation else ""
    if problem := _memory_problem(fault, tools, taken) or expired:
        return EngineFailed(f"{fault} {problem}")
    cloned = taken.job.run.clone.submodules or not (tools.source / ".gitmodules").is_file()
    return fault if cloned or fault.command not in {"init", "get"} else EngineFailed(f"{fault} {_NOT_CLONED}")


def _memory_problem(fault: EngineFailed, tools: Tools, taken: TakenJob) -> str:
    """Return what to do if memory was too small, else nothing. Only the kernel kills what was not interrupted."""
    return out_of_memory(taken.job.size) if fault.was_killed or memory.kills() > tools.kills else ""


def _interrupted(reason: str, fault: EngineFailed) -> Interrupted:
    """Return that the engine failed because of the interrupt. If it exited itself, it has stored its state."""
    interrupted = Interrupted(f"{reason} {fault}")
    interrupted.mark = "" if fault.was_killed else "ended"
    return interrupted


class _Ending:
    """Stores the log and reports concurrently: neither waits for the other."""

    def __init__(self, tools: Tools, sender: LogSender, taken: TakenJob) -> None:
        self._tools, self._sender, self._taken = tools, sender, taken

    def report(self, outcome: dict[str, Any] | JobFault) -> ExitCode:
        log = self._tools.log
        log.end_line()
        if isinstance(outcome, JobFault):
            log.say(str(outcome))
        storing = Background(self._store_log)
        try:
            self._answer(outcome)
            code = ExitCode.FAULT if isinstance(outcome, RunnerFault) else ExitCode.REPORTED
        except (NobodyWaits, AwsError) as error:
            log.say(f"reporting the result failed: {error}")
            code = ExitCode.NOT_REPORTED
        self._sender.finish()
        storing.result()
        log.close()
        return code

    def _answer(self, outcome: dict[str, Any] | JobFault) -> None:
        reporter, log = Reporter(self._tools.aws), self._tools.log
        if not isinstance(outcome, JobFault):
            reporter.succeed(self._taken.token, outcome)
            return
        message = log.masker.mask(str(outcome))
        lines = outcome.last_lines or error_lines(log)
        lines = log.masker.mask(lines)
        reporter.fail(self._taken.token, outcome.error, message, lines, outcome.mark)

    def _store_log(self) -> None:
        """Store the complete log, masked again: sensitive values of the plan were unknown at its start."""
        tools = self._tools
        complete = tools.directory / "complete.log"
        try:
            copy_masked(tools.log.path, complete, tools.log.masker)
            with complete.open("rb") as content:
                key = log_key(self._taken.job.id)
                tools.aws.put_object(tools.settings.bucket, key, content, "text/plain; charset=utf-8")
        except (AwsError, OSError) as error:
            tools.log.say(f"storing the log failed: {error}")
