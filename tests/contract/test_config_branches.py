"""What every adapter of the ports ``ConfigBranches`` and ``BranchMover`` does, on GitHub and on GitLab alike."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.forges import KINDS, Tried
from tests.runner.config_updates.config_repository import announced, images
from tidegate.config_updates.adapters.pushing import GitBranchMover, GitHubBranchMover
from tidegate.config_updates.rules.replay import Author, NewCommits
from tidegate.config_updates.rules.trailers import commit_message
from tidegate.ports import BranchMover, Moved
from tidegate.rules.errors import ForgeUnavailable, NotFound
from tidegate.vcs.rules.check_report import Source
from tidegate_local.forge.faults import Fault

MISSING, AUTO, MAIN = "d" * 40, "auto", "main"
ROLES = ("AUTHOR", "COMMITTER")
GENERATOR = {
    "Makefile": "introduce_images:\n\tcp $(IMAGE_FILE) images/staging.json\n",
    "images/staging.json": images("web", build=0),
}


def with_config(scenario):
    return scenario.push(GENERATOR)


def git(*arguments: str, at: Path | None = None, environ: Mapping[str, str] | None = None) -> str:
    """Run git and return what it prints."""
    known = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **(environ or {})}
    return (
        subprocess.run(["git", *arguments], cwd=at, env=known, check=True, capture_output=True).stdout.decode().strip()
    )


@dataclass
class OnForge:
    """A config repository on a forge, with the branch ``auto`` one commit ahead of ``main``."""

    tried: Tried
    base: str

    @property
    def forge(self) -> Any:
        return self.tried.forge

    @property
    def repository(self) -> str:
        return self.tried.repository

    @property
    def mover(self) -> BranchMover:
        return GitBranchMover(self.forge) if self.tried.is_gitlab else GitHubBranchMover(self.forge)

    def at(self, branch: str) -> str:
        return git("ls-remote", self.url, f"refs/heads/{branch}").partition("\t")[0]

    @property
    def url(self) -> str:
        return str(self.tried.person().clone_url(self.repository))

    def auto(self, content: str = "# auto\n") -> str:
        return str(self.tried.push({"images/x.json": content}, AUTO))


@pytest.fixture(params=KINDS)
def there(request, tmp_path, forges):
    with forges.tried(request.param, tmp_path, with_config) as scenario:
        yield OnForge(scenario, scenario.made)


class TestReading:
    def test_heads_of_branches_are_told_without_those_that_do_not_exist(self, there):
        auto = there.auto()
        heads = there.forge.branch_heads(there.repository, [MAIN, AUTO, "none"])
        assert heads == {MAIN: there.base, AUTO: auto}
        assert there.forge.branch_heads(there.repository, []) == {}

    def test_a_plain_file_is_read_at_its_commit(self, there):
        there.tried.push({"images/staging.json": "{}\n"})
        read = there.forge.file_content
        assert read(there.repository, there.base, "images/staging.json").decode() == GENERATOR["images/staging.json"]
        for path in ("images", "none", "images/none.json", "none/none"):
            assert read(there.repository, there.base, path) is None
        assert read(there.repository, MISSING, "Makefile") is None

    def test_bytes_stay_as_they_are(self, there, tmp_path):
        binary, long, link = bytes(range(256)), b"x" * 600_000, tmp_path / "copy/link"
        copy = tmp_path / "copy"
        git("clone", "--quiet", there.url, str(copy))
        for name, content in (("binary", binary), ("long", long), ("empty", b"")):
            (copy / name).write_bytes(content)
        link.symlink_to("Makefile")
        people = {f"GIT_{who}_{what}": "x@example.org" for who in ROLES for what in ("NAME", "EMAIL")}
        for arguments in (["add", "--all"], ["commit", "--quiet", "-m", "x"], ["push", "--quiet", "origin", MAIN]):
            git(*arguments, at=copy, environ=people)
        head = there.at(MAIN)
        assert there.forge.file_content(there.repository, head, "binary") == binary
        assert there.forge.file_content(there.repository, head, "long") == long
        assert there.forge.file_content(there.repository, head, "empty") == b""
        assert there.forge.file_content(there.repository, head, "link") is None

    def test_statuses_are_reported_with_who_set_them(self, there):
        auto = there.auto()
        there.tried.set_status(auto, "build", "pending", by="developer")
        (begun,) = there.forge.check_reports(there.repository, AUTO, [auto])[auto]
        assert (begun.source, begun.name, begun.app) == (Source.STATUS, "build", "@developer")
        assert begun.result in {"pending", "queued"}
        there.tried.set_status(auto, "build", "success", by="developer")
        (ended,) = there.forge.check_reports(there.repository, AUTO, [auto])[auto]
        assert (ended.result, ended.number >= begun.number) == ("success", True)
        assert there.forge.request_check(there.repository, ended) is False

    def test_a_commit_without_reports_and_one_that_does_not_exist_have_none(self, there):
        assert there.forge.check_reports(there.repository, AUTO, [there.base, MISSING]) == {there.base: [], MISSING: []}
        assert there.forge.check_reports(there.repository, AUTO, []) == {}


class TestJobs:
    """What CI's own jobs report, and how one begins again."""

    def test_a_job_is_reported_from_ci_and_can_begin_again(self, there):
        auto = there.auto()
        app = "gitlab-ci" if there.tried.is_gitlab else "github-actions"
        there.tried.run_job(auto, "build", "failed" if there.tried.is_gitlab else "timed_out")
        (first,) = there.forge.check_reports(there.repository, AUTO, [auto])[auto]
        assert (first.source, first.name, first.app) == (Source.CHECK_RUN, "build", app)
        assert there.forge.request_check(there.repository, first) is True
        reports = there.forge.check_reports(there.repository, AUTO, [auto])[auto]
        newest = max(reports, key=lambda each: each.number)
        assert newest.number > first.number
        assert newest.result in {"queued", "in_progress"}
        assert there.forge.request_check(there.repository, newest) is False

    def test_nobody_passes_for_ci_by_running_its_jobs_for_another_branch(self, there):
        auto = there.auto()
        there.tried.run_job(auto, "build", "failed" if there.tried.is_gitlab else "failure")
        before = there.forge.check_reports(there.repository, AUTO, [auto])
        if there.tried.is_gitlab:
            assert there.mover.move(there.repository, "mine", "", auto).done
            there.tried.person().run_jobs(there.repository, "mine", build="success")
        assert there.forge.check_reports(there.repository, AUTO, [auto]) == before

    def test_nobody_passes_for_ci_by_a_status_of_its_jobs_name(self, there):
        auto = there.auto()
        there.tried.run_job(auto, "build", "failed" if there.tried.is_gitlab else "failure")
        there.tried.set_status(auto, "build", "success", by="developer")
        reports = there.forge.check_reports(there.repository, AUTO, [auto])[auto]
        of_ci = [each for each in reports if not each.app.startswith("@")]
        assert [each.result for each in of_ci] == ["failure"]


class TestMoving:
    def test_the_default_branch_moves_forward(self, there):
        auto = there.auto()
        assert there.mover.move(there.repository, MAIN, there.base, auto) == Moved(done=True, at=auto)
        assert there.at(MAIN) == auto
        assert there.mover.move(there.repository, MAIN, there.base, auto) == Moved(done=True, at=auto)

    def test_it_never_moves_elsewhere(self, there):
        auto = there.auto()
        newer = there.tried.push({"README": "By a person.\n"})
        diverged = there.mover.move(there.repository, MAIN, newer, auto)
        assert (diverged.done, diverged.at) == (False, newer)
        assert "only moves forward" in diverged.reason
        assert not there.mover.move(there.repository, MAIN, newer, there.base).done
        assert not there.mover.move(there.repository, MAIN, "", auto).done
        assert there.at(MAIN) == newer

    def test_a_branch_that_is_elsewhere_is_left_and_said_where_it_is(self, there):
        auto = there.auto()
        newer = there.tried.push({"README": "By a person.\n"})
        assert there.mover.move(there.repository, MAIN, there.base, auto) == Moved(done=False, at=newer)
        assert there.mover.move(there.repository, AUTO, there.base, newer) == Moved(done=False, at=auto)
        assert (there.at(MAIN), there.at(AUTO)) == (newer, auto)

    def test_another_branch_is_made_and_moves_back(self, there):
        assert there.mover.move(there.repository, AUTO, "", there.base) == Moved(done=True, at=there.base)
        auto = there.auto()
        assert there.mover.move(there.repository, AUTO, auto, there.base) == Moved(done=True, at=there.base)
        newer = there.tried.push({"README": "By a person.\n"})
        assert there.mover.move(there.repository, AUTO, "", newer) == Moved(done=False, at=there.base)

    def test_a_commit_that_is_not_there_moves_nothing(self, there):
        auto = there.auto()
        try:
            moved = there.mover.move(there.repository, AUTO, auto, MISSING)
        except (NotFound, ForgeUnavailable):
            moved = Moved(done=False, at=auto, reason="not there")
        assert (moved.done, moved.at, bool(moved.reason)) == (False, auto, True)
        assert there.at(AUTO) == auto

    def test_a_protected_branch_is_told_with_the_providers_reason(self, there):
        auto = there.auto()
        there.tried.lock(MAIN)
        moved = there.mover.move(there.repository, MAIN, there.base, auto)
        assert (moved.done, moved.at) == (False, there.base)
        assert "protected" in moved.reason
        assert there.at(MAIN) == there.base

    def test_an_answer_that_is_lost_is_found_by_where_the_branch_is(self, there):
        auto = there.auto()
        path = r".*/git-receive-pack" if there.tried.is_gitlab else "/api/graphql/MoveBranch"
        there.tried.server.inject(Fault("close", "POST", path, after=True))
        moved = there.mover.move(there.repository, MAIN, there.base, auto)
        assert there.tried.server.faults.left() == 0
        assert moved == Moved(done=True, at=auto)
        assert there.at(MAIN) == auto


class TestPushing:
    @pytest.fixture
    def new(self, there, tmp_path) -> tuple[NewCommits, bytes]:
        trailers, place, by = announced(1, "").trailers, tmp_path / "made", Author()
        git("clone", "--quiet", "--bare", there.url, str(place))
        people = {f"GIT_{who}_{what}": each for who in ROLES for what, each in (("NAME", by.name), ("EMAIL", by.email))}
        tree = f"{there.base}^{{tree}}"
        message = commit_message(trailers)
        tip = git("commit-tree", "-p", there.base, "-m", message, tree, at=place, environ=people)
        git("update-ref", "refs/heads/made", tip, at=place)
        git("bundle", "create", "--quiet", "bundle", "refs/heads/made", f"^{there.base}", at=place)
        return NewCommits(there.base, ((tip, trailers),), by), (place / "bundle").read_bytes()

    def test_new_commits_are_pushed_from_where_the_branch_was(self, there, new):
        commits, bundle = new
        assert there.mover.push(there.repository, AUTO, "", commits, bundle) == Moved(done=True, at=commits.tip)
        assert there.at(AUTO) == commits.tip
        assert there.mover.push(there.repository, AUTO, "", commits, bundle).done
        assert there.mover.move(there.repository, MAIN, there.base, commits.tip).done

    def test_a_branch_of_a_stranger_is_left(self, there, new):
        auto = there.auto()
        assert there.mover.push(there.repository, AUTO, "", *new) == Moved(done=False, at=auto)
        assert there.at(AUTO) == auto
        assert there.mover.push(there.repository, AUTO, auto, *new).done

    def test_the_default_branch_gets_none(self, there, new):
        assert not there.mover.push(there.repository, MAIN, there.base, *new).done
        assert there.at(MAIN) == there.base
