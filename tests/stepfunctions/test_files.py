"""The state machines' files: YAML that means the same JSON to everyone, and says each thing once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stepfunctions.machines import MACHINES, NAMES, ROOT, Machine
from tidegate.aws.definitions import rendered
from tidegate.clusters.adapters.machines import PARTS

_FOLDER = ROOT / "stepfunctions"
_SHARED = (_FOLDER / "shared.yaml").read_text(encoding="utf-8")
_TEXTS = {name: (_FOLDER / f"{name}.asl.yaml").read_text(encoding="utf-8") for name in NAMES}
_TEXTS[PARTS] = (_FOLDER / PARTS).read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "shared.yaml").write_text("Retries: {calls: &calls [{ErrorEquals: [Busy]}]}")
    return tmp_path / "any.asl.yaml"


def _json(file: Path, text: str) -> Any:
    file.write_text(text, encoding="utf-8")
    return json.loads(rendered(file))


def test_every_machine_has_a_file_and_every_file_a_machine():
    assert {path.name for path in _FOLDER.glob("*.yaml")} == {
        *(f"{name}.asl.yaml" for name in NAMES),
        PARTS,
        "shared.yaml",
    }


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_other_readers_of_yaml_see_the_same(machine: Machine):
    """PyYAML's own types (dates, ``on``, octal numbers) change nothing: editors and linters show what is deployed."""
    both = yaml.safe_load(f"Shared:\n{re.sub('^', '  ', _SHARED, flags=re.MULTILINE)}\n{_TEXTS[machine.name]}")
    del both["Shared"]
    assert both == machine.definition


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_nothing_of_yaml_is_left_in_what_is_deployed(machine: Machine):
    assert "<<" not in machine.text
    assert not re.search(r'"[*&][a-z-]+"', machine.text)


@pytest.mark.parametrize("name", _TEXTS)
def test_no_file_writes_a_retry_or_a_catch_twice(name: str):
    """What is an alias of a name is the same node; what is written again is another that is equal."""
    root = yaml.compose(f"{_SHARED}\n{_TEXTS[name]}", Loader=yaml.SafeLoader)
    assert root is not None
    rules = [yaml.serialize(rule) for rule in {id(rule): rule for rule in _rules(root)}.values()]
    assert rules
    assert [rule for rule in rules if rules.count(rule) > 1] == []


def _rules(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield the entries of all retries and catches."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in {"Retry", "Catch"}:
                yield from value.value
            yield from _rules(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _rules(value)


def test_every_shared_name_has_a_reason_and_is_used():
    named = re.findall(r"(.*)\n  [a-z-]+: &([a-z-]+)$", _SHARED, re.MULTILINE)
    assert len(named) == _SHARED.count(": &")
    assert [name for line, name in named if not line.startswith("  # ")] == []
    assert {name for _, name in named} <= set(re.findall(r"\*([a-z-]+)", "".join((_SHARED, *_TEXTS.values()))))


def test_shared_names_stand_for_what_they_name(file: Path):
    rendering = _json(file, "{A: {Retry: *calls}, B: {Retry: *calls}}")
    assert rendering["A"] == rendering["B"] == {"Retry": [{"ErrorEquals": ["Busy"]}]}


def test_fields_are_merged_and_those_of_the_state_go_first(file: Path):
    rendering = _json(file, "A: &a {Type: Task, TimeoutSeconds: 120}\nB: {<<: *a, TimeoutSeconds: 330}")
    assert rendering["B"] == {"Type": "Task", "TimeoutSeconds": 330}


@pytest.mark.parametrize(
    "word", ["on", "yes", "No", "2026-01-01", "12:30", "0o17", "017", "1_000", ".inf", "~", "True"]
)
def test_what_is_no_value_of_json_is_text(file: Path, word: str):
    assert _json(file, f"a: {word}") == {"a": word}


@pytest.mark.parametrize("word", ["true", "false", "null", "0", "-12", "2.0", '"2"'])
def test_values_of_json_are_what_they_are_there(file: Path, word: str):
    assert _json(file, f"a: {word}") == {"a": json.loads(word)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1\nb: 2\na: 3", "duplicate key"),
        ("a: *unknown", "undefined alias"),
        ("a: &calls []", "duplicate anchor"),
        ("a: [", 'any.asl.yaml", line 1'),
    ],
)
def test_what_cannot_be_meant_is_refused(file: Path, text: str, why: str):
    with pytest.raises(yaml.YAMLError, match=why):
        _json(file, text)


@pytest.mark.parametrize("text", ["a: !!timestamp 2026-01-01", "a: !!binary aGk=", "a: !!set {b}"])
def test_a_type_that_json_has_not_cannot_be_asked_for(file: Path, text: str):
    with pytest.raises(TypeError):
        _json(file, text)
