from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.runner.fake_aws import BUCKET, ENGINE_ROLE, JOB_TOKEN, START_TOKEN, TABLE, FakeAws, running_fake_aws
from tests.runner.git_forge import CLONE_TOKEN, Forge, running_forge
from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.job import Job, JobKind, job_digest, log_key
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.plans.rules.plan import Artifact
from tidegate.roots.rules.root import Engine, Root

if TYPE_CHECKING:
    from tests.runner.scripted_steps import Steps

#: Fields of a job that only a plan of a pull request has.
SPECULATION = ("base_sha", "fork_sha", "merges", "allowed_providers", "allowed_modules")
#: Fields of a job that only what destroys has as it is planned, and the size of its runner.
DESTRUCTION = ("destroy", "engine_version", "lock_file", "size")
#: Fields of a job that only the plan of a cluster has.
OF_CLUSTER = ("current", "begun", "management")
REPOSITORY_TOP = Path(__file__).parents[2]


@pytest.fixture
def aws() -> Iterator[FakeAws]:
    with running_fake_aws() as fake:
        yield fake


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    directory = tmp_path / "forge"
    directory.mkdir()
    with running_forge(directory) as running:
        yield running


@dataclass
class Ended:
    """A runner that has ended: its exit code, and its output (both streams)."""

    code: int
    output: str


@dataclass
class Bench:
    """Runs the runner's program as ECS does: a process with an environment."""

    aws: FakeAws
    forge: Forge
    directory: Path
    environ: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def job(self, kind: JobKind, sha: str, plan: Mapping[str, Any] | None = None, **root: Any) -> Job:
        engine = root.pop("engine", Engine())
        speculation = {name: root.pop(name) for name in SPECULATION if name in root}
        run, stack = root.pop("run", RunSettings()), root.pop("stack", DEFAULT_STACK)
        destruction = {name: root.pop(name) for name in (*DESTRUCTION, *OF_CLUSTER) if name in root}
        job = Job(
            id=f"network-{sha[:7]}-{kind}-1",
            deployment=f"network-{sha[:7]}",
            kind=kind,
            repository="acme/infra",
            sha=sha,
            clone_url=self.forge.clone_url,
            root=Root("network", **{"dir": "network", "engine": engine, **root}),
            plan_file=Artifact(**plan["file"]) if plan else None,
            lock_file=Artifact(**plan["lock_file"]) if plan and plan["lock_file"] else None,
            engine_version=plan["engine_version"] if plan else None,
            plan_json=Artifact(**plan["json"]) if plan else None,
            stack=stack,
            run=run,
            **speculation,
        )
        job = replace(job, **destruction)
        self.aws.add_job(job, CLONE_TOKEN)
        self.aws.answers.clear()
        return job

    def start(self, job: Job, **environ: str) -> subprocess.Popen[str]:
        temporary = self.directory / "tmp"
        temporary.mkdir(exist_ok=True)
        variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY_TOP, REPOSITORY_TOP / "layers/core/python"))),
            "TMPDIR": str(temporary),
            "AWS_ACCESS_KEY_ID": "AKIARUNNER",
            "AWS_SECRET_ACCESS_KEY": "runner-secret-key-0123456789",
            "AWS_REGION": "eu-west-1",
            "AWS_ENDPOINT_URL": self.aws.url,
            "TIDEGATE_TABLE": TABLE,
            "TIDEGATE_ARTIFACT_BUCKET": BUCKET,
            "TIDEGATE_ENGINE_ROLE": ENGINE_ROLE,
            "TIDEGATE_JOB": job.id,
            "TIDEGATE_JOB_DIGEST": job_digest(job),
            "TIDEGATE_START_TOKEN": START_TOKEN,
            **self.environ,
            **environ,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "runner"],
            cwd=self.directory,
            env={name: value for name, value in variables.items() if value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def run(self, job: Job, **environ: str) -> Ended:
        return self.finish(self.start(job, **environ))

    def finish(self, process: subprocess.Popen[str], seconds: float = 120) -> Ended:
        output, _ = process.communicate(timeout=seconds)
        return Ended(process.returncode, output)

    def stored_log(self, job: str) -> str:
        return self.aws.objects[log_key(job)].decode()

    def plan(self, sha: str, **options: Any) -> Mapping[str, Any]:
        """Run a plan job and return its result."""
        ended = self.run(self.job(JobKind.PLAN, sha, **options))
        answer = self.aws.answer(JOB_TOKEN)
        assert answer, ended.output
        assert answer[0] == "success", ended.output
        return answer[1]

    def result(self) -> Mapping[str, Any]:
        """Return what the job's token was answered with; a failure has error, message and last_lines."""
        answer = self.aws.answer(JOB_TOKEN)
        assert answer is not None, "the job was not reported"
        return answer[1]

    def state(self) -> Path:
        return self.directory / "state" / "terraform.tfstate"

    def backend(self) -> str:
        """Return the configuration of a backend whose state outlives the job."""
        return (
            f'terraform {{\n  backend "local" {{\n    path = "{self.state()}"\n'
            f'    workspace_dir = "{self.state().parent}/workspaces"\n  }}\n}}\n'
        )

    def left_behind(self) -> list[Path]:
        return list((self.directory / "tmp").iterdir())


@pytest.fixture
def bench(aws: FakeAws, forge: Forge, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(aws, forge, tmp_path)
    yield bench
    for process in bench.processes:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()


@pytest.fixture
def commit(bench: Bench) -> Callable[..., str]:
    """Commit a root ``network`` with this configuration and the bench's backend; return the SHA."""

    def make(configuration: str, **files: str) -> str:
        return bench.forge.commit({"network/main.tf": bench.backend() + configuration, **files})

    return make


@pytest.fixture
def steps(bench: Bench, commit: Callable[..., str]) -> Steps:
    """A root whose engine is a script."""
    from tests.runner.scripted_steps import Steps  # It needs what is defined here.

    return Steps(bench, commit)
