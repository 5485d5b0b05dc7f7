"""The provider ``terraform``: a root module in the directory of the cluster's file.

What is applied is the reviewed plan, with the engine, lock file and steps of any other root (runner/apply_job.py); a
deletion applies its reviewed plan to destroy. Its section of the cluster's file: ``output: NAME`` of the output with
the ARN of the EKS cluster (``cluster_arn``), or ``kubeconfig_output: NAME`` of one with the name of a secret.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.apply_job import Around, run_apply
from runner.clusters.providers.options import refuse_unknown, wrong
from runner.clusters.providers.protocol import Plain, Status
from runner.clusters.work import Work
from runner.engine import Engine
from runner.faults import EngineFailed, TaskFailed
from runner.job import Preparation
from tidegate.clusters.rules.context import Access, ClusterReference, Key, reference_from
from tidegate.deploys.rules.job import JobKind, TakenJob

_OPTIONS = ("output", "kubeconfig_output")
_OUTPUT = "cluster_arn"
#: The exit code of a plan with ``-detailed-exitcode`` that has changes.
_CHANGES = 2


class Terraform(Plain, Around):
    """See the module. As what is around an apply, it probes before, and reads the outputs after."""

    def __init__(self, work: Work, preparation: Preparation, taken: TakenJob) -> None:
        self._work, self._preparation, self._taken = work, preparation, taken
        self._outputs: dict[str, Any] = {}

    def validate(self) -> None:
        work = self._work
        refuse_unknown(work, work.options, _OPTIONS)
        if len(work.options) > 1:
            raise wrong(work, "provider has both output and kubeconfig_output: say one")
        if work.plan.terraform is None and any(each.due and _applies(each.task) for each in work.plan.steps):
            raise TaskFailed("The plan has no plan of the root module. Nothing was applied. Plan again.")

    def status(self, key: Key) -> Status:
        """The engine knows what there is, and looks when it applies: before that, only what was recorded is known."""
        recorded = self._work.order.current.reference if self._work.order.current else ""
        return Status(reference_from(recorded) if recorded and key is self._work.own_key else None)

    def create(self, _key: Key) -> ClusterReference:
        self._apply()
        return self._reference()

    def upgrade(self, _key: Key) -> None:
        self._apply()

    def delete(self, _key: Key) -> None:
        self._apply()

    def is_done(self, engine: Engine) -> bool:
        """Tell whether the plan was applied before: planning the same again finds nothing to change."""
        destroy = ["-destroy"] if self._taken.job.destroy else []
        options = ["-detailed-exitcode", "-refresh=false", "-lock=false", "-input=false", "-no-color", *destroy]
        with Path(os.devnull).open("wb") as nothing:
            code = engine.processes.run([str(engine.program), "plan", *options], engine.root, engine.environ, nothing)
        if code not in {0, _CHANGES}:
            failed = EngineFailed(f"{engine.name} plan failed with exit code {code}.")
            failed.command = "plan"
            raise failed
        if code == 0:
            self._work.find("the root module is as it was planned")
        return code == 0

    def after(self, engine: Engine) -> None:
        """Read the outputs, and mask those that are secret."""
        if self._taken.job.destroy:
            return
        file = self._work.tools.directory / "outputs.json"
        with file.open("wb") as printed:
            code = engine.processes.run(
                [str(engine.program), "output", "-json", "-no-color"], engine.root, engine.environ, printed
            )
        if code:
            raise EngineFailed(f"{engine.name} output failed with exit code {code}.")
        self._outputs = json.loads(file.read_bytes() or b"{}")
        secrets = (each.get("value") for each in self._outputs.values() if each.get("sensitive"))
        self._work.tools.log.masker.add(text for text in secrets if isinstance(text, str))

    def _apply(self) -> None:
        plan = self._work.plan.terraform
        if plan is None:
            self._work.find("the plan has no change of the root module")
            return
        job = replace(self._taken.job, kind=JobKind.APPLY, plan_file=plan)
        run_apply(self._work.tools, self._preparation, replace(self._taken, job=job), self)

    def _reference(self) -> ClusterReference:
        options = self._work.options
        secret = options.get("kubeconfig_output")
        name = str(secret or options.get("output") or _OUTPUT)
        said = self._outputs.get(name, {}).get("value")
        if not isinstance(said, str) or not said:
            raise TaskFailed(
                f"The root module has no output {name} that says how to reach the cluster. Everything was applied. Add "
                "the output with the ARN of the EKS cluster, or name another in the cluster's file, and deploy again."
            )
        return ClusterReference(self._work.name, Access.SECRET if secret else Access.EKS, said)


def _applies(task: str) -> bool:
    return task == "upgrade-cluster" or task.startswith(("create-", "delete-"))
