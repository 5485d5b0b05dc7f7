"""The cleanup of a smoke test, also for ``--destroy``: everything with the prefix, and nothing else."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from tidegate_cli.smoke.course import StepFailed, StepSkipped, Within
from tidegate_cli.smoke.forge import NOWHERE
from tidegate_cli.smoke.leftovers import leftovers, stack_id
from tidegate_cli.smoke.scene import Scene

_MACHINES = (
    *("DeployStateMachine", "TerraformStateMachine", "PullRequestStateMachine", "DriftStateMachine"),
    *("ConfigUpdateStateMachine", "PromotionStateMachine"),
)


def release_webhook(scene: Scene, _within: Within) -> str:
    """Let the App's webhooks go nowhere again, if they go to this installation."""
    _outputs(scene)
    if not scene.scratch.app.number:
        raise StepSkipped("The App was not used.")
    if "WebhookUrl" not in scene.outputs or scene.scratch.webhook() != scene.outputs["WebhookUrl"]:
        raise StepSkipped("The App sends its webhooks elsewhere.")
    scene.scratch.point_webhook_at(NOWHERE, "nobody's")
    return f"The App sends its webhooks to {NOWHERE} again."


def clean_repository(scene: Scene, _within: Within) -> str:
    """Delete what was committed to the repository."""
    if not scene.scratch.repository:
        raise StepSkipped("There is no repository.")
    if not scene.scratch.clean(scene.names.prefix):
        raise StepSkipped("Nothing was committed.")
    return f"{scene.names.root} and tidegate.yaml are deleted from {scene.scratch.repository}."


def stop_work(scene: Scene, within: Within) -> str:
    """Stop executions and runners: their network cannot be deleted under them."""
    _outputs(scene)
    if "Cluster" not in scene.outputs:
        raise StepSkipped("There is no stack.")
    states, ecs, cluster = scene.client("stepfunctions"), scene.client("ecs"), scene.outputs["Cluster"]
    running = [
        execution["executionArn"]
        for machine in _MACHINES
        for page in states.get_paginator("list_executions").paginate(
            stateMachineArn=scene.outputs[machine], statusFilter="RUNNING"
        )
        for execution in page["executions"]
    ]
    for execution in running:
        states.stop_execution(executionArn=execution, cause="tidegate smoke")
    tasks = ecs.list_tasks(cluster=cluster, desiredStatus="RUNNING")["taskArns"]
    for task in tasks:
        ecs.stop_task(cluster=cluster, task=task, reason="tidegate smoke")
    within.until(
        lambda: None if _alive(ecs, cluster, tasks) else True,
        lambda: f"{len(tasks)} tasks are stopping.",
        f"the tasks of the cluster {cluster}",
    )
    return f"{len(running)} executions and {len(tasks)} runners were stopped."


def _alive(ecs: Any, cluster: str, tasks: list[str]) -> bool:
    found = ecs.describe_tasks(cluster=cluster, tasks=tasks)["tasks"] if tasks else []
    return any(each["lastStatus"] != "STOPPED" for each in found)


def delete_stack(scene: Scene, within: Within) -> str:
    """Take the protection from the stack, and delete it."""
    client, found = scene.client("cloudformation"), stack_id(scene.client, scene.names)
    if found is None:
        raise StepSkipped(f"There is no stack {scene.names.stack}.")
    status = [""]

    def gone() -> bool | None:
        stack = client.describe_stacks(StackName=found)["Stacks"][0]
        status[0] = f"{stack['StackStatus']} {stack.get('StackStatusReason', '')}".strip()
        if stack["StackStatus"] == "DELETE_COMPLETE":
            return True
        if stack["StackStatus"] != "DELETE_IN_PROGRESS":
            _ask_to_delete(client, scene.names.stack, status)
        return None

    look_at = f"the events of the stack {scene.names.stack} in the CloudFormation console"
    within.until(gone, lambda: f"{scene.names.stack} is {status[0]}.", look_at)
    return f"{scene.names.stack} is deleted."


def _ask_to_delete(client: Any, stack: str, status: list[str]) -> None:
    """Ask for it; a stack that is being updated refuses, and is asked again later."""
    try:
        client.update_termination_protection(EnableTerminationProtection=False, StackName=stack)
        client.delete_stack(StackName=stack)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        status[0] = str(error)


def delete_leftovers(scene: Scene, _within: Within) -> str:
    """Delete what the stack leaves behind on purpose, and what was made beside it."""
    if stack_id(scene.client, scene.names) is not None:
        raise StepFailed("The stack is still there.", "Delete it, then run tidegate smoke --destroy again.")
    found = list(leftovers(scene.client, scene.names))
    for each in found:
        each.delete()
    counted = {kind: sum(each.kind == kind for each in found) for kind in dict.fromkeys(each.kind for each in found)}
    return ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in counted.items()) or "Nothing."


def see_nothing(scene: Scene, within: Within) -> str:
    """See that nothing with the prefix is left. Deletion of tables and task definitions takes a while."""

    def left() -> str:
        return ", ".join(f"{each.kind} {each.name}" for each in leftovers(scene.client, scene.names))

    again = f"tidegate smoke --destroy {scene.names.prefix}"
    within.until(lambda: None if left() else True, lambda: f"Left: {left()}.", again)
    return "No resource with the prefix is left."


def _outputs(scene: Scene) -> None:
    """Read the outputs if nobody has: after an interruption the stack may have none."""
    if not scene.outputs and stack_id(scene.client, scene.names) is not None:
        scene.outputs = scene.read_outputs()
