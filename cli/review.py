"""``tidegate approve`` and ``tidegate reject``: answer a plan review."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.deploy import Timeout, check_timeout, follow
from cli.exits import Exit
from cli.options import DeploymentId, Json, Person, Url, as_json, open_client
from cli.waiting import Deadline


def approve(
    deployment: DeploymentId,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is applied, or ends otherwise.")] = False,
    timeout: Timeout = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Confirm the plan of a deployment that waits for review: it is applied."""
    _review(deployment, "approve", url, person, json=json, wait=wait, timeout=timeout)


def reject(deployment: DeploymentId, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Reject the plan of a deployment that waits for review: nothing is applied."""
    _review(deployment, "reject", url, person, json=json)


def _review(
    text: str,
    decision: str,
    url: str | None,
    person: str | None,
    *,
    json: bool,
    wait: bool = False,
    timeout: float | None = None,
) -> None:
    from cli import finding, screen, views

    check_timeout(timeout, wait=wait)
    console = screen.console(stderr=json)
    with open_client(url, person) as client:
        found = finding.find_deployment(client, text)
        done = client.review(found.id, decision)
        after = done.deployment
        console.print(screen.text(done.message))
        console.print(views.title(after), views.changes(after.changes), sep="  ")
        if wait:
            after = follow(client, [found.id], console, Deadline(timeout))[0]
    if json:
        screen.print_json({"message": done.message, "deployment": as_json(after)})
    if wait and not screen.succeeded(after.state):
        raise typer.Exit(int(Exit.FAILED))
