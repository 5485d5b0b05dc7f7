"""What asl-validator is shown of a state machine means the same to AWS as what is deployed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepfunctions.validate import as_expressions

_FILES = sorted((Path(__file__).parents[2] / "stepfunctions").glob("*.asl.json"))


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
    definition = json.loads(file.read_text(encoding="utf-8"))
    shown = json.dumps(as_expressions(definition))
    for name in definition["States"]:
        assert json.dumps(name) in shown
    assert as_expressions(json.loads(shown)) == json.loads(shown)
