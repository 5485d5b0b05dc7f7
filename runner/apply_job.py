"""An apply job: exactly the reviewed plan, or nothing (design rule 6)."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

from runner.background import Background
from runner.engine import ERRORED_STATE, LOCK_FILE, Engine, link_providers
from runner.faults import ApplyNotStarted, EngineFailed, Interrupted, JobFault, PlanAltered, RunnerFault
from runner.job import Preparation, Tools
from runner.log import last_lines
from runner.plan_job import PROVIDERS_FILE
from runner.plan_json import read_plan
from tidegate.adapters.aws_http import AwsError
from tidegate.domain.deployment import Artifact
from tidegate.domain.job import Job, TakenJob


def run_apply(tools: Tools, preparation: Preparation, taken: TakenJob) -> dict[str, Any]:
    """Apply, and return the result as the state machine takes it. Raise JobFault.

    Everything that fails before the engine starts to apply is a PlanAltered or an ApplyNotStarted:
    then nothing was applied, for sure.
    """
    try:
        engine, plan = _prepared(tools, preparation, taken)
        tools.interruption.check()
    except (PlanAltered, ApplyNotStarted):
        raise
    except (JobFault, AwsError, OSError) as error:
        raise ApplyNotStarted(f"{error} Nothing was applied.") from error
    try:
        engine.apply(plan)
    except (EngineFailed, Interrupted):
        _keep_errored_state(tools, engine, taken.job)
        raise
    tools.log.end_line()
    return {"job": taken.job.id, "last_lines": last_lines(tools.log.path, tools.log.masker)}


def _prepared(tools: Tools, preparation: Preparation, taken: TakenJob) -> tuple[Engine, Path]:
    job = taken.job
    if job.plan_file is None or job.engine_version is None:
        raise ApplyNotStarted("The job does not say which plan to apply. Nothing was applied.")
    plan, lock = tools.directory / "plan.tfplan", tools.directory / "lock.hcl"
    # The digests come first: nothing of an altered plan is used, not even its providers.
    fetch_verified(tools, job.plan_file, plan)
    if job.lock_file is not None:
        fetch_verified(tools, job.lock_file, lock)
    prefix = job.plan_file.key.rpartition("/")[0]
    secrets = Background(lambda: _learn_secrets(tools, job.plan_json))
    links = Background(lambda: _provider_links(tools, f"{prefix}/{PROVIDERS_FILE}"))
    engine, version = preparation.engine(taken)
    if version != job.engine_version:
        raise RunnerFault(f"The plan was made by version {job.engine_version}, and here is {version}.")
    _restore_lock(job, lock, engine.root / LOCK_FILE)
    found = links.result()
    if found is None or not link_providers(engine.root, found):
        engine.init(preparation.git_environ(taken), readonly=job.lock_file is not None)
    if job.root.workspace != "default":
        _set_workspace(engine.root, job.root.workspace)
    secrets.result()
    return engine, plan


def fetch_verified(tools: Tools, artifact: Artifact, target: Path) -> None:
    """Download a stored file. Raise PlanAltered unless it is, byte by byte, what the plan job stored."""
    try:
        with target.open("wb") as file:
            digest = tools.aws.get_object(tools.settings.bucket, artifact.key, file)
    except AwsError as error:
        if error.code != "NoSuchKey":
            raise
        raise ApplyNotStarted(f"{artifact.key} is gone: plans expire. Plan again. Nothing was applied.") from error
    if digest != artifact.sha256:
        raise PlanAltered(
            f"{artifact.key} is not what was reviewed: its SHA-256 is {digest}, and the reviewed plan's was "
            f"{artifact.sha256}. Nothing was applied. Find out who wrote to the artifact bucket, then plan again."
        )


def _restore_lock(job: Job, stored: Path, place: Path) -> None:
    """Put the plan's lock file in place of the commit's; without one, the plan had none."""
    place.unlink(missing_ok=True)
    if job.lock_file is not None:
        place.write_bytes(stored.read_bytes())


def _set_workspace(root: Path, workspace: str) -> None:
    """Select the workspace as the engine itself remembers it; the plan job made sure that it exists."""
    (root / ".terraform").mkdir(exist_ok=True)
    (root / ".terraform" / "environment").write_text(workspace, encoding="utf-8")


def _learn_secrets(tools: Tools, plan: Artifact | None) -> None:
    """Learn from the plan's JSON form what to mask. Without it nothing is applied: its secrets might show."""
    if plan is None:
        raise RunnerFault("The job names no JSON form of the plan.")
    file = tools.directory / "plan.json"
    fetch_verified(tools, plan, file)
    tools.log.masker.add(read_plan(file).sensitive)


def _provider_links(tools: Tools, key: str) -> dict[str, str] | None:
    content = BytesIO()
    try:
        tools.aws.get_object(tools.settings.bucket, key, content)
        links = json.loads(content.getvalue())
    except (AwsError, ValueError):
        return None  # Then the engine initializes as usual.
    usable = isinstance(links, dict) and all(isinstance(each, str) for pair in links.items() for each in pair)
    return links if usable else None


def _keep_errored_state(tools: Tools, engine: Engine, job: Job) -> None:
    """Save the state that the engine could not write to its backend: it exists nowhere else."""
    file = engine.root / ERRORED_STATE
    if not file.is_file():
        return
    key = f"errored/{job.id}.tfstate"
    with file.open("rb") as content:
        tools.aws.put_object(tools.settings.bucket, key, content)
    tools.log.say(f"the state could not be written to its backend; it is kept as {key} in the artifact bucket")
