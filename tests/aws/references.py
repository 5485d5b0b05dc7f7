"""Holds each reference of a template against what it gives, and what the place that it stands in takes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from tests.aws.contract import DATA, Source, Template, reference

_TABLES = tomllib.loads((DATA / "references.toml").read_text(encoding="utf-8"))
_FILLED = re.compile(r"FILL\((\w+), \S+\)")


def findings(document: Mapping[str, Any]) -> list[str]:
    """Return each reference that gives something else than its place takes, and each alarm that sees no metric."""
    template = Template(document)
    resources = [source for source in template.sources() if source.kind.startswith("AWS::")]
    return [line for source in resources for line in (*_misplaced(template, source), *_blind(template, source))]


def _misplaced(template: Template, source: Source) -> Iterator[str]:
    for path, value in _references(source.properties):
        given = _given(template, value)
        taken = _taken(source.kind, path)
        if given is not None and given not in taken.split(" or "):
            yield f"{source.name}: {path} takes {taken or 'what no row says'} and gets {given}"


def _given(template: Template, value: Any) -> str | None:
    """Return what a reference gives. A parameter or a pseudo parameter is not looked at."""
    name, attribute = reference(value) or ("", "")
    if name not in template.resources:
        return None
    kind = template.resources[name]["Type"]
    return str(_TABLES["returns"].get(kind, {}).get(attribute, f"{attribute} of {kind}, which no row knows"))


def _taken(kind: str, path: str) -> str:
    variable = path.rpartition(".Environment.")[2] if ".Environment." in f".{path}" else ""
    if variable:
        fitting = [name for name in _TABLES["variables"] if fnmatchcase(variable, name)]
        return str(_TABLES["variables"][max(fitting, key=len)]) if fitting else ""
    rows = [row for name, row in _TABLES["takes"].items() if fnmatchcase(kind, name)]
    return next((taken for row in rows for at, taken in row.items() if fnmatchcase(path, _literal(at))), "")


def _literal(path: str) -> str:
    return path.replace("[]", "[[]]")


def _references(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every place that is nothing but a reference, with its path. ``Name`` and ``Value`` make a variable."""
    if reference(value):
        yield path, value
    elif isinstance(value, Mapping) and set(value) == {"Name", "Value"} and path.endswith(".Environment[]"):
        yield from _references(value["Value"], f"{path.removesuffix('[]')}.{value['Name']}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not key.startswith("Fn::"):
                yield from _references(
                    item, f"{path}.{key}".removeprefix(".").replace(".Environment.Variables", ".Environment")
                )
    elif isinstance(value, list):
        for item in value:
            yield from _references(item, f"{path}[]")


def _blind(template: Template, source: Source) -> Iterator[str]:
    if source.kind != "AWS::CloudWatch::Alarm":
        return
    queries = source.properties.get("Metrics", [])
    for metric in [source.properties, *(query["MetricStat"]["Metric"] for query in queries if "MetricStat" in query)]:
        for dimension in metric.get("Dimensions", []):
            yield from _unseen(template, source, metric["Namespace"], dimension)
    counted = {query["Id"] for query in queries if "MetricStat" in query}
    for expression in [query["Expression"] for query in queries if "Expression" in query]:
        for name in sorted(counted - set(_FILLED.findall(expression))):
            yield f"{source.name}: periods without data of {name} count for nothing: FILL({name}, 0)"
        # "If your metrics are published with a slight delay … work around this by using an M out of N alarm."
        if source.properties.get("DatapointsToAlarm", 0) not in range(1, source.properties["EvaluationPeriods"]):
            yield f"{source.name}: FILL stands for data that come late: look at several periods"


def _unseen(template: Template, source: Source, namespace: str, dimension: Mapping[str, Any]) -> Iterator[str]:
    row = _TABLES["dimensions"].get(f"{namespace} {dimension['Name']}")
    value = dimension["Value"]
    if row is None:
        yield f"{source.name}: no row says what {namespace} has as {dimension['Name']}"
    elif isinstance(value, str):
        measured = [r["Properties"].get(row["name"]) for r in template.resources.values() if r["Type"] == row["type"]]
        if value not in measured:
            yield f"{source.name}: no {row['type']} is named {value}, which {dimension['Name']} says"
    elif (given := _given(template, value)) != row["takes"]:
        yield f"{source.name}: {namespace} has the {row['takes']} as {dimension['Name']}, not {given}"
