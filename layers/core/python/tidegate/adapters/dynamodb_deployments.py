"""Deployments and the check runs that show them: the items ``deployment#ID``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate.adapters.dynamodb import RECORD, Table
from tidegate.adapters.records import pack, to_item, unpack
from tidegate.domain.deployment import Deployment
from tidegate.domain.errors import NotFound
from tidegate.ports import PublishedCheckRun


def deployment_key(deployment: str) -> str:
    """Return the partition key of a deployment's items."""
    return f"deployment#{deployment}"


def put_new(deployment: Deployment) -> dict[str, Any]:
    """Return the arguments of a put that stores a new record, if there is none with this id."""
    return {"Item": to_item(_item(deployment)), "ConditionExpression": "attribute_not_exists(pk)"}


def next_version(deployment: Deployment) -> Deployment:
    """Return the record as it is stored once it is saved."""
    return replace(deployment, version=deployment.version + 1)


def unchanged(deployment: Deployment) -> dict[str, Any]:
    """Return the condition that the stored record still has this version."""
    return {
        "ConditionExpression": "#version = :version",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": to_item({":version": deployment.version}),
    }


def put_saved(deployment: Deployment) -> dict[str, Any]:
    """Return the arguments of a put that does what ``Deployments.save`` does."""
    return {"Item": to_item(_item(next_version(deployment))), **unchanged(deployment)}


def _item(deployment: Deployment) -> dict[str, Any]:
    return {**pack(deployment), "pk": deployment_key(deployment.id), "sk": RECORD}


class DynamoDeployments:
    """The port ``Deployments``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def get(self, deployment: str) -> Deployment:
        item = self._table.get(f"The deployment {deployment}", deployment_key(deployment), RECORD)
        if item is None:
            raise NotFound("deployment", deployment)
        return unpack(Deployment, item)

    def save(self, deployment: Deployment) -> Deployment:
        saved = next_version(deployment)
        self._table.put(f"The deployment {deployment.id}", _item(saved), unchanged(deployment))
        return saved

    def keep_review_token(self, deployment: str, review: str, token: str) -> None:
        item = {"pk": deployment_key(deployment), "sk": "review", "review": review, "token": token}
        self._table.put(f"The review of {deployment}", item)

    def review_token(self, deployment: str, review: str) -> str:
        item = self._table.get(f"The review of {deployment}", deployment_key(deployment), "review")
        if item is None or item["review"] != review:
            raise NotFound("review", review)
        return str(item["token"])


class DynamoCheckRuns:
    """The port ``CheckRuns``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def published(self, deployment: str) -> PublishedCheckRun | None:
        item = self._table.get(f"The check run of {deployment}", deployment_key(deployment), "check_run")
        return None if item is None else unpack(PublishedCheckRun, item)

    def remember(self, published: PublishedCheckRun) -> None:
        item = {**pack(published), "pk": deployment_key(published.deployment), "sk": "check_run"}
        self._table.put(f"The check run of {published.deployment}", item)
