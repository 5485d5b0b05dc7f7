"""Service Quotas: moto has those of VPC alone, and not the call for AWS's defaults, which all accounts begin with."""

from __future__ import annotations

import json
from typing import Any

from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.responses import ServiceQuotasResponse

#: AWS's defaults. Nobody has changed them here, so that no value is applied: GetServiceQuota finds none.
DEFAULTS = {("fargate", "L-3032A538"): 6.0, ("lambda", "L-B99A9384"): 1000.0}


def install() -> None:
    """Put everything in place. Idempotent."""
    ServiceQuotasResponse.get_aws_default_service_quota = _default  # type: ignore[attr-defined]


def _default(self: Any) -> str:
    asked = json.loads(self.body)
    service, code = str(asked["ServiceCode"]), str(asked["QuotaCode"])
    if (service, code) not in DEFAULTS:
        raise NoSuchResource
    return json.dumps({"Quota": {"ServiceCode": service, "QuotaCode": code, "Value": DEFAULTS[service, code]}})
