"""What the command line reads is what the HTTP API gives: its answers fit the API's own models."""

from __future__ import annotations

import typing

import pytest
from pydantic import BaseModel

from tidegate.web import change_models, drift_models, models, pull_request_models
from tidegate_cli.answers import catalog, changes, deployments, drift, pulls, queues

PAIRS = [
    (catalog.Me, models.Me),
    (catalog.Repositories, models.Repositories),
    (queues.Roots, models.Roots),
    (queues.Queue, models.QueueModel),
    (queues.Locked, models.Locked),
    (queues.Unlocked, models.Unlocked),
    (deployments.Deployments, models.DeploymentsPage),
    (deployments.Deployment, models.DeploymentDetails),
    (changes.Change, change_models.ChangeModel),
    (pulls.Pulls, pull_request_models.PullRequestsList),
    (pulls.Pull, pull_request_models.PullRequestDetails),
    (drift.Drift, drift_models.DriftList),
    (drift.Looking, drift_models.Looking),
    (deployments.Accepted, models.Accepted),
    (deployments.Request, models.RequestOutcome),
    (deployments.Decided, models.Decided),
    (deployments.Job, models.JobModel),
    (deployments.Log, models.LogLines),
]


def plain(annotation):
    """Return a type as text in which the API's words (enumerations) are text."""
    if isinstance(annotation, type) and issubclass(annotation, str):
        return "str"
    arguments = [plain(argument) for argument in typing.get_args(annotation)]
    if typing.get_origin(annotation) in (list, tuple):
        return f"list of {arguments[0]}"
    return " or ".join(sorted(set(arguments))) if arguments else getattr(annotation, "__name__", str(annotation))


def inner(annotation):
    """Return the model in a type such as ``list[Model]`` or ``Model | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [inner(argument) for argument in typing.get_args(annotation)]
    return next((model for model in found if model), None)


def differences(ours, theirs, path=""):
    """Yield the fields that we read and the API does not give, or gives in another form."""
    for name, field in ours.model_fields.items():
        where = f"{path}{ours.__name__}.{name}"
        given = theirs.model_fields.get(name)
        if given is None:
            yield f"{where} is not in {theirs.__name__}"
        elif mine := inner(field.annotation):
            yield from differences(mine, inner(given.annotation), f"{where} > ")
        elif plain(field.annotation) != plain(given.annotation):
            yield f"{where} is {plain(field.annotation)}, the API gives {plain(given.annotation)}"


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda model: model.__name__)
def test_every_field_that_is_read_is_given_in_that_form(ours, theirs):
    assert not list(differences(ours, theirs))
