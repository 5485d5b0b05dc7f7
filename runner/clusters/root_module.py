"""The state of a cluster's root module, as its engine shows it: its outputs, and its EKS clusters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.apply_job import fetch_verified, restore_lock, set_workspace, with_init
from runner.engine import LOCK_FILE, Engine
from runner.faults import EngineFailed
from runner.job import Preparation, Tools
from runner.steps import StepRunner
from tidegate.deploys.rules.job import TakenJob
from tidegate.deploys.rules.workflow import StepKind, WorkflowStep


@dataclass(frozen=True, slots=True)
class ModuleState:
    """What is in the state: values of outputs by name, ARNs of EKS clusters, and the outputs that are secret."""

    outputs: Mapping[str, Any]
    eks_clusters: tuple[str, ...]
    secrets: tuple[str, ...]


def read_state(tools: Tools, preparation: Preparation, taken: TakenJob) -> ModuleState:
    """Initialize the engine as the apply does, and read the state. Mask outputs that are secret. Raise JobFault."""
    shown: dict[str, Any] = {}

    def act(engine: Engine, step: WorkflowStep) -> None:
        job = taken.job
        with preparation.modules_access(taken) as environ:
            engine.init(environ, step.extra_args, readonly=job.lock_file is not None)
        if job.root.workspace != "default":
            set_workspace(engine.root, job.root.workspace)
        shown.update(_show(tools, engine))

    engine, _ = preparation.engine(taken)
    lock = tools.directory / "lock.hcl"
    if taken.job.lock_file is not None:
        fetch_verified(tools, taken.job.lock_file, lock)
    restore_lock(taken.job, lock, engine.root / LOCK_FILE)
    steps = with_init(taken.job.run)
    until_init = steps[: [step.kind for step in steps].index(StepKind.INIT) + 1]
    if failure := StepRunner(tools, engine, taken.job).run(until_init, {StepKind.INIT: act}):
        raise failure
    state = module_state(shown.get("values", {}))
    tools.log.masker.add(state.secrets)
    return state


def _show(tools: Tools, engine: Engine) -> dict[str, Any]:
    file = tools.directory / "state.json"
    with file.open("wb") as printed:
        argv = [str(engine.program), "show", "-json", "-no-color"]
        code = engine.processes.run(argv, engine.root, engine.environ, printed)
    if code:
        raise EngineFailed(f"{engine.name} show failed with exit code {code}.")
    found: dict[str, Any] = json.loads(file.read_bytes() or b"{}")
    file.unlink()
    return found


def module_state(values: Mapping[str, Any]) -> ModuleState:
    """Return what ``show -json`` prints of a state under ``values``."""
    outputs = values.get("outputs", {})
    secrets = (each.get("value") for each in outputs.values() if each.get("sensitive"))
    arns = (each["values"].get("arn") for each in _resources(values.get("root_module", {})))
    return ModuleState(
        {name: each.get("value") for name, each in outputs.items()},
        tuple(arn for arn in arns if isinstance(arn, str)),
        tuple(text for text in secrets if isinstance(text, str)),
    )


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the EKS clusters that a module and its children manage."""
    for each in module.get("resources", ()):
        if (each["mode"], each["type"]) == ("managed", "aws_eks_cluster"):
            yield each
    for child in module.get("child_modules", ()):
        yield from _resources(child)
