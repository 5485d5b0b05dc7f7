"""``tidegate local``: the local cloud for a person."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.options import Json, whole_number
from tidegate_cli.problems import NotFound, Refused, WrongUsage
from tidegate_cli.tree import Command, Group
from tidegate_local import instances

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from tidegate_local.client import LocalCloud

app = typer.Typer(cls=Group, no_args_is_help=True, help="The whole product on this machine, without an AWS account.")

#: The operators' team of a local cloud, unless another is given: the local forge has this team in every organization.
_OPERATORS = "acme/platform"

_Port = Annotated[
    int | None,
    typer.Option(
        metavar="PORT",
        parser=whole_number("it is a port from 1024 to 65533", 1024, 65533),
        help="The forge's port. The cloud uses the next two as well.",
    ),
]
_SHOWN = (
    ("Webhooks", "webhook_url"),
    ("HTTP API and pages", "api_url"),
    ("AWS API", "aws_endpoint_url"),
    ("Terraform state bucket", "state_bucket"),
    ("Operators", "operators_team"),
)
#: Ending stops every process that the local cloud started; each has up to 20 s.
_END_SECONDS = 45.0


_Operators = Annotated[
    str, typer.Option("--operators", metavar="ORG/TEAM", help="The team for manual deployments in ORG's repositories.")
]
_GitLab = Annotated[
    bool, typer.Option("--gitlab", help="Use a stand-in for GitLab (API and git, no pages) instead of GitHub.")
]
_Sample = Annotated[
    bool, typer.Option("--sample", help="Fill it with an organization: roots, stacks, a failure, drift, reviews.")
]
_Log = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the messages of the local cloud to this file.")]


@app.command(cls=Command)
def up(
    *,
    port: _Port = None,
    warm: Annotated[bool, typer.Option(help="Start an instance of each function immediately.")] = True,
    operators: _Operators = _OPERATORS,
    gitlab: _GitLab = False,
    sample: _Sample = False,
    log: _Log = None,
) -> None:
    """Start a local cloud and keep it running until Ctrl-C."""
    from tidegate_cli.screen import console

    if sample and gitlab:
        raise WrongUsage("The sample is for the stand-in for GitHub.", "Omit --sample or --gitlab.")
    _require_packages()
    from tidegate_local.client import LocalCloudFailed

    out = console()
    try:
        cloud = _cloud(port, log, operators, warm=warm, gitlab=gitlab)
    except (OSError, ValueError) as error:
        raise Refused(f"The local cloud cannot start: {error}") from error
    end_by_signals()
    try:
        with out.status("Starting the local cloud …") as status:
            cloud.start(lambda step: _tell_step(out, status, "Starting the local cloud", step))
    except KeyboardInterrupt:
        cloud.stop()
        raise
    except LocalCloudFailed as error:
        typer.secho(f"The local cloud did not start: {error}", fg="red", err=True)
        raise typer.Exit(1) from error
    known = {**cloud.info, "operators_team": operators}
    file = instances.write({**known, "command_pid": os.getpid()})
    try:
        _show(out, known)
        if "latency" in known:
            out.print("Simulated AWS latency is on: tidegate_local/latency.toml.")
        if sample:
            _fill(cloud, out)
        out.print("Ctrl-C ends it.")
        _wait(cloud)
    finally:
        file.unlink(missing_ok=True)
        cloud.stop()
    out.print("The local cloud has ended.")


def _fill(cloud: LocalCloud, out: Console) -> None:
    """Fill the cloud with the sample. What fails is told: the cloud goes on with what is there."""
    from tidegate_local.forge.client import ForgeAnswered
    from tidegate_local.sample.organization import CONTENT, Organization, SampleFailed
    from tidegate_local.updates_client import ApiAnswered

    try:
        with out.status("Filling it …") as status:
            Organization(cloud, lambda step: _tell_step(out, status, "Filling it", step)).fill()
    except (SampleFailed, ApiAnswered, ForgeAnswered) as error:
        typer.secho(f"The sample is not complete: {error}", fg="red", err=True)
        return
    out.print(CONTENT)


class _Act(StrEnum):
    """The acts of the demo (``tidegate_local.demo.acts``)."""

    CHANGES = "changes"
    UPDATES = "updates"
    CLUSTERS = "clusters"


@app.command(cls=Command)
def demo(
    *,
    act: Annotated[
        _Act, typer.Option(help="What to play: a merge and a pull request, images that reach production, or clusters.")
    ] = _Act.CHANGES,
) -> None:
    """Start a local cloud, deploy a sample repository in it, and end it."""
    _require_packages()
    from tidegate_local.demo.__main__ import main

    raise typer.Exit(main(act.value))


def _require_packages() -> None:
    """Raise Refused where only the command is installed."""
    if find_spec("moto") is None:
        do = "Install them: `pip install 'tidegate[local]'`."
        raise Refused("The packages of the local cloud are not installed.", do)


@app.command(cls=Command)
def info(*, port: _Port = None, json: Json = False) -> None:
    """Print the URLs of the running local cloud."""
    from tidegate_cli import screen

    found = _find(port)
    if json:
        from tidegate_cli.local_info import for_scripts

        screen.print_json(for_scripts(found))
    else:
        _show(screen.console(), found)


@app.command(cls=Command)
def down(*, port: _Port = None, json: Json = False) -> None:
    """End the running local cloud."""
    from tidegate_cli import screen

    found = _find(port, unambiguous=True)
    with contextlib.suppress(ProcessLookupError):  # Then the local cloud is ending already.
        os.kill(int(found["command_pid"]), signal.SIGTERM)
    with screen.console(stderr=json).status("Ending the local cloud …"):
        _await_end(int(found["pid"]))
    if json:
        screen.print_json({"forge_url": found["forge_url"], "ended": True})
    else:
        typer.echo("The local cloud has ended.")


def _await_end(pid: int) -> None:
    """Return when the process of the local cloud, which ends after all that it started, is gone. Raise Refused."""
    end = time.monotonic() + _END_SECONDS
    while instances.is_alive(pid):
        if time.monotonic() > end:
            raise Refused(f"The local cloud (process {pid}) has not ended within {_END_SECONDS:.0f} s.")
        time.sleep(0.1)


def _cloud(port: int | None, log: Path | None, operators: str, *, warm: bool, gitlab: bool) -> LocalCloud:
    from tidegate_local.client import LocalCloud
    from tidegate_local.options import Options

    forge, api, aws = instances.ports(port)
    context = {"operators_team": operators}
    ports = {"forge_port": forge, "api_port": api, "aws_port": aws}
    return LocalCloud(Options(**ports, warm=warm, gitlab=gitlab, context=context), log=log)


def _find(port: int | None, *, unambiguous: bool = False) -> dict[str, Any]:
    """Return the local cloud that is meant; several and no port: the newest, and say so. Raise NotFound, Refused."""
    try:
        found = instances.find(port)
    except instances.NotRunning as error:
        raise NotFound(str(error)) from error
    own = instances.of_this_checkout(instances.running()) if port is None else []
    others = [cloud for cloud in own if cloud["pid"] != found["pid"]]
    if others:
        ports = ", ".join(str(instances.forge_port(cloud)) for cloud in (found, *others))
        if unambiguous:
            raise Refused("Several local clouds are running.", f"Choose one with --port: {ports}.")
        _tell(f"Several local clouds are running. This is the newest. Choose another with --port: {ports}.")
    return found


def _tell_step(out: Console, status: Status, what: str, step: str) -> None:
    """Show a step of what takes long: in place on a terminal, a line each elsewhere."""
    status.update(f"{what}: {step} …")
    if not out.is_terminal:
        out.print(f"{what}: {step} …")


def _tell(text: str) -> None:
    typer.echo(text, err=True)


def end_by_signals() -> None:
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


def _show(console: Console, found: Mapping[str, Any]) -> None:
    from tidegate_cli import screen
    from tidegate_local.forge.settings import PEOPLE, TEAMS

    is_gitlab = str(found["webhook_url"]).endswith("/gitlab")
    forge = "GitLab (git and its API, no pages)" if is_gitlab else "Forge (open it in a browser)"
    shown = [(forge, "forge_url"), *_SHOWN]
    console.print(screen.facts([(label, str(found.get(name) or "")) for label, name in shown]))
    teams = "; ".join(f"in the team {team.slug}: {_names(team.members)}" for team in TEAMS)
    console.print(f"Users: {_names([person.login for person in PEOPLE])} ({teams}).")
    console.print("- In a browser: the menu at the top right of the forge's pages changes the user.")
    console.print("- For git and the API: the name is also the password and the token.")
    console.print("- tidegate status, queue, deploy … use this cloud as maintainer (--as for another user).")
    console.print("- For scripts: tidegate local info --json.")


def _names(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
