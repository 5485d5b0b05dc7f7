"""Which directories are roots: by what they hold, and where the file overrides it."""

from __future__ import annotations

import pytest

from tests.configuration import refusal
from tests.unit.discovery.trees import BACKEND, Link, Submodule, Trees
from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots

MODULE = 'variable "x" {}\n'
CALL = 'module "net" {\n  source = "../modules/net"\n}\n'
READING = Reading("acme/infra")


def discover(new: dict[str, str], old: dict[str, str] | None = None) -> Discovery:
    """Return what is discovered of files, of which none has a lock file unless it is given."""
    return discover_roots(Trees(old or {}, new, bare=True), READING)


def names(discovery: Discovery) -> list[str]:
    return [root.name for root in discovery.roots]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("main.tf", BACKEND),
        ("main.tf", "terraform {\n  cloud {}\n}\n"),
        ("main.tf", 'provider "aws" {}\n'),
        ("main.tofu", 'provider "aws" {}\n'),
        ("main.tf.json", '{"provider": {"aws": {}}}'),
        ("main.tofu.json", '{"terraform": {"backend": {"s3": {}}}}'),
        (".terraform.lock.hcl", ""),
        ("broken.tf", 'terraform {\n  backend "s3" {'),
    ],
)
def test_a_directory_is_a_root_by_a_backend_a_provider_a_lock_file_or_what_cannot_be_read(file, text):
    files = {"live/variables.tf": MODULE, f"live/{file}": text}
    assert names(discover(files)) == ["live"]


def test_a_module_that_nothing_uses_is_no_root_and_that_is_said():
    found = discover({"live/main.tf": BACKEND, "modules/alone/main.tf": MODULE})
    assert names(found) == ["live"]
    (note,) = found.notes
    assert "'modules/alone'" in note
    assert "root: true" in note


def test_of_many_modules_some_are_named_and_the_others_counted():
    (note,) = discover({f"modules/m{number}/main.tf": MODULE for number in range(7)}).notes
    assert "'modules/m4' and 2 more" in note


def test_nothing_is_said_of_modules_that_a_commit_leaves_alone():
    old = {"live/main.tf": BACKEND, "modules/alone/main.tf": MODULE}
    assert discover({**old, "live/main.tf": BACKEND + MODULE}, old).notes == ()


def test_a_directory_that_calls_modules_is_no_root_by_that():
    assert names(discover({"stack/main.tf": CALL, "modules/net/main.tf": MODULE})) == []


@pytest.mark.parametrize("file", [{"modules/net/p.tf": 'provider "aws" {}\n'}, {"modules/net/.terraform.lock.hcl": ""}])
def test_a_module_that_is_used_is_no_root_by_a_provider_or_a_lock_file(file):
    assert names(discover({"live/main.tf": BACKEND + CALL, "modules/net/main.tf": MODULE, **file})) == ["live"]


def test_a_directory_of_a_link_is_no_root_by_the_lock_file_of_what_it_leads_to():
    files = {"live/main.tf": BACKEND + CALL, "modules": Link("shared"), "shared/net/main.tf": MODULE}
    assert names(discover({**files, "shared/net/.terraform.lock.hcl": ""})) == ["live"]


FILES = {"live/main.tf": BACKEND, "lone/main.tf": MODULE, "user/main.tf": BACKEND + CALL, "modules/net/a.tf": MODULE}


class TestTheFile:
    def roots(self, file: str) -> list[str]:
        return names(discover({**FILES, "tidegate.yaml": file}))

    def test_makes_every_module_that_fits_a_root_unless_it_is_used(self):
        assert self.roots("dirs: {'**': {root: true}}") == ["live", "lone", "user"]

    def test_leaves_it_to_the_directories_where_it_does_not_tell(self):
        assert self.roots("dirs: {'**': {}}") == ["live", "user"]

    def test_makes_what_it_names_a_root(self):
        assert self.roots("dirs: {'**': {}, lone: {}}") == ["live", "lone", "user"]
        assert self.roots("dirs: {'**': {}, modules/net: {root: true}}") == ["live", "modules/net", "user"]

    @pytest.mark.parametrize("key", ["live", "'liv*'", "'live/**'"])
    def test_takes_roots_away_and_leaves_all_others_as_they_are(self, key):
        assert self.roots(f"dirs: {{{key}: {{root: false}}}}") == ["user"]

    def test_takes_away_what_other_patterns_mean(self):
        assert self.roots("dirs: {'**': {root: true}, lon*: {root: false}}") == ["live", "user"]
        assert self.roots("dirs: {live: {root: false}, '*': {root: true}}") == ["lone", "user"]

    def test_names_nothing_with_an_empty_section(self):
        assert self.roots("dirs: {}") == []

    def test_may_not_make_one_directory_a_root_and_none(self):
        found = refusal("roots: [{dir: live}]\ndirs: {live: {root: false}}\n")
        assert "'live'" in str(found)

    def test_says_nothing_of_a_module_that_it_makes_no_root(self):
        assert discover({**FILES, "tidegate.yaml": "dirs: {lone: {root: false}}"}).notes == ()


class TestFromCommitToCommit:
    @pytest.mark.parametrize("path", ["a/.terraform.lock.hcl", "a/provider.tf"])
    def test_what_marks_a_directory_comes_and_goes(self, path):
        text = 'provider "aws" {}\n' if path.endswith(".tf") else ""
        without, with_it = {"a/main.tf": MODULE}, {"a/main.tf": MODULE, path: text}
        first = discover(without)
        second = discover_roots(Trees(without, with_it, bare=True), READING, known=first.index)
        third = discover_roots(Trees(with_it, without, bare=True), READING, known=second.index)
        assert [names(each) for each in (first, second, third)] == [[], ["a"], []]
        assert "'a'" in third.notes[0]


@pytest.mark.parametrize("uses", ["../vendor", "../vendor/queue"])
def test_a_submodule_at_another_commit_changes_the_roots_that_use_modules_in_it(uses):
    old = {"a/main.tf": BACKEND, "b/main.tf": BACKEND + f'module "x" {{\n  source = "{uses}"\n}}\n'}
    old |= {"vendor": Submodule("1" * 40), "vendor2": Submodule("1" * 40)}
    assert names(discover({**old, "vendor": Submodule("2" * 40)}, old)) == ["b"]
    assert names(discover({**old, "vendor2": Submodule("2" * 40)}, old)) == []
