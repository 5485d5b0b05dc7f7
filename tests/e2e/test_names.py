"""Names that somebody chose to do harm: refused where people see it, or plain text; others are not held up."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.project import title, words

HARMLESS = "fine"
DIRECTORIES = {
    "shell": "a&&id",
    "substitution": "$(touch pwned)",
    "option": "-chdir=x",
    "newline": "a\nb",
    "emoji": "🚀",
    "long": "x" * 120,
    "right to left": "a\u202eb",
    "markdown": "[x](http:)<b>",
}


def configuration(project, sha):
    found = project.check_runs(sha, "tidegate/config")
    return found[0] if found else None


def test_directories_with_hostile_names_are_listed_on_the_commit_and_the_others_are_deployed(project):
    deep = "/".join(["d" * 60] * 5)
    files = {f"{name}/main.tf": project.backed(name, thing()) for name in (*DIRECTORIES.values(), deep)}
    sha = project.push({HARMLESS: thing()}, **files)
    refused = eventually(lambda: configuration(project, sha), what="tidegate/config")
    assert refused["conclusion"] == "failure"
    assert title(refused) == f"Not deployed: {len(DIRECTORIES) + 1}"
    assert "<b>" not in words(refused)
    assert "\u202e" not in words(refused)
    project.deployed(sha, HARMLESS)
    assert project.names(sha) == {"tidegate/config", f"tidegate/deploy: {HARMLESS}"}


def test_a_directory_with_a_hostile_name_is_deployed_under_a_name_of_its_own(project):
    """Whatever the directory is called, it is one argument of a program and nothing else."""
    directory = "a&&id $(touch pwned)/-chdir=x 🚀"
    declared = f"version: 1\nroots:\n  - name: tame\n    dir: '{directory}'\n"
    sha = project.push({directory: thing()}, **{"tidegate.yaml": declared})
    project.deployed(sha, "tame")
    assert project.value(directory) == "one"


@pytest.mark.nightly
def test_a_default_branch_with_a_strange_name_deploys_and_shows_it_as_text(project):
    branch = "a&&id;$(x)/`-chdir`-🚀"
    root = {"app/main.tf": project.backed("app", thing())}
    sha = project.push_files(root, branch=branch)
    asked = project.reviewed(sha, "app")
    assert "$(x)" in words(asked)
    project.click(asked, "Approve")
    assert project.ended(sha, "app")["conclusion"] == "success"


@pytest.mark.nightly
def test_file_names_that_look_like_options_or_commands_change_nothing_else(project):
    sha = project.push({"app": thing()}, **{"app/-chdir=x.tf": "", "app/$(touch pwned).tf": "", "app/a&&id\n.tf": ""})
    project.deployed(sha, "app")
    assert project.value("app") == "one"
