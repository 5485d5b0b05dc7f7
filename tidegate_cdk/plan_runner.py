"""Settings for plans on Lambda, and what prevents them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from tidegate.deploys.rules.aws_target import to_text
from tidegate.deploys.rules.plan_runner import has_tenant_isolation
from tidegate_cdk.runner_settings import Context, InvalidContext, RunnerSettings
from tidegate_cdk.site_settings import SiteSettings

PlanRunner = Literal["fargate", "lambda", "auto"]
#: States that start plans on Lambda: other installations have neither them nor the choice before.
LAMBDA_STATES = ("Start a Lambda runner for the plan", "Let Fargate run the plan")
_RUNNERS = re.compile("fargate|lambda|auto")
#: Lambda's limits (AWS Lambda, Quotas, 2026-11-24): memory in MB, and what of it is left for other programs is little.
LEAST_MEMORY, MOST_MEMORY = 1_024, 10_240
#: "New AWS accounts have reduced concurrency and memory quotas" (the same page): 3,008 MB is what they have.
_MEMORY = 3_008
#: Lambda's largest memory, in MB. It costs by the second, less than a hundredth of a cent for a plan.
DISK = 10_240
#: Of the 4 KB for all variables of a function (AWS Lambda, Quotas); the rest is for those that each runner has.
_MOST_VARIABLES = 2_800
_ECR_REGION = re.compile(r"[0-9]{12}\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com/.*")


@dataclass(frozen=True, slots=True)
class PlanRunnerSettings:
    """Where plans start, and the memory of the function that runs them, in MB."""

    runner: PlanRunner
    memory: int

    @property
    def size(self) -> str:
        """The size of plans' functions: if it changes, plans that were too large are tried on Lambda again."""
        return f"{self.memory} MB, disk {DISK} MB"


def read_plan_runner(context: Context) -> PlanRunnerSettings:
    """Return the settings of this context. Raise InvalidContext."""
    runner = context.try_get_context("plan_runner") or "fargate"
    if not isinstance(runner, str) or not _RUNNERS.fullmatch(runner):
        raise InvalidContext("plan_runner", runner, "fargate, lambda or auto")
    given = context.try_get_context("plan_runner_memory") or _MEMORY
    memory = int(given) if str(given).isdecimal() else 0
    if not LEAST_MEMORY <= memory <= MOST_MEMORY:
        allowed = f"a number of MB from {LEAST_MEMORY} to {MOST_MEMORY}, which Lambda allows"
        raise InvalidContext("plan_runner_memory", given, allowed)
    return PlanRunnerSettings(cast(PlanRunner, runner), memory)


def plans_on_lambda(settings: PlanRunnerSettings, runners: RunnerSettings, site: SiteSettings, region: str) -> bool:
    """Tell whether plans start on Lambda. ``region`` is empty if the template does not know it.

    Raise InvalidContext if they are required to and cannot. With ``auto``, they run on Fargate then.
    """
    problem = obstacle(runners, site, region)
    if settings.runner == "lambda" and problem:
        raise InvalidContext("plan_runner", settings.runner, f"auto or fargate here: {problem}")
    return settings.runner != "fargate" and not problem


def obstacle(runners: RunnerSettings, site: SiteSettings, region: str) -> str:
    """Return why plans cannot run on Lambda with these settings, empty if they can."""
    if region and not has_tenant_isolation(region):
        return f"Lambda has no tenant isolation in {region}, which Tidegate needs to isolate jobs"
    image = _ECR_REGION.fullmatch(runners.image)
    if runners.image and (image is None or (region and image[1] != region)):
        return f"Lambda needs an image in ECR in its own region, but runner_image is {runners.image}"
    size = _variables(runners)
    if size > _MOST_VARIABLES:
        return (
            f"runner_variables, mask_patterns and target roles have {size} bytes, but a function's environment has "
            f"room for {_MOST_VARIABLES}"
        )
    if runners.secrets:
        return "ECS injects runner_secrets into a task's environment, but Lambda cannot"
    if site.vpc and site.runners_are_public:
        return "a function in a VPC gets no public IP address (runner_public_ip), so it needs subnets behind NAT"
    return ""


def _variables(runners: RunnerSettings) -> int:
    """Return the bytes of what the installation adds to a runner's environment."""
    texts = [*runners.variables, *runners.variables.values(), *runners.mask_patterns, to_text(runners.allowed_roles)]
    return sum(len(text.encode()) for text in texts)
