"""The steps of a smoke test that show whether the installation works: each says what it saw."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

from tidegate_cli.smoke.course import StepFailed, StepSkipped, Within
from tidegate_cli.smoke.forge import FILE, configuration, module
from tidegate_cli.smoke.scene import Scene

#: A function's version in a state machine's definition.
_VERSION = re.compile(r"function:([A-Za-z0-9_-]+):([0-9]+)")
#: A program that outlives what the engine and its shell are told: its runner is killed with it.
_STUBBORN = "trap '' INT TERM; for i in $(seq 1 300); do sleep 1; done"
_READ = "cloudwatch:DescribeAlarms and the policy of the alarm topic"


def make_bucket(scene: Scene, _within: Within) -> str:
    """Make the bucket of the state first: it also remembers what is to be cleaned."""
    s3, region = scene.client("s3"), scene.place.region
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=scene.bucket, **where)
    blocked = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
    s3.put_public_access_block(Bucket=scene.bucket, PublicAccessBlockConfiguration=dict.fromkeys(blocked, True))
    app = scene.scratch.app
    record = {"repository": scene.scratch.repository, "forge_url": app.forge_url, "api_url": app.api_url}
    s3.put_object(Bucket=scene.bucket, Key="smoke.json", Body=json.dumps(record).encode())
    return scene.bucket


def store_secrets(scene: Scene, _within: Within) -> str:
    """Store the App's key and a webhook secret of chance, as ``tidegate secret`` does."""
    client, app = scene.client("secretsmanager"), scene.scratch.app
    values: Mapping[str, Any] = {
        scene.names.webhook_secret: {"secrets": [secrets.token_hex(32)]},
        scene.names.app_secret: {"app_id": app.number, "private_key": app.private_key},
    }
    for name, value in values.items():
        client.create_secret(Name=name, SecretString=json.dumps(value))
    return " and ".join(values)


def deploy(scene: Scene, within: Within) -> str:
    """Deploy the template."""
    scene.place.deploy(scene.template_context("smoke-1"), within)
    scene.outputs = scene.read_outputs()
    return f"The stack {scene.names.stack} answers at {scene.outputs['ApiUrl']}."


def point_webhook(scene: Scene, _within: Within) -> str:
    """Let the App's webhooks go to the installation."""
    held = scene.client("secretsmanager").get_secret_value(SecretId=scene.names.webhook_secret)["SecretString"]
    url = scene.outputs["WebhookUrl"]
    scene.scratch.point_webhook_at(url, json.loads(held)["secrets"][0])
    return f"The App sends its webhooks to {url}."


def push(scene: Scene, within: Within) -> str:
    """Push a root without providers, and see that its plan waits for a review."""
    sha = _push(scene, "one")
    found = scene.await_deployment(sha, "awaiting_review", within)
    if not found.changes or found.changes.add != 1:
        raise StepFailed(f"The plan of {found.id} adds {found.changes}, not one resource.", scene.where(found.id))
    scene.waiting = found.id
    return f"{found.id} waits for a review: +1. Its plan ran on {plan_runner(scene, found.id)}."


def plan_runner(scene: Scene, deployment: str) -> str:
    """Return where a deployment was planned. Raise StepFailed when Lambda was to do it, and Fargate had to help.

    With ``auto`` Fargate may be right: there are regions and settings in which Lambda cannot.
    """
    kind = scene.context.get("plan_runner", "fargate")
    jobs = [each for state in ("RUNNING", "STOPPED") for task in _tasks(scene, state) for each in _jobs(task)]
    if not any(job.startswith(f"{deployment}-plan-") for job in jobs):
        return "Lambda"
    if kind == "lambda":
        raise StepFailed("plan_runner is lambda, and its plan ran on Fargate.", scene.where(deployment))
    return "Fargate"


def approve(scene: Scene, within: Within) -> str:
    """Approve the plan that waits, and see that it is applied: the state has the resource."""
    deployment = scene.ask(lambda client: client.deployment(scene.waiting))
    scene.ask(lambda client: client.review(deployment.id, "approve", deployment.plan_digest))
    scene.await_deployment(deployment.revision, "applied", within)
    stored = scene.client("s3").get_object(Bucket=scene.bucket, Key=_key(scene))["Body"].read()
    resources = [each["name"] for each in json.loads(stored)["resources"]]
    if resources != ["null"]:
        raise StepFailed(
            f"The state of {deployment.id} has {resources}, not one resource.", f"s3://{scene.bucket}/{_key(scene)}"
        )
    return f"{deployment.id} is applied; the state has its resource."


def ring(scene: Scene, within: Within) -> str:
    """Set an alarm's state, and see that the topic delivers it."""
    cloudwatch, sqs, sns = scene.client("cloudwatch"), scene.client("sqs"), scene.client("sns")
    topic = scene.outputs["AlarmTopic"]
    every = cloudwatch.describe_alarms(AlarmNamePrefix=f"{scene.names.prefix}-")["MetricAlarms"]
    alarm = next((each["AlarmName"] for each in every if topic in each["AlarmActions"]), None)
    if alarm is None:
        raise StepFailed(f"None of {len(every)} alarms has the alarm topic as an action.", _READ)
    arn = f"{topic.rpartition(':')[0].replace(':sns:', ':sqs:')}:{scene.names.probe}"
    allow = {"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage"}
    policy = {"Version": "2012-10-17", "Statement": [{**allow, "Resource": arn, "Condition": _from(topic)}]}
    url = sqs.create_queue(QueueName=scene.names.probe, Attributes={"Policy": json.dumps(policy)})["QueueUrl"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="tidegate smoke")

    def heard() -> str | None:
        messages = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5).get("Messages", [])
        told = [json.loads(each["Body"]) for each in messages]
        return next((each["AlarmName"] for each in told if each.get("AlarmName") == alarm), None)

    within.until(heard, lambda: f"{alarm} is in ALARM, but the topic delivered nothing.", _READ)
    cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="OK", StateReason="tidegate smoke")
    return f"The topic delivered {alarm}."


def _from(topic: str) -> dict[str, Any]:
    return {"ArnEquals": {"aws:SourceArn": topic}}


def stop_planning(scene: Scene, within: Within) -> str:
    """Stop the runner in the middle of a plan, and see that another one plans again. Its review is left waiting."""
    kind = scene.context.get("plan_runner", "fargate")
    if kind != "fargate":
        sha = _push(scene, "two")
        scene.waiting = scene.await_deployment(sha, "awaiting_review", within).id
        ran = plan_runner(scene, scene.waiting)
        raise StepSkipped(
            f"plan_runner is {kind}: no task is stopped. {scene.waiting} was planned on {ran}, and waits."
        )
    sha = _push(scene, "two", hold=scene.place.hold)
    deployment = scene.await_deployment(sha, "planning", within).id
    task = _running(scene, f"{deployment}-plan-1", within)
    _await_job(scene, f"{deployment}-plan-1", within)
    _stop(scene, task)
    found = scene.await_deployment(sha, "awaiting_review", within)
    jobs = [each.id for each in found.jobs if each.kind == "plan"]
    if f"{deployment}-plan-2" not in jobs:
        raise StepFailed(f"{task} was stopped, but no other task planned: {', '.join(jobs)}", scene.where(deployment))
    scene.waiting = deployment
    return f"{deployment}-plan-1 was stopped; {deployment}-plan-2 planned, and waits for a review."


def upgrade(scene: Scene, within: Within) -> str:
    """Deploy a changed template, with new versions of all functions, while a review waits."""
    if not scene.waiting:
        raise StepFailed("No review waits.")
    before = _versions(scene)
    scene.place.deploy(scene.template_context("smoke-2"), within)
    after = _versions(scene)
    newer = {name for name in after if after[name] != before.get(name)}
    if newer != set(after):
        text = f"Definitions still name the versions before: {', '.join(sorted(set(after) - newer))}"
        raise StepFailed(text, f"the definition of {scene.names.prefix}-terraform")
    state = scene.ask(lambda client: client.deployment(scene.waiting)).state
    if state != "awaiting_review":
        raise StepFailed(f"{scene.waiting} is {state}.", scene.where(scene.waiting))
    return f"{len(newer)} functions of the definition have new versions; {scene.waiting} still waits."


def stop_applying(scene: Scene, within: Within) -> str:
    """Stop the runner in the middle of an apply, see that the outcome is unknown and the queue locked; unlock it."""
    sha = _push(scene, "three", command=_STUBBORN)
    found = scene.await_deployment(sha, "awaiting_review", within)
    scene.ask(lambda client: client.review(found.id, "approve", found.plan_digest))
    scene.await_deployment(sha, "applying", within)
    task = _running(scene, f"{found.id}-apply-1", within)
    _await_line(scene, found.id, within)
    _stop(scene, task)
    scene.await_deployment(sha, "outcome_unknown", within)
    where = scene.scratch.repository, scene.names.root
    scene.ask(lambda client: client.unlock(*where))
    return f"{found.id}-apply-1 was stopped: its outcome is unknown. The queue was locked, and is unlocked."


def _await_job(scene: Scene, job: str, within: Within) -> None:
    """Wait until the runner has taken the job: one that is stopped before is started again for the same job."""
    state = ["nothing"]

    def taken() -> bool | None:
        state[0] = scene.ask(lambda client: client.job(job)).state
        return True if state[0] == "running" else None

    within.until(taken, lambda: f"{job} is {state[0]}.", scene.where(job.removesuffix("-plan-1")))


def _await_line(scene: Scene, deployment: str, within: Within) -> None:
    """Wait until the engine says that it makes the resource: a runner that has not begun knows its outcome."""

    def begun() -> bool | None:
        lines = scene.ask(lambda client: client.log(f"{deployment}-apply-1", 0)).lines
        return True if any("Provisioning with" in line for line in lines) else None

    within.until(begun, lambda: "The engine did not start the apply.", scene.where(deployment))


def _push(scene: Scene, value: str, *, hold: int = 0, command: str = "") -> str:
    root = module(scene.bucket, _key(scene), scene.place.region, value, command)
    files = {f"{scene.names.root}/main.tf": root, FILE: configuration(scene.names.prefix, hold)}
    return scene.scratch.push(files, f"Deploy {value} of {scene.names.prefix}")


def _key(scene: Scene) -> str:
    return f"{scene.names.root}.tfstate"


def _versions(scene: Scene) -> dict[str, str]:
    """Return which versions of its functions the terraform machine calls."""
    arn = scene.outputs["TerraformStateMachine"]
    definition = scene.client("stepfunctions").describe_state_machine(stateMachineArn=arn)["definition"]
    return dict(_VERSION.findall(definition))


def _running(scene: Scene, job: str, within: Within) -> str:
    """Return the ARN of the task that runs a job, once it runs."""

    def look() -> str | None:
        tasks = [each for each in _tasks(scene, "RUNNING") if each["lastStatus"] == "RUNNING"]
        return next((each["taskArn"] for each in tasks if job in _jobs(each)), None)

    return within.until(
        look, lambda: f"No task runs for {job}.", f"the tasks of the cluster {scene.outputs['Cluster']}"
    )


def _tasks(scene: Scene, state: str) -> list[Mapping[str, Any]]:
    """Return the tasks that are to be in this state: ECS remembers those that stopped for an hour at least."""
    ecs, cluster = scene.client("ecs"), scene.outputs["Cluster"]
    arns = ecs.list_tasks(cluster=cluster, desiredStatus=state)["taskArns"]
    found: list[Mapping[str, Any]] = ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"] if arns else []
    return found


def _jobs(task: Mapping[str, Any]) -> list[str]:
    overrides = task["overrides"].get("containerOverrides", [])
    variables = [each for override in overrides for each in override.get("environment", [])]
    return [each["value"] for each in variables if each["name"] == "TIDEGATE_JOB"]


def _stop(scene: Scene, task: str) -> None:
    scene.client("ecs").stop_task(cluster=scene.outputs["Cluster"], task=task, reason="tidegate smoke")
