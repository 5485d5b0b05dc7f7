"""The monthly cost of an idle installation, computed from its template.

``python -m tidegate_cdk.costs`` writes docs/costs.md. Prices and assumptions are in prices.toml, each with its source.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tidegate_cdk.pages import write_page
from tidegate_cdk.sources import ROOT

PAGE = ROOT / "docs" / "costs.md"
TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("prices.toml").read_text(encoding="utf-8"))
_ASSUMED: Mapping[str, float] = TABLE["assumed"]
_SECONDS = 3600 * _ASSUMED["hours"]
#: What is counted below.
_COUNTED = (
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::EIP",
    "AWS::EC2::NatGateway",
    "AWS::Events::Rule",
    "AWS::KMS::Key",
    "AWS::Lambda::EventSourceMapping",
    "AWS::SecretsManager::Secret",
)
_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MINUTES = {"minute": 1, "hour": 60, "day": 1440}


class UncountedResource(ValueError):  # Named for what it tells.
    """A resource type without a known price."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"{name} is an {kind}: add its idle cost to tidegate_cdk/prices.toml")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the bill: units of a price, what they are for, and the resources."""

    what: str
    price: str
    units: float

    @property
    def dollars(self) -> float:
        """The cost without any free allowance."""
        return self._of(self.units)

    def beyond(self, free: float) -> float:
        """The cost with this many free units."""
        return self._of(max(0.0, self.units - free))

    def _of(self, units: float) -> float:
        price = TABLE["price"][self.price]
        return float(units * price["dollars"] / price.get("per", 1))


@dataclass(frozen=True, slots=True)
class Bill:
    """The lines, in an order in which cheaper ones use the free allowance first."""

    lines: tuple[Line, ...]

    @property
    def dollars(self) -> float:
        """The total without free allowances."""
        return sum(line.dollars for line in self.lines)

    def after_allowances(self) -> list[tuple[Line, float]]:
        """Return each line with its cost in an account that uses the free allowances for nothing else."""
        left = {name: float(units) for name, units in TABLE["allowances"].items()}
        left |= {name: float(price["free"]) for name, price in TABLE["price"].items() if "free" in price}
        found = []
        for line in self.lines:
            allowance = TABLE["price"][line.price].get("shared", line.price)
            free = left.get(allowance, 0.0)
            left[allowance] = max(0.0, free - line.units)
            found.append((line, line.beyond(free)))
        return found


def runner_second(architecture: str) -> float:
    """Return the cost of a second of a default runner."""
    fargate = TABLE["fargate"]
    rates = fargate[architecture]
    hour = (
        fargate["vcpu"] * rates["vcpu_hour"]
        + fargate["memory_gb"] * rates["gb_hour"]
        + fargate["storage_gb"] * fargate["storage_hour"]
    )
    return float(hour / 3600)


def idle(template: Mapping[str, Any]) -> Bill:
    """Count a template. Raise UncountedResource for a type without a known price."""
    resources = template["Resources"]
    for name, resource in resources.items():
        kind = resource["Type"]
        if kind not in _COUNTED and not any(fnmatchcase(kind, known) for known in TABLE["nothing"]):
            raise UncountedResource(name, kind)
    lines = [*_alarms(resources), *_secrets(resources), *_pollers(resources), *_schedules(resources)]
    lines += [*_images(resources), *_by_the_hour(resources)]
    return Bill(tuple(line for line in lines if line.units))


def _of(resources: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [resource.get("Properties", {}) for resource in resources.values() if resource["Type"] == kind]


def _alarms(resources: Mapping[str, Any]) -> Iterator[Line]:
    """Count metrics: "pricing for alarms that use metric math is based on the number of metrics" in them."""
    alarms = _of(resources, "AWS::CloudWatch::Alarm")
    metrics = [sum("MetricStat" in each for each in alarm.get("Metrics", [])) or 1 for alarm in alarms]
    yield Line(f"{len(alarms)} alarms", "each metric of an alarm", sum(metrics))
    yield Line("The dashboard", "a dashboard", len(_of(resources, "AWS::CloudWatch::Dashboard")))


def _secrets(resources: Mapping[str, Any]) -> Iterator[Line]:
    """Count the secrets that functions read: operators create them (``tidegate secret``), not the stack."""
    named = {
        value
        for function in _of(resources, "AWS::Lambda::Function")
        for key, value in function.get("Environment", {}).get("Variables", {}).items()
        if key.endswith("_SECRET_NAME")
    }
    made = len(_of(resources, "AWS::SecretsManager::Secret"))
    yield Line("The webhook secret and the App's secret, which you store", "a secret", len(named) + made)


def _pollers(resources: Mapping[str, Any]) -> Iterator[Line]:
    """Count Lambda's polling of empty queues. Standard queues are first, as they are cheaper."""
    polls = _ASSUMED["pollers_of_a_queue"] * _SECONDS / _ASSUMED["seconds_of_a_poll"]
    kinds = [
        bool(resources[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"].get("FifoQueue"))
        for mapping in _of(resources, "AWS::Lambda::EventSourceMapping")
    ]
    for price, fifo in (("requests to standard queues", False), ("requests to FIFO queues", True)):
        queues = kinds.count(fifo)
        yield Line(f"Lambda polls {queues} queues", price, queues * polls)


def _schedules(resources: Mapping[str, Any]) -> Iterator[Line]:
    """Count scheduled calls of functions that find nothing to do."""
    for rule in _of(resources, "AWS::Events::Rule"):
        found = _RATE.fullmatch(rule.get("ScheduleExpression", ""))
        if not found:
            continue
        runs = _SECONDS / 60 / (int(found[1]) * _MINUTES[found[2]])
        function = resources[rule["Targets"][0]["Arn"]["Fn::GetAtt"][0]]["Properties"]
        what = f"The reconciler, every {found[1]} {found[2]}s"
        yield Line(what, "requests to functions", runs)
        gigabytes = function["MemorySize"] / 1024
        yield Line(what, "GB-seconds of functions", runs * gigabytes * _ASSUMED["seconds_of_a_run"])
        yield Line(what, "traces", runs)
        yield Line(what, "read units of the table", runs * _ASSUMED["reads_of_a_run"])
        yield Line(what, "reads of secrets", runs)
        yield Line(what, "GB of logs", runs * _ASSUMED["log_bytes_of_a_run"] / 1e9)


def _images(resources: Mapping[str, Any]) -> Iterator[Line]:
    """Count images of functions and containers. Each upgrade leaves another one of each in the CDK's repository.

    That of cluster tasks has the layers of the runner's, and some of its own.
    """
    functions = [
        json.dumps(each["Code"]) for each in _of(resources, "AWS::Lambda::Function") if "ImageUri" in each["Code"]
    ]
    tasks = [
        (task["Family"], json.dumps(each["Image"]))
        for task in _of(resources, "AWS::ECS::TaskDefinition")
        for each in task["ContainerDefinitions"]
    ]
    whole = {
        _digest(each) for each in (*functions, *(image for family, image in tasks if not _is_for_clusters(family)))
    }
    on_top = {_digest(image) for family, image in tasks if _is_for_clusters(family)} - whole
    size = len(whole) * _ASSUMED["gb_of_an_image"] + len(on_top) * _ASSUMED["gb_of_cluster_tools"]
    yield Line(f"{len(whole) + len(on_top)} images of one release", "GB of images", size)


def _is_for_clusters(family: str) -> bool:
    return family.endswith("-task")


def _digest(image: str) -> str:
    """Return an image's identity: tasks and functions name the same one in different forms."""
    found = _DIGEST.search(image)
    return found[0] if found else image


def _by_the_hour(resources: Mapping[str, Any]) -> Iterator[Line]:
    hours = _ASSUMED["hours"]
    yield Line("Keys", "a KMS key", len(_of(resources, "AWS::KMS::Key")))
    yield Line("NAT gateways", "hours of a NAT gateway", hours * len(_of(resources, "AWS::EC2::NatGateway")))
    yield Line("Addresses of NAT gateways", "hours of a public address", hours * len(_of(resources, "AWS::EC2::EIP")))


def opt_ins() -> Iterator[tuple[str, float]]:
    """Yield optional settings with a monthly cost, each with its unit price."""
    for row in TABLE["opt_in"]:
        units = _ASSUMED["hours"] if row.get("hours") else row.get("units", 1)
        yield row["setting"], Line("", row["price"], units).dollars


def page(template: Mapping[str, Any]) -> str:
    """Return docs/costs.md."""
    bill = idle(template)
    charged = bill.after_allowances()
    total = sum(dollars for _, dollars in charged)
    parts = [
        _INTRODUCTION.format(region=TABLE["region"], date=TABLE["date"], total=total, everything=bill.dollars),
        "| What | Unit | Units | Alone | With others |",
        "|---|---|---|---|---|",
        *(
            f"| {line.what} | [{line.price}]({TABLE['price'][line.price]['url']}) | {line.units:,.10g} "
            f"| {dollars:.2f} | {line.dollars:.2f} |"
            for line, dollars in charged
        ),
        f"| **All** | | | **{total:.2f}** | **{bill.dollars:.2f}** |",
        _OPT_IN,
        "| Setting | Dollars a month |",
        "|---|---|",
        *(f"| `{setting.partition(' (')[0]}`{_rest(setting)} | {dollars:.2f} |" for setting, dollars in opt_ins()),
        _NOTHING,
        "| Resources | Why |",
        "|---|---|",
        *(f"| `{kind}` | {why} |" for kind, why in sorted(TABLE["nothing"].items())),
    ]
    return "\n".join([*parts, ""])


def _rest(setting: str) -> str:
    _, bracket, rest = setting.partition(" (")
    return f"{bracket}{rest}"


_INTRODUCTION = """# Costs

Generated from the template and `tidegate_cdk/prices.toml` by `make docs`; a test fails when this page is stale.
Prices are US dollars in {region} on {date}; other regions differ by up to a third. `make bench ONLY=deploys` counts
the cost of one deploy ([Performance](performance.md#what-each-benchmark-measures)).

## An idle month

**${total:.2f}** with the defaults in an account of its own (*Alone*): AWS does not charge for the first units of some
services in each month, without an end date. **${everything:.2f}** in an account where other workloads have used these
up (*With others*). A test keeps the first below $3. Free tiers of an account's first year and credits are not counted.

Secrets and polling are most of it. Lambda has five pollers per queue, and AWS charges for each of their requests, also
if the queue is empty. No setting of a queue reduces this.
"""
_OPT_IN = """
## What is off by default

You enable each of these in `cdk.json` ([all keys](../tidegate_cdk/README.md)), because they would exceed $3. The first
three dashboards of an account cost nothing if they have at most 50 metrics, as Tidegate's has.
"""
_NOTHING = """
## What costs nothing while idle
"""


if __name__ == "__main__":
    sys.exit(write_page(PAGE, page))
