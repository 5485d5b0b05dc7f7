"""Checks before anything is created: the caller, the prefix, and permissions."""

from __future__ import annotations

import os

from botocore.exceptions import BotoCoreError, ClientError

from tidegate_cli import aws
from tidegate_cli.problems import Refused
from tidegate_cli.smoke.course import StepFailed, Within
from tidegate_cli.smoke.leftovers import leftovers, stack_id
from tidegate_cli.smoke.permissions import ACTIONS
from tidegate_cli.smoke.scene import Scene


def identify(scene: Scene) -> str:
    """Learn the account, and return who calls. Raise Refused without credentials."""
    with aws.refusals():
        who = scene.client("sts").get_caller_identity()
    scene.account = str(who["Account"])
    return str(who["Arn"])


def refuse_taken(scene: Scene) -> None:
    """Raise Refused when something with the prefix exists."""
    if taken := what_is_there(scene):
        raise Refused(f"{taken[0]} exists.", f"tidegate smoke --destroy {scene.names.prefix} removes it.")


def what_is_there(scene: Scene) -> list[str]:
    """Return the kinds and names of all that has the prefix."""
    stack = [f"stack {scene.names.stack}"] if stack_id(scene.client, scene.names) else []
    return stack + [f"{each.kind} {each.name}" for each in leftovers(scene.client, scene.names)]


def check_account(scene: Scene, arn: str, _within: Within) -> str:
    """Ask IAM whether the caller may do what follows. Who may not ask is told so, and goes on."""
    try:
        denied = _denied(scene, arn)
    except (BotoCoreError, ClientError) as error:
        return f"{arn}; AWS did not list its permissions ({error})"[:300]
    if denied:
        raise StepFailed(f"{arn} may not {', '.join(denied)}.", "docs/smoke.md lists the permissions.")
    return f"{arn} has its permissions."


def _denied(scene: Scene, arn: str) -> list[str]:
    iam = scene.client("iam")
    if arn.endswith(":root"):
        return []
    if ":assumed-role/" in arn:
        arn = str(iam.get_role(RoleName=arn.split("/")[1])["Role"]["Arn"])
    asking = iam.get_paginator("simulate_principal_policy")
    place = {"prefix": scene.names.prefix, "stack": scene.names.stack}
    denied = []
    for resource, actions in ACTIONS.items():
        wanted = resource.format(account=scene.account, region=scene.place.region, **place)
        pages = asking.paginate(PolicySourceArn=arn, ActionNames=list(actions), ResourceArns=[wanted])
        every = [each for page in pages for each in page["EvaluationResults"]]
        denied += [each["EvalActionName"] for each in every if each["EvalDecision"] != "allowed"]
    return denied


def check_builder() -> str:
    """Return which container builder there is. Raise Refused without one: the template has four images."""
    from tidegate_cli.doctor.builders import find_builder

    _, finding = find_builder(os.environ)
    if finding.verdict == "fail":
        raise Refused(finding.found, finding.do)
    return finding.found


def check_bootstrap(scene: Scene) -> str:
    """Return the version of the CDK's bootstrap. Raise Refused where there is none."""
    try:
        found = scene.client("ssm").get_parameter(Name="/cdk-bootstrap/hnb659fds/version")["Parameter"]["Value"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        advice = f"python -m tidegate_cdk.command bootstrap aws://{scene.account}/{scene.place.region}"
        raise Refused("This account and region are not bootstrapped for the CDK.", advice) from error
    return f"CDK bootstrap {found}."
