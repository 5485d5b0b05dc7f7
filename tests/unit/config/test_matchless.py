"""What of a file fits none of the roots and files of a commit."""

from __future__ import annotations

import pytest

from tests.configuration import load
from tidegate.config.matchless import matchless
from tidegate.config.resolution import configure
from tidegate.roots.rules.root import Root

ROOTS = (Root("live/prod", "live/prod"), Root("live/dev", "live/dev"))
FILE = """\
dirs: {live/prod: {tags: [prod]}, live/dev: {}}
stacks: {names: {prod: {tag_query: prod}, dev: {tag_query: 'dir:live/dev'}}}
tags: {branch: {release: '^release/'}, dest_branch: {main: main}}
"""
SETS = "policy_sets: {acl: {paths: [%s], tag_query: '%s'}}\n"
POLICIES = ("policies/acl/main.rego", "policies/notes/readme.md")
SECTIONS = {
    "apply_requirements": "apply_requirements: {checks: [{tag_query: '%s', approved: {}}]}\n",
    "access_control": "access_control: {policies: [{tag_query: '%s'}]}\n",
    "workflows": "workflows: [{tag_query: '%s'}]\n",
    "drift.schedules.night": "drift: {schedules: {night: {tag_query: '%s', schedule: daily}}}\n",
    "freeze": "freeze: [{tag_query: '%s', cron: '0 16 * * FRI', duration: 64h}]\n",
    "policy_sets.acl": SETS.replace("[%s]", "[policies/acl]"),
}


def told(text, roots=ROOTS, files=POLICIES):
    loaded = load(FILE + text)
    return matchless(loaded, configure(loaded, roots), files)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_query_that_matches_no_root_is_told_with_its_line_and_what_was_meant(section):
    (sentence,) = told(SECTIONS[section] % "stack_nam:prod")
    assert sentence.startswith(f"tidegate.yaml:4: {section}: the tag query 'stack_nam:prod' matches no root")
    assert "Did you mean 'stack_name:prod'?" in sentence


@pytest.mark.parametrize("query", ["", "prod", "stack_name:dev", "not nobody", "live in dir", "dir:live/*"])
@pytest.mark.parametrize("section", SECTIONS)
def test_a_query_that_matches_a_root_is_not_told(section, query):
    assert told(SECTIONS[section] % query) == ()


def test_a_query_that_matches_an_environment_is_not_told():
    sets = (
        "config_updates: {required_checks: [{name: build, app: ci}], sets: [{name: shop, app: {repository: acme/shop}, "
        "environments: [{name: live, file: images/live.json, targets: [{name: eu}]}]}]}\n"
    )
    for query in ("environment:live", "set:shop", "name:shop/live", "dir:images"):
        assert told(sets + SECTIONS["access_control"] % query) == ()
    assert told(sets + SECTIONS["access_control"] % "environment:prod")


@pytest.mark.parametrize(
    "query", ["branch:release", "branch:release and dest_branch:main and prod", "not branch:release"]
)
def test_a_query_for_a_branch_matches_wherever_a_change_may_come_from(query):
    assert told(SECTIONS["workflows"] % query) == ()


def test_a_query_for_a_branch_and_for_tags_that_no_root_has_is_told():
    assert len(told(SECTIONS["workflows"] % "branch:release and prodd")) == 1


def test_a_root_that_cannot_be_deployed_counts_where_it_would_be():
    text = "stacks: {names: {a: {tag_query: prod}, b: {tag_query: prod}}}\n"
    loaded = load(f"dirs: {{live/prod: {{tags: [prod]}}}}\n{text}" + SECTIONS["apply_requirements"] % "prod")
    configured = configure(loaded, ROOTS[:1])
    assert configured.refused
    assert matchless(loaded, configured, ()) == ()


def test_without_any_root_no_query_is_told():
    assert told(SECTIONS["freeze"] % "prodd", roots=()) == ()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("policies/alc", "Did you mean 'policies/acl'?"),
        ("policies/notes", "'policies/notes' has no policy"),
        ("x", "add policies there"),
    ],
)
def test_a_directory_without_policies_is_told(path, words):
    (sentence,) = told(SETS % (path, ""))
    assert sentence.startswith("tidegate.yaml:4: policy_sets.acl: the directory ")
    assert words in sentence


def test_a_directory_of_policies_is_not_told_and_none_of_the_organization_is_looked_for():
    assert told(SETS % ("policies", "")) == ()
    assert told("policy_sets: {acl: {source: organization}}\n") == ()
