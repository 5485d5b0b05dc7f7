"""``tidegate approve``, ``reject``, ``retry`` and ``override``: decide about a deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.deploy import Timeout, check_timeout, follow
from tidegate_cli.exits import Exit
from tidegate_cli.options import DeploymentId, Json, Person, Url, open_client
from tidegate_cli.problems import Refused
from tidegate_cli.waiting import Deadline

if TYPE_CHECKING:
    from tidegate.web.models import Decided, DeploymentBrief
    from tidegate_cli.api_client import ApiClient

#: States of deployments that wait for others of their change.
_AT_A_GATE = frozenset({"gated", "blocked"})
#: States of deployments that wait for the answer ``approve`` or ``reject``.
_WAITS = frozenset({"awaiting_review", "awaiting_requirements"})


def approve(
    deployment: DeploymentId,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the deployment ends.")] = False,
    timeout: Timeout = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Approve the plan of a deployment that waits for review, or approve one that waits for its requirements."""
    _review(deployment, "approve", url, person, json=json, wait=wait, timeout=timeout)


def reject(deployment: DeploymentId, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Reject a deployment that waits for a review, its requirements or other deployments. Nothing is applied."""
    _review(deployment, "reject", url, person, json=json)


def retry(deployment: DeploymentId, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Retry the failed deployments that block this one. It continues when they succeed."""
    _review(deployment, "retry", url, person, json=json)


def override(
    deployment: DeploymentId,
    *,
    reason: Annotated[str, typer.Option("--reason", "-r", help="The reason, published to the audit topic.")],
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Apply a deployment without its missing requirements (operators only)."""
    _review(deployment, "override", url, person, json=json, reason=reason)


def _review(
    text: str,
    decision: str,
    url: str | None,
    person: str | None,
    *,
    json: bool,
    wait: bool = False,
    timeout: float | None = None,
    reason: str = "",
) -> None:
    from tidegate_cli import lookup, presenter, screen

    check_timeout(timeout, wait=wait)
    console = screen.console(stderr=json)
    with open_client(url, person) as client:
        found = lookup.find_deployment(client, text, _WAITS if decision in {"approve", "reject"} else ())
        done = client.gate(found.id, decision, reason) if reason else _answered(client, found, decision)
        after = done.deployment
        console.print(screen.text(done.message))
        console.print(presenter.title(after), presenter.changes(after.changes), sep="  ")
        if wait:
            after = follow(client, [found.id], console, Deadline(timeout))[0]
    if json:
        screen.print_json({"message": done.message, "deployment": as_json(after)})
    if wait and not screen.succeeded(after.state):
        raise typer.Exit(int(Exit.FAILED))


def _answered(client: ApiClient, found: DeploymentBrief, decision: str) -> Decided:
    """Give an answer where the deployment waits: at its gate or for its review. Raise Refused."""
    waits_for_others = found.state in _AT_A_GATE
    lacks = found.state == "awaiting_requirements"
    if decision == "retry" or lacks or (decision == "reject" and waits_for_others):
        return client.gate(found.id, decision)
    if waits_for_others:
        hint = (
            f"tidegate stacks {found.change_set} shows them. Or: tidegate retry {found.id}, tidegate reject {found.id}."
        )
        plan = "its plan is reviewed after them" if found.changes else "it has no plan to approve yet"
        raise Refused(f"{found.id} waits for other deployments of its change: {plan}.", hint)
    # The plan that waits now, with the changes that are printed after it: another one, made meanwhile, is not approved.
    seen = client.deployment(found.id).plan_digest if decision == "approve" else None
    return client.review(found.id, decision, seen)
