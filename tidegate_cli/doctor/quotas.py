"""Whether the region has Fargate, and the quotas suffice: vCPUs for the slots, Lambda's concurrency."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.deploys.rules.fargate_regions import LISTED_ON, is_listed
from tidegate.deploys.rules.runner_size import (
    LARGEST,
    RunnerNeeds,
    RunnerOffer,
    cpu_text,
    cpu_units,
    memory_mib,
    size_of,
    size_problem,
)
from tidegate_cli.doctor.result import Result, reason_of

#: Two plans and two applies at once, at one vCPU each.
NEEDED_VCPUS = 4
#: Half of what a new account gets: functions run for seconds, but many at once after a large merge.
NEEDED_CONCURRENCY = 50
#: Runners at a time where the context says nothing: the CDK app's default.
_SLOTS = "6"
_QUOTAS = {"fargate": "L-3032A538", "lambda": "L-B99A9384"}
#: A public parameter that AWS keeps for each region that has a service. It is read in us-east-1, not everywhere (AWS
#: Systems Manager, Calling public parameters for AWS services, Regions, …, 2026-11-24).
_PARAMETER = "/aws/service/global-infrastructure/services/fargate/regions"


class NoSuchQuotaError(Exception):
    """Service Quotas knows no such quota in this region, whether anybody has changed it or not."""


class QuotaChecks:
    """Compares quotas with what deploys need. ``client`` gives the caller's client of a service in ``region``."""

    def __init__(self, context: Mapping[str, Any], client: Callable[[str], Any], region: str) -> None:
        self._context, self._client, self._region = context, client, region

    def results(self) -> Iterator[Result]:
        """Yield what was found."""
        yield self._quota("Fargate vCPUs", "fargate", NEEDED_VCPUS)
        yield from self._slots()
        yield self._quota("Lambda concurrency", "lambda", NEEDED_CONCURRENCY)

    def _value(self, service: str) -> float:
        """Return a quota of this account and region. Raise NoSuchQuotaError, BotoCoreError, ClientError.

        What nobody has changed may have no applied value (Service Quotas, GetServiceQuota): AWS's default holds.
        """
        quotas, asked = self._client("service-quotas"), {"ServiceCode": service, "QuotaCode": _QUOTAS[service]}
        for get in (quotas.get_service_quota, quotas.get_aws_default_service_quota):
            try:
                return float(get(**asked)["Quota"]["Value"])
            except ClientError as error:
                if error.response["Error"]["Code"] != "NoSuchResourceException":
                    raise
        raise NoSuchQuotaError

    def _slots(self) -> Iterator[Result]:
        """Compare the runners that may run at a time with what the quota allows of the largest size that is configured.

        Slots count runners and the quota vCPUs: where roots may ask for larger ones, all of them may be as large.
        """
        check, slots = "runner slots", int(self._context.get("runner_slots") or _SLOTS)
        units = max(_usual_units(self._context.get("runner")), _most_units(self._context.get("runner_limits")))
        try:
            allowed = int(self._value("fargate") * 1024 / units)
        except (NoSuchQuotaError, BotoCoreError, ClientError):
            return  # The check of the quota itself has told why.
        size = f"of {cpu_text(units)} vCPU"
        if slots > allowed:
            needed = f"ask for at least {math.ceil(slots * units / 1024)} in the Service Quotas console"
            do = f"Set runner_slots to {max(allowed, 1)} at most, or {needed} (fargate, {_QUOTAS['fargate']})."
            yield Result(check, "warn", f"runner_slots is {slots}, and the quota allows {allowed} runners {size}.", do)
        else:
            found = f"runner_slots is {slots}; the quota allows {allowed} runners {size}, for the whole account."
            yield Result(check, "ok", found)

    def _quota(self, check: str, service: str, needed: int) -> Result:
        is_missing = service == "fargate" and not is_listed(self._region)
        try:
            value = self._value(service)
        except NoSuchQuotaError:
            if is_missing:
                return self._without_fargate(check)
            found = f"Service Quotas has no {_QUOTAS[service]} for {service} in {self._region}."
            return Result(check, "warn", found, "Check it in the Service Quotas console.")
        except (BotoCoreError, ClientError) as error:
            if is_missing:
                return self._unlisted(check, error)
            return Result(check, "warn", reason_of(error), "Check it in the Service Quotas console.")
        if value < needed:
            do = f"Ask for at least {needed} in the Service Quotas console ({service}, {_QUOTAS[service]})."
            return Result(check, "warn" if value else "fail", f"The quota is {value:g}.", do)
        return Result(check, "ok", f"The quota is {value:g}.")

    def _without_fargate(self, check: str) -> Result:
        found = (
            f"There is no AWS Fargate in {self._region}: AWS's list of {LISTED_ON} does not name it, and Service "
            "Quotas has no quota of it there. No plan and no apply could run."
        )
        do = (
            "Install Tidegate in a region that has it: set AWS_REGION. Roots may deploy to any region from there "
            "(aws.region in tidegate.yaml)."
        )
        return Result(check, "fail", found, do)

    def _unlisted(self, check: str, error: Exception) -> Result:
        found = f"AWS's list of {LISTED_ON} does not name {self._region} as having Fargate. {reason_of(error)}"
        do = f"Ask AWS: `aws ssm get-parameter --region us-east-1 --name {_PARAMETER}/{self._region}`."
        return Result(check, "warn", found, do)


def _most_units(limits: object) -> int:
    """Return the units of CPU that roots may ask for, 0 where the context does not say. Synth refuses other values."""
    said = limits.get("cpu") if isinstance(limits, Mapping) else None
    return cpu_units(said) if isinstance(said, int | float) else 0


def _usual_units(runner: object) -> int:
    """Return the units of CPU of a runner whose root asks for nothing. Synth refuses what cannot be read here."""
    said = runner if isinstance(runner, Mapping) else {}
    try:
        needs = RunnerNeeds(cpu_units(said.get("cpu", 0)), memory_mib(said.get("memory", 0)))
    except TypeError:
        needs = RunnerNeeds()
    if size_problem(needs):
        needs = RunnerNeeds()
    return size_of(needs, RunnerOffer(most=LARGEST)).cpu
