"""Manifests, and what renders them, may hold anything: a document that would end the runner is refused instead."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from runner.clusters.rendering import render
from runner.faults import TaskFailed
from tests.runner.clusters.manifests import component, definition, manifests, settings


@pytest.fixture
def rendered(tmp_path):
    """Return what renders the component of one file."""

    def of(text):
        (tmp_path / "app.yaml").write_text(text)
        work = SimpleNamespace(path=lambda name: tmp_path / name, tools=SimpleNamespace(source=tmp_path))
        return render(work, component("app"), "")

    return of


def laughs(levels, start="[lol, lol]"):
    """Return a document in which each line stands for the one before ten times."""
    lines = [f"a0: &a0 {start}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


MERGED = "\n".join(
    ["a0: &a0 {x: y}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 9))]
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[" * 100_000, "levels"),
        ("{a: " * 300 + "b" + "}" * 300, "levels"),
        ("\n".join(f"{'  ' * n}a:" for n in range(300)), "levels"),
        (json.dumps({"a": 1})[:-1] + ', "b": ' + "[" * 5_000 + "]" * 5_000 + "}", "levels"),
        (laughs(9), "aliases for more than"),
        (MERGED, "aliases for more than"),
        (f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 100)}]", "aliases for more than"),
        ("a: &a [*a]", "within what it stands for"),
        ("a: *nowhere", "within what it stands for"),
    ],
)
def test_a_document_that_would_end_the_runner_is_refused(rendered, text, part):
    with pytest.raises(TaskFailed, match=rf"component app.*{part}"):
        rendered(text)


def test_a_hostile_document_behind_a_good_one_is_refused(rendered):
    with pytest.raises(TaskFailed, match="levels"):
        rendered(f"{manifests(settings('good'))}\n---\n{'[' * 1_000}")


def test_aliases_and_deep_schemas_as_people_write_them_are_read(rendered):
    schema = {"type": "string"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"spec": schema}}
    deep = definition("Deep", "deeps")
    deep["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    again = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &marks {app: a}, annotations: *marks}\n"
    found = rendered(f"{manifests(deep)}\n---\n{again}")
    assert [each["kind"] for each in found] == ["CustomResourceDefinition", "ConfigMap"]
    assert found[1]["metadata"]["annotations"] == {"app": "a"}
