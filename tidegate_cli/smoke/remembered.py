"""An interrupted smoke test, restored from the account: its repository, and its App."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from tidegate_cli.smoke.forge import Scratch
from tidegate_cli.smoke.names import Names
from tidegate_cli.smoke.places import App, Place
from tidegate_cli.smoke.scene import Scene


def remembered(names: Names, place: Place, token: Callable[[], str]) -> Scene:
    """Return it, with what is known. ``token`` is asked for where something is to be done at the forge."""
    from tidegate_cli.smoke import checks

    scene = Scene(names, place, Scratch(App("", "", "", "", ""), ""), {})
    checks.identify(scene)

    def record_of() -> Any:
        # Names of buckets are of all accounts: somebody else's would say where the person's token goes.
        own = {"Bucket": scene.bucket, "ExpectedBucketOwner": scene.account}
        return place.client("s3").get_object(**own, Key="smoke.json")["Body"].read()

    def app_of() -> Any:
        return place.client("secretsmanager").get_secret_value(SecretId=names.app_secret)["SecretString"]

    record, app = _json(record_of), _json(app_of)
    if record:
        keys = str(app.get("app_id", "")), str(app.get("private_key", ""))
        scene.scratch = Scratch(App(*keys, record["forge_url"], record["api_url"], token()), record["repository"])
    return scene


def _json(read: Callable[[], Any]) -> dict[str, Any]:
    """Return the object that is stored there; an empty one where nothing is."""
    try:
        found: dict[str, Any] = json.loads(read())
    except ClientError as error:
        if error.response["Error"]["Code"] in {"NoSuchBucket", "NoSuchKey", "ResourceNotFoundException"}:
            return {}
        raise
    return found
