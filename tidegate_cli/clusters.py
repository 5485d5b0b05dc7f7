"""``tidegate cluster``: what a cluster's workflow would do, how far it is, and what operators do with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.clusters.rules.workflow import Operation
from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Repository, Url, open_client
from tidegate_cli.problems import NotFound
from tidegate_cli.tree import Command, Group

if TYPE_CHECKING:
    from tidegate.clusters.rules.plan import ClusterPlan

app = typer.Typer(cls=Group, no_args_is_help=True, help="Show and control clusters and their workflows.")

_Declared = Annotated[str, typer.Argument(metavar="CLUSTER", help="The cluster, as tidegate.yaml names it.")]
_Operation = Annotated[
    Operation | None,
    typer.Option("--operation", help="The operation. Default: create, or delete if the cluster says destroy."),
]
_From = Annotated[
    str,
    typer.Option(
        "--from", metavar="VERSION", help="The Kubernetes version that the cluster has. Default: that of its file."
    ),
]
_File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The file with the clusters. Default: the nearest tidegate.yaml."),
]
_Cluster = Annotated[str, typer.Argument(metavar="CLUSTER", help="The cluster.")]


@app.command(cls=Command, name="plan")
def plan(
    cluster: _Declared, *, operation: _Operation = None, since: _From = "", file: _File = None, json: Json = False
) -> None:
    """Print what an operation would do, from the files of the checkout: without an installation, and without its hooks.

    Plan jobs know what the cluster is. Here an upgrade assumes that its file had another content before.
    """
    from tidegate_cli import clusters_presenter, screen

    planned = _planned(cluster, operation, since, file)
    if json:
        screen.print_json(clusters_presenter.document(planned))
        return
    for line in clusters_presenter.plan_lines(planned):
        typer.echo(screen.text(line).plain)


@app.command(cls=Command, name="graph")
def graph(
    cluster: _Declared, *, operation: _Operation = None, since: _From = "", file: _File = None, json: Json = False
) -> None:
    """Draw the tasks and hooks of an operation, with what each needs and produces, from the files of the checkout."""
    from tidegate_cli import clusters_presenter, screen

    planned = _planned(cluster, operation, since, file)
    screen.show(clusters_presenter.document(planned), clusters_presenter.graph(planned), json=json)


@app.command(cls=Command, name="status")
def status(
    repository: Repository,
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="The cluster. Default: all.")] = "",
    *,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show the clusters of a repository, or one of them: each task of its workflow, its first error, what it holds."""
    from tidegate_cli import clusters_presenter, lookup, screen

    with open_client(url, person) as client:
        name = lookup.repository(repository)
        if not cluster:
            listed = client.clusters(name)
            screen.show(as_json(listed), clusters_presenter.listed(listed), json=json)
            return
        try:
            found = client.cluster(name, cluster)
        except NotFound:
            raise _no_cluster(repository, cluster) from None
    screen.show(as_json(found), clusters_presenter.cluster(found), json=json)


@app.command(cls=Command, name="resume")
def resume(
    repository: Repository, cluster: _Cluster, *, url: Url = None, person: Person = None, json: Json = False
) -> None:
    """Resume a failed workflow: a new deployment, which leaves out the tasks that are done."""
    _do(repository, cluster, "resume", {}, url, person, json=json)


@app.command(cls=Command, name="release")
def release(
    repository: Repository,
    cluster: _Cluster,
    *,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why the failed workflow is given up: the audit has it.")
    ],
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Have everything given back that a failed workflow holds, such as pauses: the next workflow starts over."""
    _do(repository, cluster, "release", {"reason": reason}, url, person, json=json)


def _do(
    repository: str, cluster: str, what: str, body: dict[str, str], url: str | None, person: str | None, *, json: bool
) -> None:
    from tidegate_cli import lookup, screen

    with open_client(url, person) as client:
        try:
            done = client.control_cluster(lookup.repository(repository), cluster, what, body)
        except NotFound:
            raise _no_cluster(repository, cluster) from None
    screen.say(done.message, as_json(done), json=json)


def _no_cluster(repository: str, cluster: str) -> NotFound:
    return NotFound(
        f"{repository} has no cluster {cluster} on which a workflow has worked, or you may not see it.",
        f"tidegate cluster status {repository} lists the clusters.",
    )


def _planned(name: str, operation: Operation | None, since: str, file: Path | None) -> ClusterPlan:
    from tidegate_cli.checkout import checkout_around, own_file
    from tidegate_cli.configuration import loaded_from
    from tidegate_cli.planned_clusters import Assumed, named_cluster, planned_cluster

    named = file or own_file()
    checkout = checkout_around(named.parent)
    repository = checkout.repository if checkout else "owner/repository"
    loaded = loaded_from(named, repository, "tidegate cluster plan CLUSTER --file FILE")
    cluster = named_cluster(loaded, name)
    return planned_cluster(named.parent, loaded, cluster, Assumed(operation, since))
