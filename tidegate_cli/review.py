"""``tidegate approve``, ``reject``, ``retry`` and ``override``: decide about a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.deploy import Timeout, check_timeout, follow
from tidegate_cli.exits import Exit
from tidegate_cli.options import DeploymentId, Deployments, Json, Person, Url, open_client
from tidegate_cli.problems import NotFound, Problem, Refused, WrongUsage
from tidegate_cli.waiting import Deadline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from tidegate.web.models import Decided, DeploymentBrief, DeploymentDetails
    from tidegate_cli.api_client import ApiClient

#: States of deployments that wait for others of their change.
_AT_A_GATE = frozenset({"gated", "blocked"})
#: States of deployments that wait for the answer ``approve`` or ``reject``.
_WAITS = frozenset({"awaiting_review", "awaiting_requirements"})


_Deployments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DEPLOYMENT...", help="Deployments' ids, their beginnings or ends, or the URLs of their pages."
    ),
]
_Change = Annotated[
    str | None,
    typer.Option("--change", metavar="CHANGE", help="All of this change (its id or URL) that wait for an answer."),
]
_Stack = Annotated[
    str | None, typer.Option("--stack", metavar="STACK", help="With --change: those of this stack or stack group only.")
]
_Reason = Annotated[
    str, typer.Option("--reason", "-r", metavar="TEXT", help="The reason, for the timeline and the audit log.")
]
_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Ask nothing, also about what a plan destroys in a protected stack.")
]


def approve(
    deployments: _Deployments = None,
    *,
    change: _Change = None,
    stack: _Stack = None,
    reason: _Reason = "",
    yes: _Yes = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the deployments end.")] = False,
    timeout: Timeout = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Approve the plans of deployments that wait for review, or approve those that wait for their requirements."""
    said = _Said("approve", reason, yes=yes, json=json)
    _review(_Chosen(deployments or [], change, stack), said, url, person, wait=wait, timeout=timeout)


def reject(
    deployments: _Deployments = None,
    *,
    change: _Change = None,
    stack: _Stack = None,
    reason: _Reason = "",
    yes: _Yes = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Reject deployments that wait for a review, their requirements or other deployments. Nothing is applied."""
    said = _Said("reject", reason, yes=yes, json=json)
    _review(_Chosen(deployments or [], change, stack), said, url, person)


def retry(deployments: Deployments, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Retry the failed deployments that block these. They continue when those succeed."""
    _review(_Chosen(deployments), _Said("retry", json=json), url, person)


def override(
    deployment: DeploymentId,
    *,
    reason: Annotated[str, typer.Option("--reason", "-r", help="The reason, published to the audit topic.")],
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Apply a deployment without its missing requirements (operators only)."""
    _review(_Chosen([deployment]), _Said("override", reason, json=json), url, person)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The deployments to decide about: by what a person calls them, or those of a change."""

    texts: Sequence[str]
    change: str | None = None
    stack: str | None = None

    def check(self) -> None:
        """Raise WrongUsage unless it chooses in one way."""
        if bool(self.texts) == bool(self.change):
            raise WrongUsage("Name deployments, or a change with --change.", "tidegate approve DEPLOYMENT...")
        if self.stack and not self.change:
            raise WrongUsage("--stack needs --change.", "tidegate approve --change CHANGE --stack STACK")


@dataclass(frozen=True, slots=True)
class _Said:
    """The decision, and how it is given."""

    decision: str
    reason: str = ""
    yes: bool = False
    json: bool = False


def _review(
    chosen: _Chosen,
    said: _Said,
    url: str | None,
    person: str | None,
    *,
    wait: bool = False,
    timeout: float | None = None,
) -> None:
    from tidegate_cli import screen

    chosen.check()
    check_timeout(timeout, wait=wait)
    console = screen.console(stderr=said.json)
    with open_client(url, person) as client:
        listed = {each.id: each for each in _of_change(client, chosen, said, console)} if chosen.change else {}
        texts = list(listed) or chosen.texts
        alone = not texts[1:] and not chosen.change
        told = {text: _decided(client, text, listed.get(text), said, console, alone=alone) for text in texts}
        decided = [each.deployment for each in told.values() if not isinstance(each, Problem)]
        after: Sequence[DeploymentBrief] = decided
        if wait and after:
            after = follow(client, [each.id for each in after], console, Deadline(timeout))
    if said.json:
        results = _results(told, after)
        screen.print_json(results[0] if alone else {"results": results})
    if len(after) < len(told) or (wait and not all(screen.succeeded(each.state) for each in after)):
        raise typer.Exit(int(Exit.FAILED))


def _results(told: Mapping[str, Decided | Problem], after: Sequence[DeploymentBrief]) -> list[dict[str, Any]]:
    """Return the result of each deployment, with those that were decided as they are now."""
    now = iter(after)
    return [
        {"deployment": text, "error": {"code": each.code, "message": each.message}}
        if isinstance(each, Problem)
        else {"message": each.message, "deployment": as_json(next(now))}
        for text, each in told.items()
    ]


def _of_change(client: ApiClient, chosen: _Chosen, said: _Said, console: Console) -> Sequence[DeploymentBrief]:
    """Return what waits for an answer in a change, once a person has seen the list. Raise NotFound, Refused."""
    from tidegate_cli import presenter, screen
    from tidegate_cli.stacks import named_change

    found = named_change(client, chosen.change or "")
    known = [stack for stack in found.stacks if chosen.stack in {None, stack.name, *_around(stack.members)}]
    if not known:
        names = ", ".join(stack.name for stack in found.stacks)
        raise NotFound(f"The change has no stack {chosen.stack}.", f"Its stacks: {names}.")
    waiting = [each for stack in known for each in stack.members if each.state in _WAITS]
    if not waiting:
        raise Refused(f"Nothing of {chosen.stack or 'this change'} waits for an answer.", f"tidegate stacks {found.id}")
    for each in waiting:
        console.print(presenter.title(each), presenter.planned(each), sep="  ")
    _ask(f"{said.decision.capitalize()} {'this' if len(waiting) == 1 else f'these {len(waiting)}'}?", said)
    console.print(screen.text(""))
    return waiting


def _around(members: Sequence[DeploymentBrief]) -> set[str]:
    return {name for each in members for name in each.within}


def _ask(question: str, said: _Said) -> None:
    """Ask a person. Raise Refused without a yes."""
    if said.yes:
        return
    try:
        sure = typer.confirm(question, err=True)
    except typer.Abort:
        raise Refused("Nothing was decided: nobody answered.", "Add --yes.") from None
    if not sure:
        raise Refused("Nothing was decided.")


def _decided(
    client: ApiClient, text: str, listed: DeploymentBrief | None, said: _Said, console: Console, *, alone: bool
) -> Decided | Problem:
    """Decide about one deployment, as it was ``listed`` if it was. Tell the result.

    Return the problem if it is refused, or raise it if alone.
    """
    from tidegate_cli import lookup, presenter, screen

    try:
        found = lookup.find_deployment(client, text, _WAITS if said.decision in {"approve", "reject"} else ())
        # Its review was asked for anew, for another plan, or somebody else approved it.
        if listed and found.state == "awaiting_review" and found.changed_at != listed.changed_at:
            raise Refused("It changed after it was listed, so nothing was decided about it. Run the command again.")
        done = _answered(client, found, said)
    except Problem as problem:
        if alone:
            raise
        console.print(screen.text(f"✘ {text}: {problem.message}", "red"), soft_wrap=True)
        return problem
    console.print(screen.text(done.message))
    console.print(presenter.title(done.deployment), presenter.planned(done.deployment), sep="  ")
    if said.decision == "approve" and found.state == "awaiting_review":
        for sentence in found.policies_refuse:
            console.print(screen.text(f"! {sentence}", "bold magenta"))
    return done


def _answered(client: ApiClient, found: DeploymentDetails, said: _Said) -> Decided:
    """Give an answer where the deployment waits: at its gate or for its review. Raise Refused."""
    decision = said.decision
    waits_for_others = found.state in _AT_A_GATE
    lacks = found.state == "awaiting_requirements"
    if decision in {"retry", "override"} or lacks or (decision == "reject" and waits_for_others):
        return client.gate(found.id, decision, said.reason)
    if waits_for_others:
        hint = (
            f"tidegate stacks {found.change_set} shows them. Or: tidegate retry {found.id}, tidegate reject {found.id}."
        )
        plan = "its plan is reviewed after them" if found.changes else "it has no plan to approve yet"
        raise Refused(f"{found.id} waits for other deployments of its change: {plan}.", hint)
    if decision == "reject":
        return client.review(found.id, decision, None, said.reason)
    if found.asks_twice:
        from tidegate_cli import presenter, screen

        screen.console(stderr=True).print(presenter.title(found), presenter.planned(found), sep="  ")
        _ask(f"Stack {found.stack} is protected. Approve what this plan destroys?", said)
    # The plan that waits now, with the changes that are printed after it: another one, made meanwhile, is not approved.
    return client.review(found.id, decision, found.plan_digest, said.reason, destroys=found.asks_twice)
