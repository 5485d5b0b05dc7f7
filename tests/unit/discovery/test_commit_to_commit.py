"""What is known of a commit serves the next one, and changes nothing of what is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chance import examples
from tests.unit.discovery.stacks_scenario import ENVIRONMENTS, MODULES, PLACES, REPOSITORY, discover, members
from tests.unit.discovery.trees import Trees
from tidegate.discovery.discover_roots import Reading, discover_roots
from tidegate.discovery.root_index import RootIndexes
from tidegate.rules.errors import InvalidConfiguration


class TestFromOneCommitToTheNext:
    """What is known of a commit serves the one that follows, and says the same as looking at that anew."""

    LIB = 'module "lib" {\n  source = "../../lib"\n}\n'
    STEPS = (
        {},
        {"app/dev/main.tf": "# new"},
        {"app/dev/main.tf": LIB},
        {"lib/main.tf": ""},
        {"lib/main.tf": "# new"},
        {"app/prod/main.tf": None},
        {"app/prod/main.tf": "", "app/prod/more.tf": LIB},
        {"lib/outputs.tf": "", "app/prod/main.tf": None},
        {"tidegate.yaml": ENVIRONMENTS},
        {"network/dev/main.tf": "# new"},
        {"tidegate.yaml": ENVIRONMENTS.replace("region: eu", "region: us")},
        {"network/dev/main.tf": None},
        {"network/dev/main.tf": "# again"},
        {"README.md": "hello"},
        {"tidegate.yaml": "dirs: {'network/*': {}, app/dev: {}}\n"},
        {"network/qa/main.tf": LIB, "lib/main.tf": "# newer"},
        {"tidegate.yaml": None},
        {"lib/main.tf": None, "lib/outputs.tf": None},
    )

    def test_it_says_the_same_as_without(self):
        files, known = dict(MODULES), None
        for step in self.STEPS:
            before, files = files, {path: text for path, text in {**files, **step}.items() if text is not None}
            found = discover(before, files, known=known)
            assert found == discover(before, files)
            known = found.index

    def test_what_did_not_change_is_not_read_again(self):
        files = {**MODULES, "app/dev/main.tf": self.LIB, "lib/main.tf": ""}
        known = discover({}, files).index
        newer = {**files, "lib/main.tf": "# new"}
        trees = Trees(files, newer)
        found = discover_roots(trees, Reading(REPOSITORY), known=known)
        assert members(found) == ["app/dev@default"]
        assert [len(request) for request in trees.requests if request] == [1]
        assert found.index is known

    def test_an_unknown_commit_before_makes_all_of_it_new(self):
        known = discover({}, MODULES).index
        found = discover_roots(Trees({}, MODULES, before_is_known=False), Reading(REPOSITORY), known=known)
        assert len(found.members) == len(PLACES)
        assert found.index is not known


def test_an_index_is_given_once_and_for_its_commit_only():
    index = discover({}, MODULES).index
    kept = RootIndexes()
    kept.keep(REPOSITORY, "main", "a", index)
    assert kept.take(REPOSITORY, "other", "a") is None
    assert kept.take(REPOSITORY, "main", "a") is index
    assert kept.take(REPOSITORY, "main", "a") is None
    kept.keep(REPOSITORY, "main", "a", index)
    assert kept.take(REPOSITORY, "main", "b") is None


def test_of_many_repositories_the_last_are_kept():
    index = discover({}, MODULES).index
    kept = RootIndexes()
    for number in range(100):
        kept.keep(f"acme/{number}", "main", "a", index)
    assert kept.take("acme/0", "main", "a") is None
    assert kept.take("acme/99", "main", "a") is index


CONTENTS = st.sampled_from(
    ["", "# new", 'module "lib" {\n  source = "../../lib"\n}\n', 'terraform {\n  backend "s3" {}\n}\n']
)

MODULE_FILES = st.sampled_from(
    [*MODULES, "app/dev/more.tf", "lib/main.tf", "lib/deep/main.tf", "main.tf", "app/dev/x.tfvars"]
)

OWN_FILES = st.sampled_from(
    [
        ENVIRONMENTS,
        ENVIRONMENTS.replace("region: eu", "region: us"),
        "dirs: {'*/*': {when_modified: ['*.tf', '../../lib/*.tf']}, app/dev: {}}\n",
        "dirs: {'**': {}}\nstacks: {names: {a: {tag_query: 'dir:app/**'}, b: {tag_query: 'dir:app/dev'}}}\n",
        "engine: tofu\n",
        "broken: true\n",
    ]
)

EDITS = st.dictionaries(MODULE_FILES, st.none() | CONTENTS, max_size=3)
COMMITS = st.lists(st.tuples(EDITS, st.just({}) | st.fixed_dictionaries({"tidegate.yaml": st.none() | OWN_FILES})))


@examples(50)
@given(COMMITS)
def test_whatever_changes_from_commit_to_commit_what_is_known_leads_to_the_same(commits):
    files: dict[str, str] = dict(MODULES)
    known = None
    for edits, own in commits:
        before, files = files, {path: text for path, text in {**files, **edits, **own}.items() if text is not None}
        try:
            anew = discover(before, files)
        except InvalidConfiguration:
            with pytest.raises(InvalidConfiguration):
                discover(before, files, known=known)
            known = None
        else:
            found = discover(before, files, known=known)
            assert found == anew
            known = found.index
