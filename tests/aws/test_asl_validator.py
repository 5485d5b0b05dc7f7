"""What asl-validator is shown of a state machine means the same to AWS as what is deployed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from stepfunctions.validate import as_expressions, told
from tidegate.aws.definitions import rendered

_FILES = sorted((Path(__file__).parents[2] / "stepfunctions").glob("*.asl.yaml"))


def test_plain_texts_are_shown_as_expressions_of_the_same_value():
    inner = {"States": {"End": {"Type": "Succeed", "Output": "looked at"}}}
    states = {
        "Begin": {"Type": "Pass", "Assign": {"a": "", "b": "text", "c": 1}, "Output": "{% $a %}"},
        "Each": {"Type": "Map", "ItemProcessor": inner},
    }
    shown = as_expressions({"States": states})["States"]
    assert shown["Begin"]["Assign"] == {"a": "{% '' %}", "b": "text", "c": 1}
    assert shown["Begin"]["Output"] == "{% $a %}"
    assert shown["Each"]["ItemProcessor"]["States"]["End"]["Output"] == '{% "looked at" %}'
    assert inner["States"]["End"]["Output"] == "looked at"


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.name)
def test_nothing_else_is_shown_otherwise(file: Path):
    definition = json.loads(rendered(file))
    for path, deployed, shown in _differences(definition, as_expressions(definition)):
        if path[-1] == "Output":
            assert shown == f"{{% {json.dumps(deployed)} %}}", path
        else:
            assert {"Assign", "Arguments", "Output"} & set(path), path
            assert (deployed, shown) == ("", "{% '' %}"), path


def _differences(one: Any, other: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield where two definitions differ, and both values there."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _differences(one[key], other[key], (*path, key))
    elif one != other:
        yield path, one, other


@pytest.mark.parametrize(
    ("done", "found"),
    [
        (CompletedProcess([], 0, "", "a warning"), []),
        (CompletedProcess([], 1, "E: one\nE: two\n", ""), ["E: one", "E: two"]),
        (CompletedProcess([], 1, "", "Error: no module"), ["Error: no module"]),
    ],
)
def test_what_the_validator_finds_is_told(done: CompletedProcess[str], found: list[str]):
    assert list(told(done)) == found


def test_a_validator_that_dies_without_a_word_lets_nothing_pass():
    assert list(told(CompletedProcess([], -9, "", "")))
