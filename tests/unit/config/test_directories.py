"""Directories, their workspaces, and patterns of directories."""

from __future__ import annotations

import pytest

from tests.configuration import load, refusal


def test_tags_of_directories_and_workspaces_add_up():
    text = """
version: 1
roots: [{dir: a, tags: [network, prod]}, {dir: b}]
dirs:
  c: {tags: [app]}
  d: {tags: [app, team-a], workspaces: {prod: {tags: [prod, app]}, dev: }}
"""
    assert [(each.root.name, each.tags) for each in load(text).roots or ()] == [
        ("a", ("network", "prod")),
        ("b", ()),
        ("c", ("app",)),
        ("d/prod", ("app", "team-a", "prod")),
        ("d/dev", ("app", "team-a")),
    ]


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ("'dir:live'", "looks like a tag that Tidegate gives"),
        ("workspace:prod", "looks like a tag that Tidegate gives"),
        ('"a\\tb"', "cannot be seen"),
        ("''", "at least 1 character"),
        ("a" * 101, "at most 100 characters"),
    ],
)
def test_a_tag_that_would_mislead_is_refused(tag, words):
    error = refusal(f"version: 1\nroots:\n  - {{dir: a, tags: [x, {tag}]}}\n")
    assert (error.line, error.column) == (3, 24)
    assert words in str(error)
