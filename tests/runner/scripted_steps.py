"""Steps of a workflow around an engine that is a script, so that a job takes little time."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from tests.runner.conftest import Bench
from tests.runner.fake_aws import JOB_TOKEN
from tidegate.deploys.rules.job import Job, JobKind
from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep

Commit = Callable[..., str]
GOOD = 'resource "terraform_data" "network" { input = "10.0.0.0/16" }\n'
INIT, PLAN, APPLY = (WorkflowStep(kind) for kind in (StepKind.INIT, StepKind.PLAN, StepKind.APPLY))
VERSION = "1.11.4"
#: An engine that notes how it is called, and makes what the runner wants of it.
ENGINE = """#!/bin/sh
case $1 in
  version) echo '{{"terraform_version": "{version}"}}'; exit;;
  init) mkdir -p .terraform; echo '{{"backend": {{"type": "s3"}}}}' > .terraform/terraform.tfstate;;
  plan) echo planned > {directory}/../plan-was-made; for last; do :; done; echo the-plan > "${{last#-out=}}";;
  show) echo '{{"format_version": "1", "resource_changes": []}}'; exit;;
  apply) for last; do :; done; cat "$last" > {directory}/applied; {applying};;
esac
echo "$0 $@" >> {directory}/calls
echo "engine $1: ${{TF_VAR_region:-unset}}"
"""


def run_step(script: str, **fields: Any) -> WorkflowStep:
    return WorkflowStep(StepKind.RUN, ("sh", "-c", script.replace("$", "$$")), **fields)


def env_step(name: str, script: str, **fields: Any) -> WorkflowStep:
    return WorkflowStep(StepKind.ENV, ("sh", "-c", script.replace("$", "$$")), name, **fields)


class Steps:
    """A root whose engine is a script, so that a job takes little time."""

    def __init__(self, bench: Bench, commit: Commit) -> None:
        self.bench = bench
        self.sha = commit(GOOD)
        self.notes = bench.directory / "engine"
        self.notes.mkdir()
        self.engine()

    def engine(self, name: str = "terraform", version: str = VERSION, applying: str = ":") -> None:
        program = self.notes / name
        program.write_text(ENGINE.format(version=version, directory=self.notes, applying=applying))
        program.chmod(0o755)
        self.bench.environ["PATH"] = f"{self.notes}:{os.environ['PATH']}"

    def calls(self) -> list[list[str]]:
        file = self.notes / "calls"
        return [shlex.split(line)[1:] for line in file.read_text().splitlines()] if file.exists() else []

    def plan_job(self, *steps: WorkflowStep, **options: Any) -> Job:
        variables = options.pop("variables", ())
        run = RunSettings(options.pop("environment", ""), variables, steps)
        return self.bench.job(JobKind.PLAN, self.sha, run=run, **options)

    def plan(self, *steps: WorkflowStep, **options: Any) -> Job:
        """Run a plan job to its end."""
        job = self.plan_job(*steps, **options)
        ended = self.bench.run(job)
        assert self.bench.left_behind() == []
        assert ended.code == 0, ended.output
        return job

    def apply_job(self, *steps: WorkflowStep, plan: tuple[WorkflowStep, ...] = (INIT, PLAN)) -> Job:
        made: dict[str, Any] = {"engine_version": VERSION, "lock_file": None}
        for part, name, content in (
            ("file", "plan.tfplan", b"the-plan\n"),
            ("json", "plan.json", b'{"format_version": "1", "resource_changes": []}'),
            ("links", "providers.json", b"{}"),
        ):
            key = f"plans/network-{self.sha[:7]}-plan-1/{name}"
            self.bench.aws.objects[key] = content
            made[part] = {"key": key, "sha256": hashlib.sha256(content).hexdigest()}
        return self.bench.job(JobKind.APPLY, self.sha, made, run=RunSettings(plan=plan, apply=steps))

    def apply(self, *steps: WorkflowStep, **options: Any) -> Job:
        job = self.apply_job(*steps, **options)
        ended = self.bench.run(job)
        assert ended.code == 0, ended.output
        return job

    @property
    def applied(self) -> bool:
        return (self.notes / "applied").exists()

    def log(self, job: Job) -> str:
        return self.bench.stored_log(job.id)

    def failed(self, error: str, words: str) -> Mapping[str, Any]:
        result = self.bench.result()
        assert result["error"] == error
        assert words in result["message"]
        return result

    def succeeded(self) -> Mapping[str, Any]:
        answer = self.bench.aws.answer(JOB_TOKEN)
        assert answer is not None
        assert answer[0] == "success", answer
        return answer[1]
