"""``tidegate``: the command that operators use."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import local, organization, policy, secret
from cli.convert import convert
from cli.deploy import deploy, destroy
from cli.doctor import doctor
from cli.drift import drift
from cli.exits import epilog
from cli.explain import explain
from cli.logs import logs
from cli.pulls import pulls
from cli.queue import lock, queue, unlock
from cli.review import approve, cancel, override, reject, retry
from cli.smoke.command import smoke
from cli.stacks import stacks
from cli.status import status
from cli.tree import Command, Commands
from cli.validate import validate

app = typer.Typer(
    name="tidegate",
    cls=Commands,
    help="Serverless GitOps for Terraform and OpenTofu on AWS.",
    epilog=epilog(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"tidegate {version('tidegate')}")
        raise typer.Exit


@app.callback()
def tidegate(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Deploy Terraform and OpenTofu by merging."""


for _command in (
    status,
    stacks,
    pulls,
    drift,
    queue,
    deploy,
    destroy,
    approve,
    reject,
    retry,
    override,
    cancel,
    lock,
    unlock,
    logs,
):
    app.command(cls=Command, rich_help_panel="Deploying")(_command)
app.command("confirm", cls=Command, rich_help_panel="Deploying")(approve)  # The word of buttons and pages.
for _looking in (validate, explain, convert):
    app.command(cls=Command, rich_help_panel="Configuring")(_looking)
app.add_typer(policy.app, name="policy", rich_help_panel="Configuring")
app.command("doctor", cls=Command, rich_help_panel="Installing")(doctor)
app.command("smoke", cls=Command, rich_help_panel="Installing")(smoke)
app.add_typer(secret.app, name="secret", rich_help_panel="Installing")
app.add_typer(organization.app, name="organization", rich_help_panel="Installing")
app.add_typer(local.app, name="local", rich_help_panel="Installing")


if __name__ == "__main__":
    app()
