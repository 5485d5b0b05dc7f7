"""Let Step Functions validate the state machines before a deploy: a refused one would fail it half-way.

``ValidateStateMachineDefinition`` answers ``OK`` for what can be created, and knows which parameters an integration
takes (https://docs.aws.amazon.com/step-functions/latest/apireference/API_ValidateStateMachineDefinition.html).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.aws.definitions import ENDING, rendered
from tidegate.clusters.adapters.machines import PARTS, cluster_machines
from tidegate_cli.doctor.result import Result

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_ARN = "arn:aws:{}:us-east-1:111122223333:{}"
#: What stands for a resource that the template makes, by how its name ends.
_EXAMPLES = {
    "Function": _ARN.format("lambda", "function:tidegate-example:1"),
    "StateMachine": _ARN.format("states", "stateMachine:tidegate-example"),
    "Machines": _ARN.format("states", "stateMachine:tidegate-"),
    "TaskDefinition": _ARN.format("ecs", "task-definition/tidegate-example:1"),
    "Cluster": _ARN.format("ecs", "cluster/tidegate"),
    "Subnets": "subnet-00000000000000000",
    "SecurityGroup": "sg-00000000000000000",
    "AssignPublicIp": "ENABLED",
    "Lambda": _ARN.format("lambda", "function:tidegate-example:1"),
}
_CHECK = "state machines"


def check_definitions(states: Any, folder: Path) -> Result:
    """Return what Step Functions (a boto3 client) says of the state machines in a folder."""
    try:
        refused = [told for name, text in _machines(folder) for told in _refusals(states, name, text)]
    except (BotoCoreError, ClientError) as error:
        do = "Allow states:ValidateStateMachineDefinition, or deploy without this check."
        return Result(_CHECK, "warn", f"Step Functions did not check them: {error}", do)
    if refused:
        return Result(_CHECK, "fail", "; ".join(refused), "Deploy another release, and report this bug.")
    return Result(_CHECK, "ok", "Step Functions accepts the definitions.")


def _machines(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the machines: those of files, and those of cluster workflows with the hooks that come with Tidegate."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        yield path.name, rendered(path)
    if (folder / PARTS).exists():
        yield from cluster_machines(folder)


def _refusals(states: Any, name: str, text: str) -> Iterator[str]:
    definition = _PLACEHOLDER.sub(_example, text)
    answer = states.validate_state_machine_definition(definition=definition, type="STANDARD", severity="ERROR")
    for each in answer["diagnostics"] if answer["result"] != "OK" else ():
        where = f" at {each['location']}" if each.get("location") else ""
        yield f"{name}: {each['code']}{where}: {each['message']}"


def _example(found: re.Match[str]) -> str:
    return next((value for end, value in _EXAMPLES.items() if found[1].endswith(end)), found[0])
