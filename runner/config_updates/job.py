"""The job of a replay: fetch what to replay, replay it, and store the commits and what became of each entry."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from runner.config_updates.replaying import replay
from runner.faults import RunnerFault, StepFailed
from runner.job import Tools
from runner.steps import REPORT_SECONDS
from runner.workspace import Git, git_environment
from tidegate.aws.client import AwsError
from tidegate.config_updates.adapters.replays import read_order, result_text
from tidegate.config_updates.rules.replay import Author, Replay, bundle_key, result_key
from tidegate.deploys.rules.job import Job, TakenJob
from tidegate.vcs.git.environment import authorization


def run_replay(tools: Tools, taken: TakenJob) -> dict[str, Any]:
    """Replay, store the bundle of the new commits, if there are any, and the result; return the job's id and the
    SHA-256 of the result.

    No engine is looked for, and no role is assumed. Raise RunnerFault and Interrupted.
    """
    job, bundle = taken.job, tools.directory / "commits.bundle"
    order = _order(tools, job)
    seconds = tools.begun + job.seconds - REPORT_SECONDS - time.monotonic()
    tools.log.say(f"replaying {len(order.entries)} entries of {job.repository} on {order.base[:12]}")
    replayed = replay(tools, _git(tools, taken), order, bundle, seconds=seconds, author=Author())
    try:
        if replayed.tip != order.base:
            with bundle.open("rb") as content:
                tools.aws.put_object(tools.settings.bucket, bundle_key(job.id), content)
        digest = tools.aws.put_object(
            tools.settings.bucket, result_key(job.id), result_text(replayed), "application/json"
        )
    except (AwsError, OSError) as error:
        raise RunnerFault(f"The new commits cannot be stored: {error}. Nothing was pushed.") from error
    return {"job": job.id, "result": digest}


def _order(tools: Tools, job: Job) -> Replay:
    """Return what to replay. Raise RunnerFault if it is not what the job was made for."""
    if job.replay is None:
        raise RunnerFault(f"The job {job.id} does not say what to replay.")
    content = io.BytesIO()
    try:
        digest = tools.aws.get_object(tools.settings.bucket, job.replay.key, content)
    except AwsError as error:
        raise RunnerFault(f"{job.replay.key} cannot be read: {error}.") from error
    if digest != job.replay.sha256:
        raise RunnerFault(f"{job.replay.key} was changed after the job was created. Nothing was run.")
    return read_order(content.getvalue())


def _git(tools: Tools, taken: TakenJob) -> Git:
    """Return git with the token to read. No process of it takes longer than a command may."""
    job = taken.job
    if taken.clone_token:
        tools.log.masker.add([taken.clone_token, authorization(taken.clone_token)])

    def run(argv: list[str], cwd: Path, environ: Mapping[str, str], output: IO[bytes] | None) -> int:
        # A command can leave files that git needs hours for.
        capture = partial(_write, output) if output else None
        try:
            code = tools.processes.run_program(argv, cwd, environ, tools.settings.program_seconds, capture)
        except StepFailed as fault:
            raise StepFailed(f"git {argv[3]} {fault}.") from fault
        finally:
            tools.log.end_line()
        tools.interruption.check()
        return code

    environ = git_environment(tools.environ, tools.directory, job, taken.clone_token)
    return Git(run, environ, tools.directory / "store", job.clone_url)


def _write(file: IO[bytes], content: bytes) -> None:
    file.write(content)
