"""Holds each metric that alarms and dashboards look at against the metrics that there are, from metrics.toml."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.aws.contract import DATA, reference

ROWS: list[dict[str, Any]] = tomllib.loads((DATA / "metrics.toml").read_text(encoding="utf-8"))["row"]
_TABLES = tomllib.loads((DATA / "references.toml").read_text(encoding="utf-8"))
_PLACED = re.compile(r"@@(\d+)@@")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, and who looks at it. Values of dimensions are as in the template."""

    where: str
    namespace: str
    name: str
    dimensions: Mapping[str, Any]
    region: str = ""


def findings(document: Mapping[str, Any]) -> list[str]:
    """Return each metric that never has data, one line each."""
    return [line for metric in metrics(document) for line in _of(document["Resources"], metric)]


def metrics(document: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield the metrics of all alarms and dashboards."""
    for name, resource in document["Resources"].items():
        if resource["Type"] == "AWS::CloudWatch::Alarm":
            properties = resource["Properties"]
            queries = [each["MetricStat"]["Metric"] for each in properties.get("Metrics", []) if "MetricStat" in each]
            for each in queries or [properties]:
                dimensions = {one["Name"]: one["Value"] for one in each.get("Dimensions", [])}
                yield Metric(name, each["Namespace"], each["MetricName"], dimensions)
        if resource["Type"] == "AWS::CloudWatch::Dashboard":
            yield from _drawn(resource["Properties"]["DashboardBody"])


def body(value: Any) -> dict[str, Any]:
    """Return the body of a dashboard, with the references in their places."""
    _, parts = value["Fn::Join"]
    text = "".join(part if isinstance(part, str) else f"@@{number}@@" for number, part in enumerate(parts))
    found: dict[str, Any] = _replaced(json.loads(text), parts)
    return found


def _replaced(value: Any, parts: list[Any]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, parts) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, parts) for item in value]
    place = _PLACED.fullmatch(value) if isinstance(value, str) else None
    return parts[int(place[1])] if place else value


def _drawn(value: Any) -> Iterator[Metric]:
    for widget in body(value)["widgets"]:
        properties = widget["properties"]
        for found in properties.get("metrics", []):
            if isinstance(found[0], str):
                *path, options = found
                namespace, name, *pairs = path
                region = options.get("region", properties["region"])
                dimensions = dict(zip(pairs[::2], pairs[1::2], strict=True))
                yield Metric(
                    properties["title"], namespace, name, dimensions, region if isinstance(region, str) else ""
                )


def _of(resources: Mapping[str, Any], metric: Metric) -> Iterator[str]:
    if not metric.namespace.startswith("AWS/"):
        yield from _uncounted(resources, metric)
        return
    rows = [
        row
        for row in ROWS
        if row["namespace"] == metric.namespace
        and metric.name in row["names"]
        and set(metric.dimensions) in map(set, row["dimensions"])
    ]
    if not rows:
        yield f"{metric.where}: no row has {metric.namespace} {metric.name} by {sorted(metric.dimensions)}"
    for row in rows:
        if row.get("region", "") != metric.region:
            yield f"{metric.where}: {metric.namespace} is in {row.get('region', 'the region of the stack')}"
        for dimension, value in metric.dimensions.items():
            yield from _unknown(resources, metric, row, dimension, value)


def _uncounted(resources: Mapping[str, Any], metric: Metric) -> Iterator[str]:
    """A metric of one's own is counted by a filter, and has no dimension."""
    counted = [
        (each["MetricNamespace"], each["MetricName"])
        for resource in resources.values()
        if resource["Type"] == "AWS::Logs::MetricFilter"
        for each in resource["Properties"]["MetricTransformations"]
    ]
    if metric.dimensions or (metric.namespace, metric.name) not in counted:
        yield f"{metric.where}: no filter counts {metric.namespace} {metric.name}"


def _unknown(
    resources: Mapping[str, Any], metric: Metric, row: Mapping[str, Any], dimension: str, value: Any
) -> Iterator[str]:
    if isinstance(value, str) and dimension in row.get("values", {}):
        if value not in row["values"][dimension]:
            yield f"{metric.where}: {metric.namespace} has no {dimension} {value}"
        return
    measured = _TABLES["dimensions"].get(f"{metric.namespace} {dimension}", {})
    kinds = {"type": None, "takes": None, "name": None, **measured}
    if isinstance(value, str):
        names = [r["Properties"].get(kinds["name"]) for r in resources.values() if r["Type"] == kinds["type"]]
        if value not in names:
            yield f"{metric.where}: {dimension} {value} is no {kinds['type']}"
        return
    name, attribute = reference(value) or ("", "")
    kind = resources.get(name, {}).get("Type", "")
    given = _TABLES["returns"].get(kind, {}).get(attribute)
    # The reference to a rule of the default bus is its name.
    on_a_bus = "EventBusName" in resources.get(name, {}).get("Properties", {})
    given = "name" if given == "bus|rule" and not on_a_bus else given
    if (kind, given) != (kinds["type"], kinds["takes"]):
        yield f"{metric.where}: {dimension} takes the {kinds['takes']} of an {kinds['type']}, not {given} of {kind}"
