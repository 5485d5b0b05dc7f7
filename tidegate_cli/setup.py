"""``tidegate setup``: a one-time code for the page that creates the GitHub App."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tidegate_cli.options import PREFIX, Json, Prefix

_CODE_BYTES = 24


def setup(
    *,
    configuration: Annotated[
        Path, typer.Option(metavar="FILE", help="The cdk.json that names the prefix.", show_default=True)
    ] = Path("cdk.json"),
    prefix: Prefix = "",
    json: Json = False,
) -> None:
    """Print a one-time code for the page that creates the GitHub App of a deployed installation.

    The code is valid for a day, and replaces the one before. Does nothing if the App's secrets exist.
    """
    from tidegate.setup.adapters.app_secrets import StoredAppSecrets
    from tidegate.setup.adapters.setup_codes import DynamoSetupCodes
    from tidegate.setup.rules.setup_code import CODE_SECONDS, SetupCode, digest
    from tidegate_cli import aws, screen
    from tidegate_cli.doctor.checks import read_context

    outputs = _outputs(str(prefix or read_context(configuration).get("prefix") or PREFIX))
    if not outputs["WebhookUrl"].endswith("/github"):
        text = "This installation is for GitLab. Store its tokens with `tidegate secret gitlab`."
        screen.say(text, {"url": None, "code": None, "existing": []}, json=json)
        return
    names = {"app": outputs["AppSecretName"], "webhook": outputs["WebhookSecretName"]}
    with aws.refusals():
        existing = StoredAppSecrets(aws.client("secretsmanager"), **names).existing()
        if existing:
            text = f"The GitHub App is set up: {' and '.join(existing)} exists."
            screen.say(text, {"url": None, "code": None, "existing": list(existing)}, json=json)
            return
        code = secrets.token_urlsafe(_CODE_BYTES)
        stored = SetupCode(digest(code), int(time.time()) + CODE_SECONDS)
        DynamoSetupCodes(aws.client("dynamodb"), outputs["TableName"]).put(stored)
    url = f"{outputs['ApiUrl']}/setup"
    text = f"Create the GitHub App at {url}\nwith this code, within a day: {code}"
    screen.say(text, {"url": url, "code": code, "existing": []}, json=json)


def _outputs(prefix: str) -> Mapping[str, str]:
    """Return the outputs of an installation's stack. Raise Refused without one."""
    from tidegate_cli import aws

    with aws.refusals("Deploy it with `make deploy` first, and check AWS_PROFILE and AWS_REGION."):
        stack = aws.client("cloudformation").describe_stacks(StackName=prefix.capitalize())["Stacks"][0]
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
