"""Plans clusters and carries out their tasks, as the plan job and the machine of a workflow would: one runner each."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from runner.clusters.api import Api
from runner.clusters.job import run_task
from runner.interruption import Interruption
from runner.job import Preparation, Tools
from runner.log import JobLog
from runner.masking import Masker
from runner.process import ProcessRunner
from runner.run import _result
from runner.settings import read_settings
from tests.runner.environment import SETTINGS
from tests.runner.fake_aws import BUCKET, FakeAws
from tests.runner.git_forge import CLONE_TOKEN, Forge
from tidegate.aws.client import Aws
from tidegate.aws.records import pack
from tidegate.clusters.adapters.files import read_plan, read_result
from tidegate.clusters.rules.order import TaskOrder, TaskResult, order_key, result_key
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook
from tidegate.deploys.rules.cluster import CurrentCluster, DeclaredCluster
from tidegate.deploys.rules.job import Job, JobKind, TakenJob, module_job, task_job
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.plans.rules.plan import Artifact
from tidegate.roots.rules.root import Root

BIN = Path(os.environ.get("VIRTUAL_ENV") or Path(__file__).parents[3] / ".venv") / "bin"


class Died(BaseException):
    """A runner is killed."""


@dataclass
class Workflows:
    """One cluster's. ``values`` are the context so far, ``log`` is that of the last runner.

    ``applied`` are the deployments whose root module was applied.
    """

    aws: FakeAws
    forge: Forge
    directory: Path
    cluster: DeclaredCluster
    files: Mapping[str, str]
    current: CurrentCluster | None = None
    management: CurrentCluster | None = None
    fence: int = 1
    values: dict[str, str] = field(default_factory=dict)
    log: str = ""
    applied: list[str] = field(default_factory=list)
    job_seconds: int = 900
    repository: str = "acme/infra"
    root: Root = field(default_factory=lambda: Root("network", "network"))
    _jobs: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def plan(self, *, destroy: bool = False, **files: str) -> ClusterPlan:
        """Plan the cluster at a new commit, with these files besides."""
        self.files = {**self.files, **files}
        for former in (self.forge.repository, self.forge.directory / "work"):
            shutil.rmtree(former, ignore_errors=True)
        sha = self.forge.commit(dict(self.files))
        number = next(self._jobs)
        job = Job(
            id=f"network-{sha[:7]}-plan-{number}",
            deployment=f"network-{number}",
            kind=JobKind.PLAN,
            repository=self.repository,
            sha=sha,
            clone_url=self.forge.clone_url,
            root=self.root,
            run=RunSettings(cluster=self.cluster),
            destroy=destroy,
            current=self.current,
            management=self.management,
        )
        with self._tools(job) as (tools, preparation, taken):
            result = _result(tools, preparation, taken)
        self._apply = replace(
            job,
            kind=JobKind.APPLY,
            plan_file=Artifact(**result["file"]),
            plan_json=Artifact(**result["json"]),
            lock_file=Artifact(**result["lock_file"]) if result["lock_file"] else None,
            engine_version=result["engine_version"],
        )
        self.values.clear()
        self.planned = read_plan(self.aws.objects[result["file"]["key"]])
        return self.planned

    def run(
        self, task: str, *, hook: PlannedHook | None = None, pause: Callable[[float], None] | None = None
    ) -> TaskResult:
        """Let a new runner carry out a task or hook, and keep the values that it has produced. Raise its fault.

        Before a task that applies the root module, another runner does that, once for each plan.
        """
        assert self._apply.plan_file is not None
        if hook is None and self.planned.applies_at(task):
            self._apply_module()
        name = f"{self._apply.deployment}-task-{next(self._jobs)}"
        order = TaskOrder(
            cluster=self.planned.cluster,
            operation=self.planned.workflow.operation,
            task=task,
            fence=self.fence,
            plan=self._apply.plan_file,
            hook=hook.name if hook else "",
            registrar=hook.registrar if hook else "",
            current=self.current,
            management=self.management,
            values=tuple(self.values.items()),
        )
        stored = self._store(order_key(name), json.dumps(pack(order), sort_keys=True).encode())
        job = task_job(name, self._apply, stored, self.job_seconds)
        with self._tools(job) as (tools, preparation, taken):
            assert run_task(tools, preparation, taken) == {"job": name}
        result = read_result(self.aws.objects[result_key(name)])
        self.values.update(result.values)
        return result

    def _apply_module(self) -> None:
        job = module_job(self._apply, self.planned.terraform, self.job_seconds)
        if job.deployment not in self.applied:
            with self._tools(job) as (tools, preparation, taken):
                _result(tools, preparation, taken)
            self.applied.append(job.deployment)

    def all(self) -> dict[str, TaskResult]:
        """Carry out every task that is due, in order."""
        return {step.task: self.run(step.task) for step in self.planned.steps if step.due}

    def produced(self, task: str) -> set[str]:
        return {key for step in self.planned.steps if step.task == task for key in step.produces}

    def made(self, kubernetes: str = "") -> CurrentCluster:
        """Return what is recorded of the cluster once the workflow has completed."""
        plan = self.planned
        reference = next((self.values[key] for key in _OWN if key in self.values), "")
        return CurrentCluster(
            kubernetes or next((each.after for each in plan.versions if each.after), ""),
            plan.spec_hash,
            plan.cluster.provider,
            plan.provider_version,
            tuple((each.name, each.version) for each in plan.cluster.components),
            cluster_hash=plan.cluster_hash,
            reference=reference,
        )

    def _store(self, key: str, content: bytes) -> Artifact:
        self.aws.objects[key] = content
        return Artifact(key, hashlib.sha256(content).hexdigest())

    @contextmanager
    def _tools(self, job: Job) -> Iterator[tuple[Tools, Preparation, TakenJob]]:
        directory = self.directory / job.id
        shutil.rmtree(directory, ignore_errors=True)  # Of a runner that was killed.
        directory.mkdir()
        environ = {
            "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
            "TMPDIR": "/tmp",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "AKIARUNNER",
            "AWS_SECRET_ACCESS_KEY": "runner-secret-key-0123456789",
            "AWS_ENDPOINT_URL": self.aws.url,
        }
        masker = Masker()
        log = JobLog(directory / "job.log", masker)
        settings = read_settings(SETTINGS | {"TIDEGATE_JOB": job.id, "TIDEGATE_ARTIFACT_BUCKET": BUCKET})
        tools = Tools(settings, environ, Aws(environ, attempts=1), log, Interruption(), directory)
        preparation = Preparation(tools, job)
        before = set(threading.enumerate())
        try:
            yield tools, preparation, TakenJob(job, "token", CLONE_TOKEN)
        finally:
            for left in set(threading.enumerate()) - before:
                if left.name.endswith("(_run)"):  # A runner that dies leaves what it does in the background.
                    left.join(10)
            with suppress(Exception):
                preparation._session.result()
            preparation.close()
            log.end_line()
            log.close()
            tools.aws.close()
            self.log = (directory / "job.log").read_text(errors="replace")


_OWN = ("management-cluster", "workload-cluster")


@contextmanager
def dying_at(call: int) -> Iterator[None]:
    """Kill the runner right before its call of this number: of AWS's storage, of an API server, or of a program."""
    calls = itertools.count(1)

    def counted(method: Any) -> Any:
        def counting(*arguments: Any, **options: Any) -> Any:
            if next(calls) == call:
                raise Died
            return method(*arguments, **options)

        return counting

    places = ((Aws, "put_object"), (Aws, "delete_object"), (Api, "_answer"))
    programs = ((ProcessRunner, "run"), (ProcessRunner, "run_program"))
    with pytest.MonkeyPatch.context() as monkeypatch:
        for owner, name in (*places, *programs):
            monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
        yield


def killed_at_every_call(act: Callable[[], Any], most: int = 400) -> int:
    """Kill runners, each one call later, until one comes to its end. Return how many were killed."""
    for number in range(1, most):
        try:
            with dying_at(number):
                act()
        except Died:
            continue
        return number - 1
    raise AssertionError("it never comes to its end")
