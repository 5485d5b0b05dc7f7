"""Which files a root's patterns mean."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import PathSpec

from tidegate.config.matcher import PatternIndex
from tidegate.config.model.file import WHEN_MODIFIED
from tidegate.config.patterns import root_patterns


def concerns(path: str, *patterns: str, directory: str = "live/app") -> bool:
    index = PatternIndex()
    index.add("app", directory, patterns)
    return index.concerned([path]) == {"app"}


@pytest.mark.parametrize(
    "path",
    [
        "live/app/main.tf",
        "live/app/deep/er/main.tf.json",
        "live/app/prod.tfvars",
        "live/app/template.tftpl",
        "live/app/main.tofu",
        "live/app/.terraform.lock.hcl",
        "live/app/a\nb.tf",
        "live/app/🚀.tf",
        "live/app/$(x)/a&&id.tf",
        "live/app/\udcff.tf",
        "live/app/" + "x" * 300 + ".tf",
    ],
)
def test_by_default_files_of_the_language_below_the_directory_concern_a_root(path):
    assert concerns(path, *WHEN_MODIFIED)


@pytest.mark.parametrize(
    "path", ["live/app/README.md", "live/apple/main.tf", "live/main.tf", "main.tf", "x/live/app/a.tf"]
)
def test_by_default_other_files_do_not(path):
    assert not concerns(path, *WHEN_MODIFIED)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.tf", "live/app/main.tf", True),
        ("*.tf", "live/app/deep/main.tf", False),
        ("./*.tf", "live/app/main.tf", True),
        ("../../modules/**", "modules/a/b.txt", True),
        ("../../modules/**", "live/modules/a.txt", False),
        ("../shared/*.json", "live/shared/a.json", True),
        ("/global/*.yaml", "global/a.yaml", True),
        ("/global/*.yaml", "live/app/global/a.yaml", False),
        ("policies", "live/app/policies/a/b.json", True),
        ("**", "live/app/anything", True),
        ("**", "elsewhere/anything", False),
    ],
)
def test_a_pattern_is_relative_to_the_roots_directory(pattern, path, expected):
    assert concerns(path, pattern) is expected


def test_the_last_pattern_that_matches_decides():
    assert not concerns("live/app/skip.tf", "*.tf", "!skip.tf")
    assert concerns("live/app/skip.tf", "!skip.tf", "*.tf")


def test_no_pattern_means_never_by_a_change():
    assert not concerns("live/app/main.tf")
    assert not concerns("live/app/main.tf", "!*.md")


@pytest.mark.parametrize("directory", ["a[b]c", "a*", "a?b", "!a", "#a", "a b", "$(x)", "a\nb"])
def test_a_directory_with_special_characters_means_itself(directory):
    assert concerns(f"{directory}/main.tf", "*.tf", directory=directory)
    assert not concerns("abc/main.tf", "*.tf", directory=directory)


def test_the_root_at_the_top_is_concerned_by_all_directories_below():
    assert concerns("deep/main.tf", *WHEN_MODIFIED, directory=".")


@pytest.mark.parametrize("pattern", ["../../../x", "../../..", "", "/", "!", "a/../b"])
def test_a_pattern_that_names_nothing_in_the_repository_is_refused(pattern):
    with pytest.raises(ValueError, match=r"matches no file|outside of the repository"):
        root_patterns("live/app", [pattern])


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/a/" * 30 + "b", "a/" * 1000 + "c"),
        ("*a" * 100 + "b", "a" * 200),
        ("**/" * 200 + "b", "a/" * 1000 + "c"),
        ("?*" * 100 + "b", "a" * 255),
    ],
)
def test_no_pattern_takes_long(pattern, path):
    began = time.process_time()
    assert not root_patterns(".", [pattern]).match(path)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", ["[z-a]", "[[:nothing:]]"])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(ValueError, match="is not a file pattern"):
        root_patterns(".", [pattern])


def test_names_that_are_not_utf8_are_matched_as_others_are():
    assert concerns("live/app/\udcff.tf", "*.tf")
    assert concerns("live/\udcff/main.tf", "*.tf", directory="live/\udcff")


@given(st.lists(st.sampled_from(["a", "b", ".tf", "*", "**", "?", "/", "[ab]", " ", "-", "é"]), min_size=1), st.data())
def test_patterns_mean_what_git_takes_them_for(parts, data):
    pattern = "".join(parts)
    path = "/".join(data.draw(st.lists(st.sampled_from(["a", "b", "a.tf", " ", "-é"]), min_size=1, max_size=4)))
    try:
        found = root_patterns(".", [pattern]).match(path)
    except ValueError:
        return
    assert found is PathSpec.from_lines("gitignore", [f"/{pattern.removeprefix('./').removeprefix('/')}"]).match_file(
        path
    )


DIRECTORIES = ["live/app", "live/app/db", "live", "a*b", "."]
PATTERNS = [
    "**/*.tf",
    "*.tf",
    "../lib/**",
    "!../lib/x.tf",
    "/lib/*.tf",
    "lib/x.tf",
    "./deep/*/x.tf",
    "[ab]/x.tf",
    "/x.tf",
]
PATHS = [
    "x.tf",
    "lib/x.tf",
    "live/app/x.tf",
    "live/lib/x.tf",
    "live/app/db/lib/x.tf",
    "a*b/deep/y/x.tf",
    "live/app/a/x.tf",
]


@given(
    st.lists(st.tuples(st.sampled_from(DIRECTORIES), st.lists(st.sampled_from(PATTERNS)))),
    st.lists(st.sampled_from(PATHS)),
)
def test_of_many_roots_those_are_found_that_one_pattern_after_the_other_would_find(roots, paths):
    roots = [(place, [each for each in patterns if place != "." or "../" not in each]) for place, patterns in roots]
    index = PatternIndex()
    for number, (place, patterns) in enumerate(roots):
        index.add(str(number), place, patterns)
    asked = [root_patterns(place, patterns) for place, patterns in roots]
    expected = {str(number) for number, each in enumerate(asked) if any(each.match(path) for path in paths)}
    assert index.concerned(paths) == expected
