"""``tidegate``: the command that operators use."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate_cli import clusters, local, organization, policy, secret, updates
from tidegate_cli.announce import announce
from tidegate_cli.browse import open_page
from tidegate_cli.convert import convert
from tidegate_cli.deploy import deploy, destroy
from tidegate_cli.doctor.command import doctor
from tidegate_cli.drift import drift
from tidegate_cli.exits import epilog
from tidegate_cli.explain import explain
from tidegate_cli.insights import insights
from tidegate_cli.logs import logs
from tidegate_cli.notifications import notifications
from tidegate_cli.pulls import pulls
from tidegate_cli.queue import lock, queue, unlock
from tidegate_cli.review import approve, override, reject, retry
from tidegate_cli.runs import cancel, rerun, runs, show
from tidegate_cli.setup import setup
from tidegate_cli.smoke.command import smoke
from tidegate_cli.stacks import stacks
from tidegate_cli.status import status
from tidegate_cli.tree import Command, Commands
from tidegate_cli.validate import validate

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
    runs,
    show,
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
    rerun,
    cancel,
    lock,
    unlock,
    logs,
    notifications,
    insights,
):
    app.command(cls=Command, rich_help_panel="Deploying")(_command)
app.command("open", cls=Command, rich_help_panel="Deploying")(open_page)
app.command("confirm", cls=Command, rich_help_panel="Deploying", help="The same as approve.", deprecated=True)(approve)
app.command("announce", cls=Command, rich_help_panel="Config updates")(announce)
app.add_typer(updates.app, name="updates", rich_help_panel="Config updates")
app.add_typer(clusters.app, name="cluster", rich_help_panel="Clusters")
for _looking in (validate, explain, convert):
    app.command(cls=Command, rich_help_panel="Configuring")(_looking)
app.add_typer(policy.app, name="policy", rich_help_panel="Configuring")
app.command("doctor", cls=Command, rich_help_panel="Installing")(doctor)
app.command("setup", cls=Command, rich_help_panel="Installing")(setup)
app.command("smoke", cls=Command, rich_help_panel="Installing")(smoke)
app.add_typer(secret.app, name="secret", rich_help_panel="Installing")
app.add_typer(organization.app, name="organization", rich_help_panel="Installing")
app.add_typer(local.app, name="local", rich_help_panel="Installing")


if __name__ == "__main__":
    app()
