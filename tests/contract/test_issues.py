"""What every adapter of the port ``ForgeIssues`` does, and the fake that stands in for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.forges import KINDS
from tests.fakes import MemoryIssues
from tidegate.rules.errors import NotFound

MARKER = "<!-- ours -->"


@dataclass
class InMemory:
    forge: Any
    repository = "acme/infra"

    def state(self, issue):
        return self.forge.texts[issue], issue in self.forge.opened


@dataclass
class OnForge:
    tried: Any

    @property
    def forge(self):
        return self.tried.forge

    @property
    def repository(self):
        return self.tried.repository

    def read(self, issue):
        person, name = self.tried.person(), self.tried.repository
        return (
            person.issue(name, issue) if self.tried.is_gitlab else person.call("GET", f"/repos/{name}/issues/{issue}")
        )

    def state(self, issue):
        read = self.read(issue)
        return read["description" if self.tried.is_gitlab else "body"], read["state"] in {"open", "opened"}

    def forge_one(self, text):
        """Let somebody else open an issue that says the same."""
        person, name = self.tried.person("developer"), self.tried.repository
        if self.tried.is_gitlab:
            return person.open_issue(name, "Drift", text)
        return person.call("POST", f"/repos/{name}/issues", {"title": "Drift", "body": text})["number"]


def with_a_commit(scenario):
    scenario.push({"network/main.tf": "# one\n"})


def on_forge(kind, directory, forges):
    with forges.tried(kind, directory, with_a_commit) as scenario:
        yield OnForge(scenario)


@pytest.fixture(params=[*KINDS, "memory"])
def scenario(request, tmp_path, forges):
    if request.param == "memory":
        yield InMemory(MemoryIssues())
    else:
        yield from on_forge(request.param, tmp_path, forges)


@pytest.fixture(params=KINDS)
def real(request, tmp_path, forges):
    yield from on_forge(request.param, tmp_path, forges)


def opened(scenario, text=f"{MARKER}\nfirst"):
    return scenario.forge.open_issue(scenario.repository, "Drift: nightly", text)


def test_an_issue_is_written_in_place_closed_and_opened_again(scenario):
    issue = opened(scenario)
    assert scenario.state(issue) == (f"{MARKER}\nfirst", True)
    scenario.forge.write_issue(scenario.repository, issue, f"{MARKER}\nsecond", is_open=True)
    assert scenario.state(issue) == (f"{MARKER}\nsecond", True)
    scenario.forge.write_issue(scenario.repository, issue, f"{MARKER}\ngone", is_open=False)
    scenario.forge.write_issue(scenario.repository, issue, f"{MARKER}\ngone", is_open=False)
    assert scenario.state(issue) == (f"{MARKER}\ngone", False)
    scenario.forge.write_issue(scenario.repository, issue, f"{MARKER}\nback", is_open=True)
    assert scenario.state(issue) == (f"{MARKER}\nback", True)


def test_open_issues_with_the_marker_are_found_oldest_first(scenario):
    first, other, second = opened(scenario), opened(scenario, "<!-- other -->\nx"), opened(scenario)
    assert list(scenario.forge.our_issues(scenario.repository, MARKER)) == [first, second]
    scenario.forge.write_issue(scenario.repository, first, f"{MARKER}\nfirst", is_open=False)
    assert list(scenario.forge.our_issues(scenario.repository, MARKER)) == [second]
    assert list(scenario.forge.our_issues(scenario.repository, "<!-- other -->")) == [other]


def test_an_issue_that_is_not_there_is_not_found(scenario):
    with pytest.raises(NotFound, match="1000000"):
        scenario.forge.write_issue(scenario.repository, 10**6, MARKER, is_open=True)


def test_an_issue_of_somebody_else_is_none_of_ours_whatever_it_says(real):
    real.forge_one(f"{MARKER}\nforged")
    assert list(real.forge.our_issues(real.repository, MARKER)) == []
    ours = opened(real)
    assert list(real.forge.our_issues(real.repository, MARKER)) == [ours]


def test_more_issues_than_a_page_holds_are_all_found(real):
    made = [opened(real, f"{MARKER}\n{number}") for number in range(102)]
    assert list(real.forge.our_issues(real.repository, MARKER)) == made


def test_no_line_of_an_issue_is_a_command_to_the_forge(real):
    issue = opened(real, f"{MARKER}\n/close\n")
    assert real.state(issue)[1]
    assert "/close" in real.state(issue)[0]
    real.forge.write_issue(real.repository, issue, f"{MARKER}\n  /close\n", is_open=True)
    assert real.state(issue)[1]
    assert real.read(issue)["title"] == "Drift: nightly"


def test_the_address_of_an_issue_is_the_forges_own(real):
    issue = opened(real)
    own = real.read(issue)["web_url" if real.tried.is_gitlab else "html_url"]
    assert real.forge.issue_url(real.repository, issue) == own
