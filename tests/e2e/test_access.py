"""Access control by a team: who is not in it decides nothing, and rewrites nothing by a pull request."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.project import title, words
from tests.e2e.pulls import Branch

pytestmark = pytest.mark.nightly

GUARDED = """
plan_review: always
dirs: {prod: {tags: [prod]}}
stacks: {names: {prod: {tag_query: prod}}}
access_control: {policies: [{tag_query: 'stack_name:prod', apply: ['team:platform']}]}
"""
FREED = """
plan_review: never
dirs: {prod: {tags: [free]}}
access_control: {policies: [{tag_query: '', apply: ['*'], review: ['*']}]}
"""


def test_only_the_team_decides_and_a_pull_request_changes_nothing_about_that(project):
    sha = project.push({"prod": thing("first")}, **{"tidegate.yaml": GUARDED})
    asked = project.reviewed(sha, "prod")
    project.click(asked, "Approve", by="developer")
    refused = project.wait(sha, "prod", lambda run: "developer is not among them" in words(run))
    assert "Only team:platform can review plans of stack prod" in words(refused)
    project.click(refused, "Approve", by="reviewer")
    assert title(project.ended(sha, "prod")).startswith("Applied")
    assert project.value("prod") == "first"

    files = {"prod/main.tf": project.backed("prod", thing("stolen")), "tidegate.yaml": FREED}
    head = project.push_files(files, branch="feature", base="main")
    number = project.person("developer").open_pull_request(project.name, "feature", title="Free")
    branch = Branch(project, number, head)
    branch.comment("tidegate deploy -p prod", by="developer")
    assert "Only team:platform can deploy stack prod" in branch.reply("developer is not among them")
    assert project.newest(head, "prod") is None
    assert project.value("prod") == "first"
