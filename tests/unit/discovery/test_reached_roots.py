"""Why a root is part of a change: what reached it."""

from __future__ import annotations

import pytest

from tests.unit.discovery.trees import BASE, after, discover

PATTERNS = """
dirs:
  live/*:
    when_modified: ['**/*.tf', '../../shared/**']
"""


def reasons(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    return {each.member.root.name: each.member.why for each in discover(old, new).members}


def test_a_root_whose_own_files_change_says_only_so():
    assert reasons(BASE, after(live__db__main_dot_tf="# new")) == {"live/db": "This commit changes it."}
    top = {"main.tf": ""}
    assert list(reasons(top, {"main.tf": "# new"}).values()) == ["This commit changes it."]


@pytest.mark.parametrize("place", ["network", "subnet"])
def test_a_root_that_a_module_reaches_names_the_modules_file(place):
    path = f"modules/{place}/main.tf"
    assert reasons(BASE, {**BASE, path: "# new"}) == {"live/app": f"This commit changes {path}, which the root uses."}


def test_a_root_of_a_list_that_a_module_reaches_names_the_modules_file():
    base = {**BASE, "tidegate.yaml": "roots: [{dir: live/app}, {dir: live/db}]\n"}
    path = "modules/subnet/main.tf"
    assert reasons(base, {**base, path: "# new"}) == {"live/app": f"This commit changes {path}, which the root uses."}


def test_a_root_that_patterns_reach_names_the_file():
    base = {**BASE, "tidegate.yaml": PATTERNS, "shared/names.json": "{}"}
    found = reasons(base, {**base, "shared/names.json": "[]", "live/db/main.tf": "# new"})
    assert found == {
        "live/app": "This commit changes shared/names.json, which the root uses.",
        "live/db": "This commit changes it.",
    }


def test_a_root_that_patterns_of_the_whole_file_reach_names_the_file():
    base = {**BASE, "tidegate.yaml": "when_modified: ['**/*.tf', '/shared/**']\n", "shared/a": ""}
    assert reasons(base, {**base, "shared/a": "b"}) == dict.fromkeys(
        ("live/app", "live/db"), "This commit changes shared/a, which the root uses."
    )


def test_a_root_of_a_list_names_the_file_that_its_patterns_mean():
    text = "roots:\n  - {dir: live/db, when_modified: ['../../shared/**']}\n"
    base = {**BASE, "tidegate.yaml": text, "shared/a": ""}
    assert reasons(base, {**base, "shared/a": "b"}) == {"live/db": "This commit changes shared/a, which the root uses."}


def test_a_root_that_only_the_configuration_changes_says_so():
    base = {**BASE, "tidegate.yaml": "engine: {version: 1.11.4}\n"}
    found = reasons(base, {**base, "tidegate.yaml": "engine: {version: 1.11.3}\n"})
    assert set(found.values()) == {"This commit changes the engine of the root in tidegate.yaml."}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("version: 1\n", "clone: {lfs: true}\n", "changes clone of the root"),
        (
            "version: 1\n",
            "clone: {lfs: true}\nhooks: {apply: {post: [{type: run, cmd: [x]}]}}\n",
            "changes apply steps and clone",
        ),
        (
            "roots: [{dir: live/db}]\n",
            "roots: [{dir: live/db}, {dir: live/app}]\n",
            "adds the root",
        ),
        ("nonsense: 1\n", "version: 1\n", "tidegate.yaml before this commit was invalid"),
    ],
)
def test_what_of_the_configuration_changes_a_root_is_named(before, after, words):
    base = {**BASE, "tidegate.yaml": before}
    assert all(words in why for why in reasons(base, {**base, "tidegate.yaml": after}).values())


def test_a_very_long_path_is_cut_and_of_very_many_files_none_is_named():
    deep = f"modules/network/{'x' * 200}.tf"
    (why,) = reasons(BASE, {**BASE, deep: ""}).values()
    assert why == f"This commit changes {deep[:120]}…, which the root uses."
    many = {f"docs/{number:02}.md": "" for number in range(20)}
    found = reasons(BASE, {**BASE, **many, "modules/subnet/main.tf": "# new"})
    assert found == {"live/app": "This commit changes files that the root uses outside of its directory."}
