"""``tidegate local``: the local cloud for a person."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from local import instances
from local.client import LocalCloud, LocalCloudFailed
from local.options import Options

app = typer.Typer(no_args_is_help=True, help="The whole product on this machine, without an AWS account.")

_Port = Annotated[
    int | None, typer.Option(min=1024, max=65533, help="The forge's port; the next two are used as well.")
]
_SHOWN = (
    ("Forge (open it in a browser)", "forge_url"),
    ("Webhooks", "webhook_url"),
    ("HTTP API", "api_url"),
    ("AWS API", "aws_endpoint_url"),
    ("Terraform state bucket", "state_bucket"),
)


@app.command()
def up(
    port: _Port = None,
    warm: Annotated[bool, typer.Option(help="Start an instance of each function at once.")] = True,
    log: Annotated[Path | None, typer.Option(help="Write the local cloud's own messages to this file.")] = None,
) -> None:
    """Start a local cloud and keep it running until Ctrl-C."""
    console = Console()
    try:
        cloud = _cloud(port, log, warm=warm)
    except OSError as error:
        typer.echo(f"The local cloud cannot start: {error}", err=True)
        raise typer.Exit(1) from error
    _end_by_signals()
    try:
        with console.status("Starting the local cloud: synthesizing and deploying the CDK app …"):
            cloud.start()
    except KeyboardInterrupt:
        cloud.stop()
        raise typer.Exit(130) from None
    except LocalCloudFailed as error:
        Console(stderr=True).print(f"The local cloud did not start: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    file = instances.write({**cloud.info, "command_pid": os.getpid()})
    try:
        _show(console, cloud.info)
        _wait(cloud)
    finally:
        file.unlink(missing_ok=True)
        cloud.stop()
    console.print("The local cloud has ended.")


@app.command()
def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
    port: _Port = None,
) -> None:
    """Say where the running local cloud is."""
    found = _find(port)
    if as_json:
        typer.echo(json.dumps({name: value for name, value in found.items() if name != "command_pid"}, indent=2))
    else:
        _show(Console(), found)


@app.command()
def down(port: _Port = None) -> None:
    """End the running local cloud."""
    found = _find(port)
    os.kill(int(found["command_pid"]), signal.SIGTERM)
    typer.echo("The local cloud is ending.")


def _cloud(port: int | None, log: Path | None, *, warm: bool) -> LocalCloud:
    forge, api, aws = instances.ports(port)
    return LocalCloud(Options(forge_port=forge, api_port=api, aws_port=aws, warm=warm), log=log)


def _find(port: int | None) -> dict[str, Any]:
    try:
        return instances.find(port)
    except instances.NotRunning as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


def _end_by_signals() -> None:
    """End in the same way by SIGINT and SIGTERM, also where a shell has told us to ignore the first."""

    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)


def _wait(cloud: LocalCloud) -> None:
    try:
        cloud.wait()
    except KeyboardInterrupt:
        # The second Ctrl-C must not interrupt the ending.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _show(console: Console, found: dict[str, Any]) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for label, name in _SHOWN:
        table.add_row(label, str(found[name]))
    console.print(table)
    console.print(
        "Sign in at the forge as maintainer, reviewer or visitor (the password is the name). "
        "Details for scripts: tidegate local info --json. Ctrl-C ends everything.",
        markup=False,
    )
