from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_revision, sha
from tidegate.roots.rules.root import (
    commit_sha,
    deployment_id,
    directory,
    queue_id,
    repository_name,
    root_name,
    schedule_name,
    slug,
    worker_name,
    workspace_name,
)
from tidegate.rules.errors import InvalidName

HOSTILE = [
    "a&&id",
    "$(x)",
    "../..",
    "-chdir=x",
    "a\nb",
    "\U0001f600",
    "a" * 300,
    "",
    ".hidden",
    "a//b",
    "/a",
    "a b",
    "a/..",
]
EXECUTION_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}")


@pytest.mark.parametrize("check", [root_name, workspace_name, repository_name, commit_sha])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_refused(check, text):
    with pytest.raises(InvalidName):
        check(text)


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (root_name, "network"),
        (root_name, "team_a/net.work-1"),
        (root_name, "a" * 100),
        (workspace_name, "prod.eu-1"),
        (repository_name, "acme/infra.live"),
        (repository_name, "acme/platform/network/infra"),
        (commit_sha, sha()),
        (commit_sha, "a" * 64),
    ],
)
def test_plain_names_are_taken_as_they_are(check, text):
    assert check(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "acme/..",
        "./infra",
        "acme",
        "acme/../infra",
        "acme//infra",
        "/acme/infra",
        "acme/infra/",
        "/".join("a" * 22),
        "a/" + "b" * 101,
        "/".join(["a" * 90] * 3),
    ],
)
def test_a_repository_is_not_a_path(text):
    with pytest.raises(InvalidName):
        repository_name(text)


@pytest.mark.parametrize(
    ("text", "normal"),
    [("", "."), (".", "."), ("a/b", "a/b"), ("./a//b/", "a/b"), ("$(x)/a&&id", "$(x)/a&&id"), ("-chdir=x", "-chdir=x")],
)
def test_a_directory_has_one_normal_form(text, normal):
    assert directory(text) == normal


@pytest.mark.parametrize(
    "text", ["/etc", "../a", "a/../b", ".git/hooks", "a/.git", "a\nb", "a\x7fb", "a\\b", "a" * 1025]
)
def test_a_directory_stays_below_the_repository(text):
    with pytest.raises(InvalidName):
        directory(text)


def test_long_texts_are_shortened_in_refusals():
    with pytest.raises(InvalidName) as refused:
        root_name("$" * 300)
    assert len(str(refused.value)) < 250


@given(st.text(max_size=200), st.integers(1, 10_000))
def test_execution_names_are_legal_whatever_the_root_is_called(name, generation):
    assert EXECUTION_NAME.fullmatch(worker_name(queue_id("acme/infra", name), generation))
    identifier = deployment_id("acme/infra", name, sha(), "merge")
    assert EXECUTION_NAME.fullmatch(identifier)
    assert len(identifier) <= 64


@given(st.text(max_size=200), st.text(max_size=200))
def test_ids_begin_with_repository_and_root_and_name_the_commit(repository, root):
    identifier = deployment_id(f"acme/{repository}", root, sha(), "merge")
    assert identifier.startswith(slug(repository, 16))
    assert sha()[:7] in identifier
    assert re.fullmatch(r"[A-Za-z0-9/_-]{1,64}", identifier)
    assert deployment_id("acme/infra", "live/app", sha(), "merge").startswith("infra-live-app-")


def test_ids_tell_apart_what_slugs_do_not():
    assert deployment_id("a/b", "x-y", sha(), "merge") != deployment_id("a/b", "x.y", sha(), "merge")
    assert deployment_id("a/b", "x", sha(), "merge") != deployment_id("a/b", "x", sha(), "again")
    assert worker_name("a/b||x", 1) != worker_name("a/b||x", 2)


@given(*[st.text(max_size=90)] * 5)
def test_ids_of_one_root_and_commit_begin_alike_whatever_tells_them_apart(repository, root, one, other, stack):
    """Check runs of the same name are looked for by that, and then compared by their whole names."""
    first = deployment_id(repository, root, sha(), one)
    second = deployment_id(repository, root, sha(), other, stack)
    assert first.rpartition("-")[0] == second.rpartition("-")[0]


def test_schedules_have_legal_names_that_tell_them_apart():
    names = {
        schedule_name(repository, schedule) for repository in ("a/b-c", "a-b/c", "x" * 90) for schedule in ("n", "m")
    }
    assert len(names) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,64}", name) for name in names)


def test_a_slug_of_nothing_usable_is_a_word():
    assert slug("...", 10) == "root"
    assert slug("a--b/c", 10) == "a-b-c"


def test_a_revision_has_a_short_form():
    assert any_revision().short == sha()[:7]
