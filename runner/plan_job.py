"""A plan job: its steps, by default init and plan; read the plan, and store what the apply needs."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from runner.background import Background
from runner.cost_file import COST_VARIABLE, CostFile
from runner.descendants import kill_descendants
from runner.engine import LOCK_FILE, Engine, keeps_state, provider_links
from runner.faults import EngineFailed, JobFault, RunnerFault, StateWouldBeLost, StepFailed
from runner.job import Preparation, Tools
from runner.log import copy_masked
from runner.plan_json import PlanFacts, read_plan, rows_of
from runner.progress import PlanProgress, failed_before_values, tells_secrets_of_failed_plans
from runner.steps import STEPS, StepRunner
from tidegate.aws.client import AwsError
from tidegate.deploys.rules.job import TakenJob, plan_prefix
from tidegate.deploys.rules.workflow import StepKind, WorkflowStep
from tidegate.deploys.rules.workflow_rules import plan_problem
from tidegate.plans.rules.plan import Artifact, Plan
from tidegate.plans.rules.structured_file import packed

#: Stored with the plan: where ``init`` linked the providers to, so that the apply can skip ``init``.
PROVIDERS_FILE = "providers.json"

_NO_BACKEND = (
    "This root has no backend. Its state would be lost with the runner, and the next deployment would create "
    "everything again. Nothing was planned. Configure a backend in a terraform block of the root, such as s3 or "
    "cloud, and push again."
)

#: The engine's plan output, held back until its secret values are known.
_PLAN = "plan"
_HELD_BACK = (
    "the rest of the engine's output is hidden, because Tidegate cannot tell which values in it are secret. To see "
    "it, plan on your own machine, or use Terraform 1.6 or later."
)

#: The beginning of the plan proper; before it, the engine lists what it refreshes.
_PLAN_BEGINS = re.compile(
    rb"(Terraform|OpenTofu) (used the selected providers|will perform|has compared)|No changes\.|Changes to Outputs:"
    rb"|Note: Objects have changed outside|You can apply this plan"
)
_PLAN_ENDS = re.compile(rb"\xe2\x94\x80{20,}|Saved the plan to: |To perform exactly these actions")


def run_plan(tools: Tools, preparation: Preparation, taken: TakenJob) -> dict[str, Any]:
    """Run the steps of a plan job, and return the plan for the state machine. Raise JobFault."""
    if problem := plan_problem(taken.job.run.plan):
        raise StepFailed(f"The plan steps are invalid: {problem}. Nothing was planned.")
    engine, version = preparation.engine(taken)
    return Planning(tools, preparation, taken, version, StepRunner(tools, engine, taken.job)).result()


class Planning:
    """The engine's steps of a plan job. ``plan`` and ``cost`` are set once the plan is made."""

    plan: Plan
    #: Where a step may write the plan's cost.
    cost: CostFile
    #: Whether the state is locked while it is planned.
    locks = True

    def __init__(
        self, tools: Tools, preparation: Preparation, taken: TakenJob, version: str, steps: StepRunner
    ) -> None:
        self._tools, self._preparation, self._taken, self._version = tools, preparation, taken, version
        self.steps = steps

    def result(self) -> dict[str, Any]:
        """Run the job's steps, and return the plan for the state machine. Raise JobFault."""
        log = self._tools.log
        log.awaits_secrets = True
        try:
            failure = self.steps.run(self._taken.job.run.plan, {StepKind.INIT: self.init, StepKind.PLAN: self.make})
        finally:
            self._show_rest()
        if failure is not None:
            raise failure
        cost = self.cost.read(self._taken.job.run.plan, log.masker.mask)
        return asdict(replace(self.plan, cost=cost))

    def init(self, engine: Engine, step: WorkflowStep) -> None:
        if (stored := self._taken.job.lock_file) is not None:
            _restore_lock(self._tools, stored, engine.root / LOCK_FILE)
        with self._preparation.modules_access(self._taken) as environ:
            engine.init(environ, step.extra_args, readonly=False)
        self.check_backend(engine)
        if self._taken.job.root.workspace != "default":
            engine.select_workspace(self._taken.job.root.workspace)

    def check_backend(self, engine: Engine) -> None:
        """Raise StateWouldBeLost unless the state outlives the runner."""
        if not self._tools.settings.allow_local_state and not keeps_state(engine.root):
            raise StateWouldBeLost(_NO_BACKEND)

    def make(self, engine: Engine, step: WorkflowStep) -> None:
        """Plan, and store everything before any other program runs: reviewers see exactly the engine's plan."""
        tools, job = self._tools, self._taken.job
        files = _PlanFiles(tools, job.id)
        tools.log.hold(_PLAN, PlanProgress())
        try:
            engine.plan(files.plan, step.extra_args, lock=self.locks, destroy=job.destroy)
        except EngineFailed:
            self._show_failure(engine, files)
            raise
        kill_descendants()
        plan_file = Background(lambda: files.store("plan.tfplan", files.plan))
        lock_file = Background(lambda: files.store_lock(engine.root))
        links = Background(lambda: files.store_links(engine.root))
        facts = _facts(tools, engine, files)
        start, end = self._show_text()
        json_file = Background(lambda: files.store("plan.json", files.json))
        files.write_text(start, end)
        text_file = files.store("plan.txt", files.text)
        structured = store_structured(tools, job.id, files.json, "plan.rows")
        links.result()
        stored = plan_file.result(), lock_file.result(), json_file.result(), text_file, structured
        self.plan = Plan(job.id, facts.changes, self._version, *stored)
        # Made only now: nothing that ran before can have written it.
        self.cost = CostFile.made_in(tools.directory)
        self.steps.know_plan(files.plan, {"TIDEGATE_PLAN_JSON": files.json, COST_VARIABLE: self.cost.path})

    def _show_text(self) -> tuple[int, int]:
        """Show what was held back, now that its secrets are known; return where the plan's text is in the log."""
        log = self._tools.log
        log.awaits_secrets = False
        log.release(STEPS)
        log.step_begins = start = log.size
        log.release(_PLAN)
        return start, log.size

    def _show_failure(self, engine: Engine, files: _PlanFiles) -> None:
        """Show why the plan failed, if its secrets are known, or if it failed before there were any values."""
        kill_descendants()
        log = self._tools.log
        if files.plan.is_file():
            with suppress(JobFault, OSError):
                _facts(self._tools, engine, files)
                self._show_text()
        elif (held := log.held(_PLAN)) and tells_secrets_of_failed_plans(engine.name, self._version):
            with held.open(encoding="utf-8", errors="replace") as lines:
                is_shown = not self._tools.interruption.reason and failed_before_values(lines)
            if is_shown:
                self._show_text()
        self._show_rest()

    def _show_rest(self) -> None:
        """Show the part of the held output that cannot be secret: nothing more will become known."""
        log = self._tools.log
        log.awaits_secrets = False
        log.release(STEPS)
        if log.release_outline(_PLAN):
            log.say(_HELD_BACK)


def store_structured(tools: Tools, job: str, file: Path, name: str) -> Artifact | None:
    """Store the rows of a JSON plan for the pages, without the secrets that are known now.

    Return None for a plan that cannot be read as rows: people then read its text.
    """
    try:
        content = packed(rows_of(file, tools.log.masker.mask))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    key = f"{plan_prefix(job)}/{name}"
    return Artifact(key, tools.aws.put_object(tools.settings.bucket, key, content))


def _restore_lock(tools: Tools, stored: Artifact, place: Path) -> None:
    """Restore the lock file with which the deployed revision was planned; without one, keep the commit's.

    Raise RunnerFault if the stored one was altered.
    """
    file = tools.directory / "deployed-lock.hcl"
    try:
        with file.open("wb") as target:
            digest = tools.aws.get_object(tools.settings.bucket, stored.key, target)
    except AwsError as error:
        if error.code != "NoSuchKey":
            raise
        tools.log.say(f"{stored.key} has expired; using the commit's own lock file")
        return
    if digest != stored.sha256:
        raise RunnerFault(
            f"{stored.key} differs from what the deployment's plan stored. Find out who wrote to the bucket."
        )
    place.write_bytes(file.read_bytes())


def _facts(tools: Tools, engine: Engine, files: _PlanFiles) -> PlanFacts:
    engine.show_json(files.plan, files.json)
    try:
        facts = read_plan(files.json)
    except (ValueError, KeyError, TypeError) as error:
        raise RunnerFault(f"The plan's JSON cannot be parsed ({error}).") from error
    tools.log.masker.add(facts.sensitive)
    return facts


class _PlanFiles:
    """The plan's files here and in the artifact bucket."""

    def __init__(self, tools: Tools, job: str) -> None:
        self._tools = tools
        self._prefix = plan_prefix(job)
        self.plan = tools.directory / "plan.tfplan"
        self.json = tools.directory / "plan.json"
        self.text = tools.directory / "plan.txt"

    def store(self, name: str, file: Path) -> Artifact:
        key = f"{self._prefix}/{name}"
        with file.open("rb") as content:
            return Artifact(key, self._tools.aws.put_object(self._tools.settings.bucket, key, content))

    def store_lock(self, root: Path) -> Artifact | None:
        file = root / LOCK_FILE
        return self.store("lock.hcl", file) if file.is_file() else None

    def store_links(self, root: Path) -> None:
        links = provider_links(root)
        if links is not None:
            key = f"{self._prefix}/{PROVIDERS_FILE}"
            self._tools.aws.put_object(self._tools.settings.bucket, key, json.dumps(links).encode())

    def write_text(self, start: int, end: int) -> None:
        """Write the plan's text: the engine's output from the log, masked with all secrets known now."""
        whole = self.text.with_suffix(".log")
        copy_masked(self._tools.log.path, whole, self._tools.log.masker, start, end)
        first, last = _plan_proper(whole)
        with whole.open("rb") as reading, self.text.open("wb") as writing:
            for number, line in enumerate(reading):
                if first <= number < last:
                    writing.write(line)


def _plan_proper(file: Path) -> tuple[int, int]:
    """Return the plan proper's first line and the one after its last; everything if there is no such line."""
    first, last, number = 0, None, 0
    found = False
    with file.open("rb") as reading:
        for number, line in enumerate(reading, 1):
            if not found and _PLAN_BEGINS.match(line):
                first, found = number - 1, True
            elif found and _PLAN_ENDS.match(line):
                last = number - 1
    return first, number if last is None else last
