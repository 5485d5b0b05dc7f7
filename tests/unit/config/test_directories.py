"""Directories, their workspaces, and patterns of directories."""

from __future__ import annotations

import pytest

from tests.configuration import load, refusal
from tidegate.config.declarations import EngineText
from tidegate.config.resolution import configure
from tidegate.deploys.rules.review_rule import PlanReview


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
        ("'dir:live'", "uses a prefix that Tidegate reserves"),
        ("workspace:prod", "uses a prefix that Tidegate reserves"),
        ('"a\\tb"', "contains invisible characters"),
        ("''", "at least 1 character"),
        ("a" * 101, "at most 100 characters"),
    ],
)
def test_a_tag_that_would_mislead_is_refused(tag, words):
    error = refusal(f"version: 1\nroots:\n  - {{dir: a, tags: [x, {tag}]}}\n")
    assert (error.line, error.column) == (3, 24)
    assert words in str(error)


WHEN = """
when_modified: {file_patterns: ['*.tf'], depends_on: base, autoplan: false}
dirs:
  a:
  b: {when_modified: ['*.hcl']}
  c:
    when_modified: {depends_on: {tag_query: network}, autoplan: true}
    workspaces:
      dev:
      prod: {when_modified: {file_patterns: []}}
"""


def test_when_modified_is_taken_key_by_key_from_the_nearest_section_that_says_it():
    loaded = load(WHEN)
    found = {
        name: (each.when_modified, each.depends_on.text if each.depends_on else None, each.autoplan)
        for name, each in loaded.declarations.items()
    }
    assert found == {
        "a": (("*.tf",), "base", False),
        "b": (("*.hcl",), "base", False),
        "c/dev": (("*.tf",), "network", True),
        "c/prod": ((), "network", True),
    }
    defaults = loaded.defaults
    assert (defaults.when_modified, defaults.depends_on.text, defaults.autoplan) == (("*.tf",), "base", False)


def test_what_is_said_of_a_root_has_its_line_and_its_engine_as_it_is_written():
    loaded = load(
        "dirs:\n  a:\n    engine: {version: 1.2.3}\n  b: {engine: tofu, plan_review: never}\nroots:\n  - dir: c\n"
    )
    declarations = loaded.declarations
    assert {name: each.line for name, each in declarations.items()} == {"a": 2, "b": 4, "c": 6}
    assert declarations["a"].engine == EngineText(None, "1.2.3", 3)
    assert declarations["b"].engine == EngineText("tofu", None, 4)
    assert {name: each.reviewed for name, each in declarations.items()} == {"a": False, "b": True, "c": False}


def test_a_key_with_a_star_is_a_pattern_of_directories_and_declares_no_root_itself():
    loaded = load("""
dirs:
  ./live/*/:
    tags: [live]
    workspaces: {dev: {tags: [small]}, prod: }
  'mod/**': {when_modified: {file_patterns: []}}
  plain:
""")
    assert [each.root.name for each in loaded.roots] == ["plain"]
    assert [(each.pattern, each.workspace, each.declaration.tags) for each in loaded.globs] == [
        ("live/*", "dev", ("live", "small")),
        ("live/*", "prod", ("live",)),
        ("mod/**", None, ()),
    ]
    assert load("dirs: {'live/*': }\n").roots == ()


@pytest.mark.parametrize(
    ("dirs", "line", "column", "words"),
    [
        ("  live/*: {name: x}", 2, 18, ["several roots", "'x'", "Remove 'name'"]),
        ("  'live/*.tf': {}", 2, 3, ["matches files", "live/**"]),
        ("  ../*: {}", 2, 3, ["not a valid directory"]),
        ("  live/*: {}\n  live//*: {}", 3, 12, ["duplicate", "line 2"]),
        ("  'a/**': {when_modified: ['../../x']}", 2, 27, ["points outside of the repository"]),
        ("  a: {tags: prod}", 2, 13, ["is a string, but a list is needed", "Write [prod]"]),
        ("  a: {when_modified: '*.tf a/*'}", 2, 22, ["a list is needed", "Write ['*.tf', a/*]"]),
        ("  a: {when_modified: 1}", 2, 22, ["a list is needed", "Write [1]"]),
        ("  a: {when_modified: {depends_on: ''}}", 2, 35, ["depend on each other", "Remove depends_on"]),
        ("  a: {when_modified: {depends_on: 'a and'}}", 2, 35, ["column 6 of the tag query"]),
        ("  a: {when_modified: {depends_on: {tag_query: b, prune: true}}}", 2, 50, ["Allowed keys: tag_query"]),
        ("  a: {when_modified: {autoplan: maybe}}", 2, 33, ["Write true or false"]),
        ("  a: {engine: {version: 1.2.3, tf_version: 1.2.4}}", 2, 15, ["Keep one: they mean the same"]),
    ],
)
def test_what_directories_cannot_be_is_told_with_its_place(dirs, line, column, words):
    error = refusal(f"dirs:\n{dirs}\n")
    assert (error.line, error.column) == (line, column)
    for word in words:
        assert word in str(error)


def test_only_so_many_patterns_of_directories_are_taken():
    several = [f"  'live/{number}/*':\n" for number in range(201)]
    assert "201 keys of 'dirs' contain a '*'" in str(refusal("dirs:\n" + "".join(several)))
    assert len(load("dirs:\n" + "".join(several[:200])).globs) == 200


def test_single_roots_may_be_destroyed_and_their_plans_are_always_reviewed():
    text = """
version: 1
plan_review: never
roots: [{dir: a, destroy: true}]
dirs:
  b: {destroy: true, workspaces: {prod: {destroy: false}, dev: }}
  c: {destroy: true}
"""
    loaded = load(text)
    roots = configure(loaded, [each.root for each in loaded.roots or ()]).roots
    destroyed = {each.root.name: each.review_rule.when for each in roots if each.destroy}
    assert destroyed == dict.fromkeys(("a", "b/dev", "c"), PlanReview.ALWAYS)
    assert [each.review_rule.when for each in roots if not each.destroy] == [PlanReview.NEVER]


@pytest.mark.parametrize("dirs", ["live/*: {destroy: true}", "live/app: {root: false, destroy: true}"])
def test_what_is_not_one_root_is_not_destroyed(dirs):
    assert "only for a single root" in str(refusal(f"version: 1\ndirs:\n  {dirs}\n"))
