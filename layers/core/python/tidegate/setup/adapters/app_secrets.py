"""The App's secrets in Secrets Manager: described and created, never read or changed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.aws.boto import cloud_errors
from tidegate.setup.rules.created_app import CreatedApp, app_secret, webhook_secret
from tidegate.setup.rules.refusals import AlreadySetUp


class StoredAppSecrets:
    """The port ``AppSecrets``, on a boto3 client and the names of both secrets."""

    def __init__(self, client: Any, *, app: str, webhook: str) -> None:
        self._client, self._app, self._webhook = client, app, webhook

    def existing(self) -> Sequence[str]:
        return [name for name in (self._app, self._webhook) if self._exists(name)]

    def create(self, app: CreatedApp) -> None:
        self._create(self._webhook, webhook_secret(app))
        self._create(self._app, app_secret(app))

    def _exists(self, name: str) -> bool:
        """Tell whether there is a secret with this name. One that is about to be deleted exists."""
        with cloud_errors("Secrets Manager"):
            try:
                self._client.describe_secret(SecretId=name)
            except self._client.exceptions.ResourceNotFoundException:
                return False
        return True

    def _create(self, name: str, text: str) -> None:
        with cloud_errors("Secrets Manager"):
            try:
                self._client.create_secret(Name=name, SecretString=text)
            except self._client.exceptions.ResourceExistsException as error:
                raise AlreadySetUp([name]) from error
