"""``tidegate runs``, ``show``, ``rerun`` and ``cancel``: deployments and their plans."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.deploy import Timeout, Wait, answer_of, check_timeout, follow
from tidegate_cli.exits import Exit
from tidegate_cli.options import (
    DeploymentId,
    Deployments,
    Json,
    Person,
    Url,
    complete_repository,
    complete_root,
    open_client,
)
from tidegate_cli.problems import NotFound, Problem, Refused
from tidegate_cli.waiting import Deadline

if TYPE_CHECKING:
    from rich.console import Console

    from tidegate.web.models import DeploymentBrief, DeploymentDetails
    from tidegate_cli.api_client import ApiClient

#: Where the plan proper begins in an engine's log, and what ends it.
_PLAN_BEGINS = re.compile(
    r"(Terraform|OpenTofu) (used the selected providers|will perform|has compared)|No changes\.|Changes to Outputs:"
    r"|Note: Objects have changed outside|You can apply this plan"
)
_PLAN_ENDS = re.compile("─{20,}|Saved the plan to: |To perform exactly these actions")
#: The deployments of a page of the API.
_MOST = 100


def runs(
    repository: Annotated[
        str | None,
        typer.Argument(
            metavar="REPOSITORY", autocompletion=complete_repository, help="OWNER/NAME. Without it: all repositories."
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Argument(metavar="ROOT", autocompletion=complete_root, help="Of this root only.")
    ] = None,
    *,
    query: Annotated[
        str, typer.Option("--query", metavar="QUERY", help="A tag query, such as 'state:failed and stack_name:prod'.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=_MOST, help="So many at most.")] = 20,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """List deployments, newest first."""
    from tidegate_cli import lookup, presenter, screen

    with open_client(url, person) as client:
        name = lookup.repository(repository) if repository else None
        try:
            page = client.search_deployments(name, root, query, limit)
        except NotFound as problem:
            raise lookup.explained(client, problem, name or "") from None
        if name and root and not page.deployments and not query:
            lookup.check_root(client, name, root)
    view = presenter.deployments(page.deployments, with_repository=name is None, hint=page.hint)
    screen.show(as_json(page), view, json=json)


def show(deployment: DeploymentId, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Show a deployment with its plan."""
    from tidegate_cli import lookup, presenter, screen

    with open_client(url, person) as client:
        found = lookup.find_deployment(client, deployment)
        lines = _plan(client, found)
    if json:
        screen.print_json(as_json(found) | {"plan": "\n".join(lines)})
        return
    console = screen.console()
    console.print(presenter.deployment(found), crop=False)
    console.print()
    for line in lines or [f"There is no plan: it is {screen.state_word(found.state)}."]:
        console.print(screen.text(line), soft_wrap=True)


def _plan(client: ApiClient, found: DeploymentDetails) -> list[str]:
    """Return the lines of the newest plan; all that its job has said if it has not come to a plan."""
    jobs = [job.id for job in found.jobs if job.kind == "plan"]
    if not jobs:
        return []
    lines, position = [], 0
    while (page := client.log(jobs[-1], position)).lines:
        lines += page.lines
        position = page.next
        if page.ended:
            break
    begun = [*dropwhile(lambda line: not _PLAN_BEGINS.search(line), lines)]
    plan = [*takewhile(lambda line: not _PLAN_ENDS.match(line), begun)] or lines
    while plan and not plan[-1].strip():
        plan.pop()
    return plan


def rerun(
    deployments: Deployments,
    *,
    wait: Wait = False,
    timeout: Timeout = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Run deployments that failed again: the same commit, under the rules of now. You need the right to deploy."""
    from tidegate_cli import presenter, screen

    check_timeout(timeout, wait=wait)
    console, deadline = screen.console(stderr=json), Deadline(timeout)
    with open_client(url, person) as client:
        made: list[Any] = []

        def again(one: str) -> dict[str, Any]:
            answer = answer_of(client, client.rerun(one), console)
            if not answer.deployments:
                raise Refused(f"{one} is not run again: {answer.outcome}")
            for new in answer.deployments:
                console.print(presenter.made(new), crop=False)
            made.extend(answer.deployments)
            return dict(as_json(answer))

        results = _each(client, deployments, again, console)
        ended = follow(client, [one.id for one in made], console, deadline) if wait and made else []
    if json:
        ended_json = {one.id: as_json(one) for one in ended}
        for result in results:
            result["deployments"] = [ended_json.get(one["id"], one) for one in result.get("deployments", [])]
        screen.print_json({"results": results})
    _exit(results, ended)


def cancel(
    deployments: Deployments,
    *,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Interrupt a running apply. The infrastructure may be partly changed."),
    ] = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Cancel deployments that wait or plan. The next ones in their queues continue."""
    from tidegate_cli import presenter, screen

    console = screen.console(stderr=json)
    with open_client(url, person) as client:

        def stop(one: str) -> dict[str, Any]:
            done = client.cancel(one, is_apply=apply)
            console.print(screen.text(done.message))
            console.print(presenter.title(done.deployment), presenter.changes(done.deployment.changes), sep="  ")
            return dict(as_json(done))

        results = _each(client, deployments, stop, console)
    if json:
        screen.print_json(results[0] if len(deployments) == 1 else {"results": results})
    _exit(results)


def _each(
    client: ApiClient, asked: Sequence[str], act: Callable[[str], dict[str, Any]], console: Console
) -> list[dict[str, Any]]:
    """Return what came of each deployment. All are found before any is acted on.

    A refusal of one stops none of the others. Raise the problem where there is only one.
    """
    from tidegate_cli import lookup, screen

    found = list(dict.fromkeys(lookup.find_deployment(client, one).id for one in asked))
    if len(found) == 1:
        return [act(found[0])]
    results = []
    for one in found:
        try:
            results.append(act(one))
        except Problem as problem:
            console.print(screen.text(f"✘ {one}: {problem.message}", "red"), soft_wrap=True)
            results.append({"deployment": one, "error": {"code": problem.code, "message": problem.message}})
    return results


def _exit(results: Sequence[dict[str, Any]], ended: Sequence[DeploymentBrief] = ()) -> None:
    from tidegate_cli import screen

    if any("error" in result for result in results) or not all(screen.succeeded(one.state) for one in ended):
        raise typer.Exit(int(Exit.FAILED))
