"""``tidegate deploy`` and ``destroy``: deploy the default branch's head to roots, or destroy what they made."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.exits import Exit
from tidegate_cli.options import Json, Person, Query, Repository, Url, complete_root, open_client
from tidegate_cli.problems import NotFound, NotYet, WrongUsage
from tidegate_cli.waiting import Deadline, until_ended

if TYPE_CHECKING:
    from rich.console import Console

    from tidegate.web.models import DeploymentBrief, DeploymentDetails, RequestOutcome
    from tidegate_cli.api_client import ApiClient

#: Root discovery clones the repository first.
_REQUEST_SECONDS = 60.0
ASK_SECONDS = 0.5

Roots = Annotated[list[str], typer.Argument(metavar="ROOT...", autocompletion=complete_root, help="The roots' names.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until all deployments end, and print their results.")]
Directories = Annotated[
    list[str] | None, typer.Option("-d", "--dir", metavar="DIR", help="All roots in this directory and below.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Deploy even if a manual deployment of the same commit is queued.")
]
Timeout = Annotated[float | None, typer.Option("--timeout", min=0, metavar="MINUTES", help="Exit 6 after this time.")]


def deploy(
    repository: Repository,
    roots: Annotated[
        list[str] | None, typer.Argument(metavar="[ROOT]...", autocompletion=complete_root, help="The roots' names.")
    ] = None,
    *,
    directories: Directories = None,
    query: Query = "",
    force: Force = False,
    wait: Wait = False,
    timeout: Timeout = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Deploy the head of the default branch to roots. This locks their queues for merges."""
    check_timeout(timeout, wait=wait)
    names, places = roots or [], list(dict.fromkeys(directories or []))
    if not (names or places or query.strip()):
        raise WrongUsage("You named no root.", "Name roots, a directory (-d), or a tag query (--query).")
    with open_client(url, person) as client:
        how = {"force": force, "directories": places, "query": query}
        _ask(client, _Asked(repository, names, how), Deadline(timeout), wait=wait, json=json)


def destroy(
    repository: Repository,
    roots: Roots,
    *,
    wait: Wait = False,
    timeout: Timeout = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Destroy the resources of roots that the default branch no longer has. A reviewer must approve the plan."""
    check_timeout(timeout, wait=wait)
    with open_client(url, person) as client:
        _ask(client, _Asked(repository, roots, {"destroy": True}), Deadline(timeout), wait=wait, json=json)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for: of which repository, which roots, and how."""

    repository: str
    roots: Sequence[str]
    how: Mapping[str, object]


def _ask(client: ApiClient, asked: _Asked, deadline: Deadline, *, wait: bool, json: bool) -> None:
    """Ask for deployments, show them, wait for them, and exit as they ended."""
    from tidegate_cli import lookup, screen

    console, repository, roots = screen.console(stderr=json), asked.repository, asked.roots
    try:
        request = client.deploy(lookup.repository(repository), list(dict.fromkeys(roots)), **asked.how)
    except NotFound as problem:
        raise lookup.explained(client, problem, repository, roots) from None
    answer = answer_of(client, request, console)
    _check_roots(client, answer, repository, roots)
    console.print(screen.text(answer.outcome or ""))
    made = list(answer.deployments)
    _show_made(client, made, console)
    if made and not asked.how.get("destroy"):
        console.print("A manual deployment locks the queue of its root. Merges wait until you unlock it:")
        for root in dict.fromkeys(item.root for item in made):
            console.print(screen.text(f"  → tidegate unlock {repository} {root}"))
    if wait and made:
        made = [*follow(client, [item.id for item in made], console, deadline)]
    if json:
        screen.print_json(as_json(answer) | {"deployments": [as_json(item) for item in made]})
    if not made or (wait and not all(screen.succeeded(item.state) for item in made)):
        raise typer.Exit(int(Exit.FAILED))


def check_timeout(timeout: float | None, *, wait: bool) -> None:
    """Raise WrongUsage for a time limit of nothing."""
    if timeout is not None and not wait:
        raise WrongUsage(
            "--timeout limits the time of --wait, and --wait is missing.", "Add --wait, or omit --timeout."
        )


def answer_of(client: ApiClient, request: str, console: Console) -> RequestOutcome:
    """Return the result of a request for deployments. Raise NotYet."""
    end = time.monotonic() + _REQUEST_SECONDS
    with console.status("Reading the repository …"):
        while not (answer := client.request(request)).outcome:
            if time.monotonic() > end:
                raise NotYet(
                    f"Tidegate accepted the request {request}, but has not processed it yet.",
                    "Check it: tidegate status",
                )
            time.sleep(ASK_SECONDS)
    return answer


def _check_roots(client: ApiClient, answer: RequestOutcome, repository: str, roots: Sequence[str]) -> None:
    """Raise NotFound for roots that the repository does not have: only its files tell."""
    from tidegate_cli import lookup

    outcome = answer.outcome or ""
    if not answer.deployments and any(f"There is no root '{root}'" in outcome for root in roots):
        is_meant = "Did you mean" in outcome  # Who reads the files guesses best, and once is enough.
        hint = "" if is_meant else lookup.explained(client, NotFound(outcome), repository, roots).hint
        raise NotFound(outcome, hint)


def _show_made(client: ApiClient, made: Sequence[DeploymentBrief], console: Console) -> None:
    from tidegate_cli import presenter

    for item in made:
        check_run = client.deployment(item.id).check_run_url
        console.print(presenter.made(item, check_run), crop=False)
    if made:
        first = made[0]
        if not first.destroy:
            queues = "their queues" if made[1:] else "the queue"
            console.print(f"This locks {queues}: merges wait until somebody unlocks with tidegate unlock.")
        console.print(presenter.command(f"tidegate queue {first.repository} {first.root}"), crop=False)


def follow(client: ApiClient, ids: list[str], console: Console, deadline: Deadline) -> list[DeploymentDetails]:
    """Return deployments once they have ended, and print each state that they come to."""
    from tidegate_cli import presenter, screen

    def changed(now: DeploymentDetails) -> None:
        console.print(screen.state(now.state), screen.text(now.root, "bold"), screen.text(now.reason), sep="  ")
        if now.state in {"awaiting_review", "awaiting_requirements"}:
            for line in (
                presenter.planned(now),
                *presenter.next_steps(now, has_log=False, approvable=now.requirements.approvable),
            ):
                console.print(line, crop=False)

    begun = time.monotonic()
    with console.status("Waiting …") as status:

        def seen(known: Sequence[DeploymentDetails]) -> None:
            status.update(presenter.waiting(known, time.monotonic() - begun))

        return until_ended(client, ids, changed, deadline, seen)
