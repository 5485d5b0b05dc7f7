"""What tidegate.yaml may say, and what is told to whoever wrote something else."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.configuration import REPOSITORY, load, mistakes, refusal
from tidegate.config.loader import DeclaredRoot, LoadedConfiguration, Misleading, examine_configuration
from tidegate.config.model.file import WHEN_MODIFIED
from tidegate.roots.rules.root import Engine, EngineName, Root
from tidegate.rules.errors import InvalidConfiguration


def test_the_shortest_file_declares_no_roots_and_keeps_the_defaults():
    loaded = load("version: 1\n")
    assert (loaded.roots, loaded.engine, loaded.when_modified) == (None, Engine(), WHEN_MODIFIED)


def test_every_key_of_a_root_is_taken():
    text = """
version: 1
engine: {name: terraform, version: 1.11.4}
when_modified: ["**/*.tf"]
roots:
  - name: network
    dir: ./live//network/
    workspace: prod
    when_modified: ["*.tf", "!skip.tf"]
    engine: {name: tofu, version: 1.10.0-rc1}
  - dir: live/database
"""
    assert load(text).roots == (
        DeclaredRoot(
            Root("network", "live/network", "prod", Engine(EngineName.TOFU, "1.10.0-rc1")), ("*.tf", "!skip.tf")
        ),
        DeclaredRoot(
            Root("live/database", "live/database", engine=Engine(EngineName.TERRAFORM, "1.11.4")), ("**/*.tf",)
        ),
    )


def test_directories_with_workspaces_are_taken():
    text = """
version: 1
dirs:
  live/app:
    when_modified: {file_patterns: ["*.tf"]}
    workspaces:
      dev: {}
      prod: {name: app-prod, engine: tofu, when_modified: ["**"]}
  .:
"""
    assert [(each.root.name, each.root.dir, each.root.workspace, each.when_modified) for each in load(text).roots] == [
        ("live/app/dev", "live/app", "dev", ("*.tf",)),
        ("app-prod", "live/app", "prod", ("**",)),
        ("infra", ".", "default", WHEN_MODIFIED),
    ]


def test_a_repeated_name_is_told_together_with_what_the_models_refuse():
    text = "engin: tofu\nroots: [{dir: a, name: x}, 1]\ndirs: {b: {name: x}, c: {name: [y]}, d: }\n"
    told = [str(each) for each in mistakes(text)]
    assert [each.split(": ")[0].removeprefix("tidegate.yaml:") for each in told] == ["1:1", "2:28", "3:18", "3:32"]
    assert "duplicate root name 'x'. It is already used on line 2" in told[2]
    assert "duplicate" in str(mistakes("engin: tofu\nroots: [{dir: a, name: x}, {dir: b, name: x}]\n")[1])
    for roots in ("roots: 1\ndirs: 1\n", "roots: {a: {name: x}}\ndirs: [{name: x}]\n"):
        assert "duplicate" not in "".join(str(each) for each in mistakes(f"engin: tofu\n{roots}"))


def test_values_are_text_as_written_so_that_a_version_keeps_its_zeros():
    assert load("version: 1\nengine: {version: 1.10.0}\n").engine.version == "1.10.0"
    assert load("version: 1\nroots: [{name: 007, dir: 010}]\n").roots[0].root == Root("007", "010")


def test_anchors_and_a_byte_order_mark_are_fine():
    text = "\ufeffversion: 1\nroots:\n  - {dir: a, when_modified: &all ['**']}\n  - {dir: b, when_modified: *all}\n"
    assert load(text).roots[1].when_modified == ("**",)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("version: 1\nrots: []\n", 2, 1, ["unknown key 'rots'", "Did you mean 'roots'? docs/configuration.md lists"]),
        ("version: 1\nroots:\n  - dri: a\n", 3, 5, ["missing key 'dir'"]),
        ("version: 1\nroots:\n  - dir: a\n    wrokspace: x\n", 4, 5, ["Did you mean 'workspace'?"]),
        ("version: 1\nengine:\n  nam: tofu\n", 3, 3, ["Did you mean 'name'?"]),
        (
            "version: 1\ndirs:\n  a:\n    workspaces:\n      x: {y: 1}\n",
            5,
            11,
            ["unknown key 'y'", "Allowed keys: name, tags"],
        ),
        ("version: 1\nwhen_modified: {file_paterns: []}\n", 2, 17, ["Did you mean 'file_patterns'?"]),
        ("version: 2\n", 1, 10, ["'2'", "version: 1"]),
        ("version: 1\nroots: {}\n", 2, 8, ["It should be a list"]),
        ("version: 1\nroots: [a]\n", 2, 9, ["It should be a mapping"]),
        ("version: 1\nengine: pulumi\n", 2, 9, ["'terraform' or 'tofu'"]),
        ("version: 1\nengine: {version: '>= 1.5'}\n", 2, 19, ["not an exact version", "1.11.4"]),
        ("version: 1\nengine: {version: '1.5.0\n'}\n", 2, 19, ["not an exact version"]),
        ("version: 1\nroots:\n  - {name: a b, dir: a}\n", 3, 12, ["'a b'", "letters, digits"]),
        ("version: 1\nroots:\n  - {name: '-chdir=x', dir: a}\n", 3, 12, ["root name"]),
        ("version: 1\nroots:\n  - {name: '$(x)', dir: a}\n", 3, 12, ["root name"]),
        ("version: 1\nroots:\n  - {name: 'a&&id', dir: a}\n", 3, 12, ["root name"]),
        (f"version: 1\nroots:\n  - {{name: {'a' * 300}, dir: a}}\n", 3, 12, ["root name"]),
        ("version: 1\nroots:\n  - {name: 🚀, dir: a}\n", 3, 12, ["root name"]),
        ('version: 1\nroots:\n  - {name: "a\\nb", dir: a}\n', 3, 12, ["root name"]),
        ("version: 1\nroots:\n  - {dir: ../..}\n", 3, 11, ["directory", "'..'"]),
        ("version: 1\nroots:\n  - {dir: /etc}\n", 3, 11, ["directory"]),
        ("version: 1\nroots:\n  - {dir: .git/x, name: a}\n", 3, 11, ["directory"]),
        ("version: 1\nroots:\n  - {dir: 'a&&id'}\n", 3, 11, ["Set 'name'"]),
        ("version: 1\nroots:\n  - {dir: a, workspace: ../x}\n", 3, 25, ["workspace"]),
        ("version: 1\nroots:\n  - {dir: a}\n  - {dir: b, name: a}\n", 4, 20, ["duplicate", "line 3"]),
        ("version: 1\nroots:\n  - {dir: a}\n  - {dir: a/, name: b}\n", 4, 21, ["already", "line 3"]),
        ("version: 1\nroots: [{dir: a}]\ndirs:\n  b: {name: a}\n", 4, 13, ["duplicate", "line 2"]),
        ("version: 1\ndirs:\n  a: {name: x}\n  a/: {name: y}\n", 4, 14, ["already"]),
        ("version: 1\nversion: 1\n", 2, 1, ["duplicate", "line 1"]),
        ("version: 1\nroots:\n  - {dir: a, when_modified: ['../../b']}\n", 3, 29, ["outside of the repository"]),
        ("version: 1\nwhen_modified: ['!']\n", 2, 16, ["not a valid pattern"]),
        ("version: 1\nwhen_modified: ['']\n", 2, 17, ["at least 1 character"]),
        ("version: 1\nroots: [\n", 3, 1, ["invalid YAML"]),
        ("version: 1\n\troots: []\n", 2, 1, ["found a tab character", "Indent with spaces: YAML allows no"]),
        ("version: 1\nroots: !!python/object:os.system x\n", 2, 8, ["tag"]),
        ("version: 1\n? [a]\n: b\n", 2, 3, ["this key is not a plain"]),
        ("version: 1\ndirs:\n  a: &a {}\n  b: {<<: *a}\n", 4, 7, ["not supported"]),
        ("version: 1\nroots: *none\n", 2, 8, ["undefined alias 'none'"]),
        ("version: 1\n---\nversion: 1\n", 2, 1, ["invalid YAML"]),
        ("- a\n", 1, 1, ["must be a mapping", "version, engine"]),
        ("", 1, 1, ["empty"]),
        ("version: 1\nroots: \x07\n", 1, None, ["control character"]),
        (b"version: 1\n# \xff\n", 2, None, ["UTF-8"]),
        ("[" * 5000, 1, None, ["nested too deep"]),
        (b"#" * (1024 * 1024 + 1), 1, None, ["bytes"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_what_is_allowed(text, line, column, words):
    error = refusal(text)
    assert (error.file, error.line, error.column) == ("tidegate.yaml", line, column)
    for word in words:
        assert word in str(error)


def test_of_several_mistakes_the_first_in_the_file_is_told():
    assert refusal("version: 1\nengine: x\nroots:\n  - {}\nzzz: 1\n").line == 2


def test_aliases_of_aliases_do_not_become_a_billion_values():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    started = time.process_time()
    assert "too many values" in str(refusal("\n".join(lines)))
    assert time.process_time() - started < 10


@pytest.mark.parametrize("many", ["[*a, {}]", "{{b: *a}}, {}", "{{? *a\n : b}}, {}"])
def test_aliases_of_one_long_text_do_not_become_more_text_than_is_read(many):
    pieces = many.format("*a, " * 2000)
    started = time.process_time()
    error = refusal(f"version: 1\nx: &a {'y' * 500_000}\nz: [{pieces}]\n")
    assert "too much text" in str(error)
    assert time.process_time() - started < 10


def test_aliases_of_aliases_do_not_nest_values_more_deeply_than_is_read():
    chain = "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 600))
    assert "nested too deep" in str(refusal(f"a0: &a0 []\n{chain}"))


def test_an_alias_of_itself_is_refused():
    assert "nested too deep" in str(refusal("version: 1\nroots: &x [*x]\n"))


@pytest.mark.parametrize(
    "piece", ["[", "{a: ", "- ", "? ", "&a [*a, ", "'", "a: b: ", "!", "x, ", "\n", "*a ", "|\n", "#"]
)
def test_a_megabyte_of_anything_is_answered_soon(piece):
    started = time.process_time()
    assert refusal(piece * (1024 * 1024 // len(piece)))
    assert time.process_time() - started < 10


@pytest.mark.large
def test_ten_thousand_directories_are_loaded_soon():
    lines = ["version: 1", "dirs:"]
    for number in range(10_000):
        place = f"live/region-{number % 17}/team-{number % 101}/service-{number}"
        lines += [f"  {place}:", "    engine: {name: tofu}", "    when_modified: ['**', '../lib/*']"]
    started = time.process_time()
    assert len(load("\n".join(lines)).roots or ()) == 10_000
    assert time.process_time() - started < 15


MARKS = [
    ": ",
    "\n",
    "  ",
    "- ",
    ", ",
    "&a ",
    "*a",
    "!!str ",
    "\t",
    "\x00",
    ":",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "|",
    "#",
    "<<",
]
WORDS = [
    "version",
    "roots",
    "dirs",
    "engine",
    "dir",
    "1",
    "when_modified",
    "a&&id",
    "é",
    "stacks",
    "names",
    "variables",
]
fragments = st.sampled_from([*MARKS, *WORDS, "workflows", "plan", "tag_query", "type", "run", "hooks", "apply_after"])


@given(st.lists(fragments, max_size=30).map("".join) | st.text(max_size=40))
def test_whatever_the_file_says_it_is_loaded_or_refused(text):
    with contextlib.suppress(InvalidConfiguration):
        assert load(text.encode("utf-8", "surrogatepass")).engine


def test_queries_that_mislead_are_usable_and_warned_of():
    loaded = load("version: 1\napply_requirements:\n  checks:\n    - tag_query: a b or c\n    - tag_query: ''\n")
    (warning,) = loaded.warnings
    assert (warning.line, warning.column) == (4, 18)
    assert warning.text.startswith("column 1 of the tag query: adjacent tags bind to the rest")
    assert isinstance(warning, Misleading)


def test_all_mistakes_are_told_in_the_order_of_their_lines():
    text = "version: 1\nengine: x\nroots:\n  - {}\n  - {dir: a, tags: x}\nzzz: 1\n"
    found = examine_configuration(text.encode(), REPOSITORY)
    assert not isinstance(found, LoadedConfiguration)
    assert [each.line for each in found] == [2, 4, 5, 6]
    twice = "version: 1\nroots: [{dir: a}, {dir: a}, {dir: '&'}, {dir: b, when_modified: ['../../x']}]\n"
    several = examine_configuration(twice.encode(), REPOSITORY)
    assert not isinstance(several, LoadedConfiguration)
    assert [each.column for each in several] == [19, 35, 65]
