"""An apply job: apply exactly the reviewed plan, or nothing (design rule 6)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from runner.background import Background
from runner.engine import ERRORED_STATE, LOCK_FILE, Engine, link_providers
from runner.faults import ApplyNotStarted, EngineFailed, Interrupted, JobFault, PlanAltered, RunnerFault
from runner.job import Preparation, Tools
from runner.log import last_lines
from runner.plan_job import PROVIDERS_FILE
from runner.plan_json import PlanFacts, read_plan
from runner.provider_times import provider_times_of
from runner.steps import StepRunner
from tidegate.aws.client import AwsError
from tidegate.deploys.rules.job import Job, TakenJob
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.deploys.rules.workflow import STEP_FAILED, RunSettings, StepKind, WorkflowStep
from tidegate.deploys.rules.workflow_rules import apply_problem
from tidegate.plans.rules.plan import Artifact


def run_apply(tools: Tools, preparation: Preparation, taken: TakenJob) -> dict[str, Any]:
    """Run the steps of an apply job, and return the result for the state machine. Raise JobFault.

    Everything that fails before the engine starts to apply is a PlanAltered or an ApplyNotStarted: nothing was applied
    then. A failure after the apply is reported, and does not change the result.
    """
    applying = _Applying(tools, preparation, taken)
    try:
        steps = applying.prepare()
    except (PlanAltered, ApplyNotStarted):
        raise
    except (JobFault, AwsError, OSError) as error:
        raise ApplyNotStarted(f"{error} Nothing was applied.") from error
    failure = steps.run(with_init(taken.job.run), {StepKind.INIT: applying.init, StepKind.APPLY: applying.apply})
    if applying.last_lines is not None:
        lines = _with_failure(tools, applying.last_lines, failure)
        return {"job": taken.job.id, "last_lines": lines, "providers": [asdict(each) for each in applying.times]}
    assert failure is not None  # noqa: S101  # There is one step apply, and it did not come to its end.
    if applying.started or isinstance(failure, (PlanAltered, ApplyNotStarted)):
        raise failure
    not_started = ApplyNotStarted(f"{failure} Nothing was applied.")
    not_started.last_lines = failure.last_lines
    raise not_started from failure


def _with_failure(tools: Tools, lines: str, failure: JobFault | None) -> str:
    """Return the last lines of a successful apply, with the failure of a later step."""
    if failure is None:
        return lines
    told = f"{STEP_FAILED}{failure}"
    tools.log.say(told)
    return tools.log.masker.mask(f"{lines}\ntidegate: {told}")


class _Applying:
    """The engine's steps of an apply job, and the preparation before all steps.

    ``started`` tells that the engine may have applied something, ``last_lines`` that it has applied everything.
    ``times`` are how long providers took for that.
    """

    _links: Background[dict[str, str] | None]
    _providers: Mapping[str, str]

    def __init__(self, tools: Tools, preparation: Preparation, taken: TakenJob) -> None:
        self._tools, self._preparation, self._taken = tools, preparation, taken
        self._plan = tools.directory / "plan.tfplan"
        self._quick = needs_no_init(taken.job.run.apply)
        self.started = False
        self.last_lines: str | None = None
        self.times: tuple[ProviderTime, ...] = ()

    def prepare(self) -> StepRunner:
        """Fetch the reviewed plan and the engine that made it. Raise JobFault, AwsError or OSError."""
        tools, job = self._tools, self._taken.job
        if job.plan_file is None or job.engine_version is None:
            raise ApplyNotStarted("The job names no plan to apply. Nothing was applied.")
        if problem := apply_problem(job.run.apply):
            raise ApplyNotStarted(f"The apply steps are invalid: {problem}. Nothing was applied.")
        lock = tools.directory / "lock.hcl"
        # Check the digests first: nothing of an altered plan is used, not even its providers.
        fetch_verified(tools, job.plan_file, self._plan)
        if job.lock_file is not None:
            fetch_verified(tools, job.lock_file, lock)
        prefix = job.plan_file.key.rpartition("/")[0]
        facts = Background(lambda: _facts(tools, job.plan_json))
        self._links = Background(lambda: _provider_links(tools, f"{prefix}/{PROVIDERS_FILE}"))
        engine, version = self._preparation.engine(self._taken)
        if version != job.engine_version:
            raise RunnerFault(
                f"The plan was made by engine version {job.engine_version}, but this runner has {version}."
            )
        restore_lock(job, lock, engine.root / LOCK_FILE)
        self._providers = facts.result().providers  # By then it masks the secrets.
        steps = StepRunner(tools, engine, job)
        steps.know_plan(self._plan)
        return steps

    def init(self, engine: Engine, step: WorkflowStep) -> None:
        """Initialize, or link the plan job's providers if that gives the same result."""
        job = self._taken.job
        found = self._links.result() if self._quick else None
        if found is None or not link_providers(engine.root, found):
            with self._preparation.modules_access(self._taken) as environ:
                engine.init(environ, step.extra_args, readonly=job.lock_file is not None)
        if job.root.workspace != "default":
            set_workspace(engine.root, job.root.workspace)

    def apply(self, engine: Engine, step: WorkflowStep) -> None:
        """Apply the reviewed plan file, even if other programs changed it here."""
        tools, job = self._tools, self._taken.job
        if job.plan_file is not None and not self._quick:
            _check_unchanged(self._plan, job.plan_file)
        tools.interruption.check()
        self.started = tools.interruption.applying = True
        try:
            engine.apply(self._plan, step.extra_args)
        except (EngineFailed, Interrupted):
            _keep_errored_state(tools, engine, job)
            raise
        finally:
            tools.interruption.applying = False
        tools.log.end_line()
        self.last_lines = last_lines(tools.log.path, tools.log.masker)
        self.times = provider_times_of(tools.log.path, tools.log.step_begins, self._providers)


def with_init(run: RunSettings) -> tuple[WorkflowStep, ...]:
    """Return the steps of an apply with the plan's ``init`` if it has none, or one without settings.

    So the same backend and modules are used. Providers are those of the plan's lock file, so nothing is upgraded.
    """
    planned = next(step for step in (*run.plan, WorkflowStep(StepKind.INIT)) if step.kind is StepKind.INIT)
    arguments = tuple(each for each in planned.extra_args if each.lstrip("-").partition("=")[0] != "upgrade")
    init = replace(planned, extra_args=arguments)
    steps = run.apply
    if all(step.kind is not StepKind.INIT for step in steps):
        place = [step.kind for step in steps].index(StepKind.APPLY)
        steps = (*steps[:place], init, *steps[place:])
    return tuple(init if step == WorkflowStep(StepKind.INIT) else step for step in steps)


def needs_no_init(steps: Sequence[WorkflowStep]) -> bool:
    """Tell whether linked providers are enough for these steps: without programs and without an explicit init."""
    return all(
        step.kind is StepKind.APPLY or (step.kind is StepKind.INIT and not step.extra_args and not step.env)
        for step in steps
    )


def _check_unchanged(file: Path, reviewed: Artifact) -> None:
    """Raise PlanAltered unless the plan file is still the reviewed one, after other programs ran."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "none, because the file is missing"
    if digest != reviewed.sha256:
        raise PlanAltered(
            f"A step before the apply changed the plan file: its SHA-256 is {digest}, but the reviewed plan's is "
            f"{reviewed.sha256}. Nothing was applied. Make sure that no step writes to TIDEGATE_PLAN_FILE, then plan "
            "again."
        )


def fetch_verified(tools: Tools, artifact: Artifact, target: Path) -> None:
    """Download a stored file. Raise PlanAltered unless it is byte by byte what the plan job stored."""
    try:
        with target.open("wb") as file:
            digest = tools.aws.get_object(tools.settings.bucket, artifact.key, file)
    except AwsError as error:
        if error.code != "NoSuchKey":
            raise
        raise ApplyNotStarted(
            f"{artifact.key} no longer exists, because plans expire. Nothing was applied. Plan again."
        ) from error
    if digest != artifact.sha256:
        raise PlanAltered(
            f"{artifact.key} differs from the reviewed plan: its SHA-256 is {digest}, but the reviewed plan's is "
            f"{artifact.sha256}. Nothing was applied. Find out who wrote to the artifact bucket, then plan again."
        )


def restore_lock(job: Job, stored: Path, place: Path) -> None:
    """Replace the commit's lock file by the plan's; if there is none, the plan had none."""
    place.unlink(missing_ok=True)
    if job.lock_file is not None:
        place.write_bytes(stored.read_bytes())


def set_workspace(root: Path, workspace: str) -> None:
    """Select the workspace as the engine itself remembers it; the plan job made sure that it exists."""
    (root / ".terraform").mkdir(exist_ok=True)
    (root / ".terraform" / "environment").write_text(workspace, encoding="utf-8")


def _facts(tools: Tools, plan: Artifact | None) -> PlanFacts:
    """Read the plan's JSON, and mask its secrets: programs may print them. Without it nothing is applied."""
    if plan is None:
        raise RunnerFault("The job names no JSON plan.")
    file = tools.directory / "plan.json"
    fetch_verified(tools, plan, file)
    facts = read_plan(file)
    tools.log.masker.add(facts.sensitive)
    return facts


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
    tools.log.say(f"the engine could not write the state to its backend; it is saved as {key} in the artifact bucket")
