"""Lambda: the port ``PlanFunctions``."""

from __future__ import annotations

import json
from typing import Any

from tidegate.aws.boto import cloud_errors

_SERVICE = "Lambda"


class LambdaPlanFunctions:
    """Functions that run plans, each job as a tenant of its own: no environment of Lambda ever serves two of them.

    "You can send requests to a tenant-isolated function using … asynchronous invocations" (AWS Lambda, Tenant
    isolation). Step Functions' own integration has no parameter for a tenant (docs/decisions/0220).
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def start(self, function: str, job: str, digest: str, token: str) -> None:
        payload = json.dumps({"job": job, "digest": digest, "token": token})
        with cloud_errors(_SERVICE):
            self._client.invoke(FunctionName=function, InvocationType="Event", TenantId=job, Payload=payload)
