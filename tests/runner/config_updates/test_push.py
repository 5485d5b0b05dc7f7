"""A branch moves to the expected commits only, from the expected place only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest

from runner.config_updates.pushing import Branch, Push, Pushed, push
from runner.faults import RunnerFault
from runner.workspace import Git
from tests.runner.config_updates.config_repository import AUTO, ConfigRepository, announced, images
from tidegate.config_updates.rules.replay import Author, Entry, NewCommits
from tidegate.vcs.git.environment import git_environment

NOWHERE = ""


class Pushing:
    """Replays, and pushes as the task does that has a token. ``ran`` are the arguments of each git process."""

    def __init__(self, config: ConfigRepository) -> None:
        self.config = config
        self.ran: list[list[str]] = []
        self._count = 0

    def made(self, *entries: Entry) -> NewCommits:
        done = self.config.replay(*entries)
        committed = {outcome.id for outcome in done.replayed.outcomes if outcome.sha}
        trailers = [entry.trailers for entry in entries if entry.trailers.id in committed]
        return NewCommits(self.config.main, done.tip, tuple(trailers), Author())

    def push(
        self, new: NewCommits, old: str, *, before: Callable[[], object] = lambda: None, bundle: Path | None = None
    ) -> Pushed:
        self._count += 1
        directory = self.config.directory / f"push-{self._count}"
        directory.mkdir()

        def run(argv: list[str], cwd: Path, environ: Mapping[str, str], output: IO[bytes] | None) -> int:
            self.ran.append(argv[3:])
            if argv[3] == "push":
                before()
            return subprocess.run(argv, cwd=cwd, env=environ, stdout=output, check=False).returncode

        settings = {"fetch.fsckObjects": "true"}
        environ = git_environment(os.environ, directory, (self.config.url,), "", settings)
        return push(
            Git(run, environ, directory / "store", self.config.url),
            Branch(AUTO, old),
            new,
            bundle or self.config.bundle,
        )

    def commands(self) -> list[str]:
        return [each[0] for each in self.ran]


@pytest.fixture
def pushing(config: ConfigRepository) -> Pushing:
    return Pushing(config)


def entries(count: int = 2) -> list[Entry]:
    return [announced(number, images("web", build=number)) for number in range(1, count + 1)]


def test_a_branch_that_does_not_exist_is_made(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    assert pushing.push(new, NOWHERE) == Pushed(Push.MOVED, new.tip)
    assert pushing.config.at(AUTO) == new.tip


def test_a_rebuilt_branch_moves_in_one_push_from_where_it_was(pushing: Pushing) -> None:
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    pushing.config.commit({"README": "By a person.\n"})
    again = pushing.made(*entries())
    pushing.ran.clear()
    assert pushing.push(again, first.tip).result is Push.MOVED
    assert pushing.config.at(AUTO) == again.tip
    assert pushing.commands().count("push") == 1


def test_without_new_commits_the_branch_moves_to_the_default_branch(pushing: Pushing) -> None:
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    assert pushing.push(pushing.made(), first.tip) == Pushed(Push.MOVED, pushing.config.main)


def test_the_lease_names_the_place_and_nothing_is_checked_out(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    pushing.push(new, NOWHERE)
    (pushed,) = [each for each in pushing.ran if each[0] == "push"]
    assert f"--force-with-lease={AUTO}:" in pushed
    assert not {"--force", "--force-with-lease"} & set(pushed)
    assert not {"checkout", "reset", "switch", "read-tree"} & set(pushing.commands())
    assert not (pushing.config.directory / "push-1" / "store" / "index").exists()


def test_a_branch_that_a_stranger_rewrote_is_left_and_said_where_it_is(pushing: Pushing) -> None:
    """(36)"""
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    strangers = pushing.config.at("refs/heads/main")
    pushing.config.forge("update-ref", AUTO, strangers)
    assert pushing.push(pushing.made(*entries(1)), first.tip) == Pushed(Push.LEASE_LOST, strangers)
    assert pushing.config.at(AUTO) == strangers


@pytest.mark.parametrize("delete", [True, False])
def test_a_branch_that_moves_while_the_push_is_made_is_left(pushing: Pushing, *, delete: bool) -> None:
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    forge, main = pushing.config.forge, pushing.config.main
    moving = ("update-ref", "-d", AUTO) if delete else ("update-ref", AUTO, main)
    pushed = pushing.push(pushing.made(*entries(1)), first.tip, before=lambda: forge(*moving))
    assert pushed == Pushed(Push.LEASE_LOST, "" if delete else main)


def test_a_branch_that_exists_already_is_not_made_again(pushing: Pushing) -> None:
    pushing.config.forge("update-ref", AUTO, pushing.config.main)
    assert pushing.push(pushing.made(*entries()), NOWHERE) == Pushed(Push.LEASE_LOST, pushing.config.main)


def test_a_branch_that_is_there_already_has_moved(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    pushing.push(new, NOWHERE)
    assert pushing.push(new, pushing.config.main) == Pushed(Push.MOVED, new.tip)


def test_a_protected_branch_is_told_with_the_forges_reason(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    hook = pushing.config.bare / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert pushing.push(new, NOWHERE) == Pushed(Push.REFUSED, "", "hook declined")


def test_a_forge_that_does_not_answer_is_a_fault(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    away = pushing.config.bare.with_name("away")
    with pytest.raises(RunnerFault):
        pushing.push(new, NOWHERE, before=lambda: pushing.config.bare.rename(away))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda new: replace(new, trailers=new.trailers[:1]), "There are 2 commits where 1 were expected"),
        (lambda new: replace(new, trailers=new.trailers[::-1]), "a different message than its entry"),
        (lambda new: replace(new, author=Author("Somebody")), "was not made by Tidegate"),
        (lambda new: replace(new, tip=new.base), "There are 0 commits where 2 were expected"),
    ],
)
def test_commits_that_are_not_the_expected_ones_are_not_pushed(
    pushing: Pushing, change: Callable[[NewCommits], NewCommits], problem: str
) -> None:
    new = pushing.made(*entries())
    with pytest.raises(RunnerFault, match=problem):
        pushing.push(change(new), NOWHERE)
    assert "push" not in pushing.commands()


def test_a_bundle_on_another_commit_is_not_pushed(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    other = pushing.config.commit({"README": "By a person.\n"})
    with pytest.raises(RunnerFault):
        pushing.push(replace(new, base=other), NOWHERE)
    assert "push" not in pushing.commands()


def test_a_merge_in_a_bundle_is_not_pushed(pushing: Pushing, tmp_path: Path) -> None:
    new = pushing.made(*entries(1))
    people = {f"GIT_{who}_{what}": "Tidegate" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    forge = pushing.config.forge
    argv = ["git", "commit-tree", f"{new.tip}^{{tree}}", "-p", new.base, "-p", new.tip, "-m", "x"]
    merge = subprocess.run(argv, cwd=pushing.config.bare, env=os.environ | people, check=True, capture_output=True)
    tip = merge.stdout.decode().strip()
    forge("update-ref", "refs/heads/merge", tip)
    forge("bundle", "create", "--quiet", str(tmp_path / "merge"), "refs/heads/merge", f"^{new.base}")
    trailers = (*new.trailers, announced(2, "").trailers)
    with pytest.raises(RunnerFault, match="does not follow"):
        pushing.push(NewCommits(new.base, tip, trailers, Author()), NOWHERE, bundle=tmp_path / "merge")
