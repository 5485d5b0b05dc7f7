"""A branch moves to the expected commits only, from the expected place only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runner.config_updates.config_repository import AUTO, ConfigRepository, announced, images
from tidegate.config_updates.adapters.pushing import GitBranchMover
from tidegate.config_updates.rules.replay import Author, Entry, NewCommits
from tidegate.ports import Moved
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotFound, UnexpectedCommits
from tidegate.vcs.git.bare import BareGit, Ended
from tidegate.vcs.rules.comparison import Comparison

NOWHERE = ""
REPOSITORY = "acme/config"
#: A branch of this is not the default one.
BRANCH = AUTO.removeprefix("refs/heads/")
TOKEN = "may-write"


class OnDisk:
    """What the mover asks the VCS provider of a bare repository on this machine."""

    def __init__(self, config: ConfigRepository) -> None:
        self.config = config

    def default_branch(self, repository: str) -> str:
        return "main"

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        common = self.config.forge("merge-base", base, head)
        return {base: Comparison.AHEAD, head: Comparison.BEHIND}.get(common, Comparison.DIVERGED)

    def clone_url(self, repository: str) -> str:
        return self.config.url

    def write_token(self, repository: str) -> str:
        return TOKEN

    def branch_heads(self, repository: str, branches: list[str]) -> dict[str, str]:
        listed = self.config.forge("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
        found = dict(line.split(" ") for line in listed.splitlines())
        return {each: found[each] for each in branches if each in found}


class Pushing:
    """Replays, and pushes as the step does that has a token. ``ran`` are the arguments of each git process."""

    def __init__(self, config: ConfigRepository) -> None:
        self.config = config
        self.ran: list[list[str]] = []
        self.before: Callable[[], object] = lambda: None
        self.mover = GitBranchMover(OnDisk(config), os.environ, protocols={"file"})  # type: ignore[arg-type]

    def made(self, *entries: Entry) -> NewCommits:
        done = self.config.replay(*entries)
        shas = {outcome.id: outcome.sha for outcome in done.replayed.outcomes if outcome.sha}
        trailers = [entry.trailers for entry in entries if entry.trailers.id in shas]
        return NewCommits(self.config.main, tuple((shas[each.id], each) for each in trailers), Author())

    def push(
        self, new: NewCommits, old: str, *, before: Callable[[], object] = lambda: None, bundle: Path | None = None
    ) -> Moved:
        self.before = before
        file = bundle or self.config.bundle
        return self.mover.push(REPOSITORY, BRANCH, old, new, file.read_bytes() if file.exists() else b"")

    def commands(self) -> list[str]:
        return [each[0] for each in self.ran]


@pytest.fixture
def config(tmp_path: Path) -> ConfigRepository:
    return ConfigRepository(tmp_path)


@pytest.fixture
def pushing(config: ConfigRepository, monkeypatch: pytest.MonkeyPatch) -> Pushing:
    pushing, plain = Pushing(config), BareGit.ended

    def ended(git: BareGit, *arguments: str, stdin: bytes = b"") -> Ended:
        pushing.ran.append([*arguments])
        if arguments[0] == "push":
            pushing.before()
        return plain(git, *arguments, stdin=stdin)

    monkeypatch.setattr(BareGit, "ended", ended)
    return pushing


def entries(count: int = 2) -> list[Entry]:
    return [announced(number, images("web", build=number)) for number in range(1, count + 1)]


def with_tip(new: NewCommits, tip: str) -> NewCommits:
    """Return a commit, said to be the first entry's."""
    return replace(new, commits=((tip, new.commits[0][1]),))


def test_a_branch_that_does_not_exist_is_made(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    assert pushing.push(new, NOWHERE) == Moved(done=True, at=new.tip)
    assert pushing.config.at(AUTO) == new.tip


def test_a_rebuilt_branch_moves_in_one_push_from_where_it_was(pushing: Pushing) -> None:
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    pushing.config.commit({"README": "By a person.\n"})
    again = pushing.made(*entries())
    pushing.ran.clear()
    assert pushing.push(again, first.tip).done
    assert pushing.config.at(AUTO) == again.tip
    assert pushing.commands().count("push") == 1


def test_without_new_commits_the_branch_moves_to_the_default_branch(pushing: Pushing) -> None:
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    assert pushing.push(pushing.made(), first.tip) == Moved(done=True, at=pushing.config.main)


def test_the_lease_names_the_place_and_nothing_is_checked_out(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    pushing.push(new, NOWHERE)
    (pushed,) = [each for each in pushing.ran if each[0] == "push"]
    assert f"--force-with-lease={AUTO}:" in pushed
    assert not {"--force", "--force-with-lease"} & set(pushed)
    assert not {"checkout", "reset", "switch", "read-tree"} & set(pushing.commands())


def test_a_branch_that_a_stranger_rewrote_is_left_and_said_where_it_is(pushing: Pushing) -> None:
    """(36)"""
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    strangers = pushing.config.at("refs/heads/main")
    pushing.config.forge("update-ref", AUTO, strangers)
    assert pushing.push(pushing.made(*entries(1)), first.tip) == Moved(done=False, at=strangers)
    assert pushing.config.at(AUTO) == strangers


@pytest.mark.parametrize("delete", [True, False])
def test_a_branch_that_moves_while_the_push_is_made_is_left(pushing: Pushing, *, delete: bool) -> None:
    first = pushing.made(*entries())
    pushing.push(first, NOWHERE)
    forge, main = pushing.config.forge, pushing.config.main
    moving = ("update-ref", "-d", AUTO) if delete else ("update-ref", AUTO, main)
    pushed = pushing.push(pushing.made(*entries(1)), first.tip, before=lambda: forge(*moving))
    assert pushed == Moved(done=False, at="" if delete else main)


def test_a_branch_that_exists_already_is_not_made_again(pushing: Pushing) -> None:
    pushing.config.forge("update-ref", AUTO, pushing.config.main)
    assert pushing.push(pushing.made(*entries()), NOWHERE) == Moved(done=False, at=pushing.config.main)


def test_a_branch_that_is_there_already_has_moved(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    pushing.push(new, NOWHERE)
    assert pushing.push(new, pushing.config.main) == Moved(done=True, at=new.tip)


def test_a_protected_branch_is_told_with_the_forges_reason(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    hook = pushing.config.bare / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    assert pushing.push(new, NOWHERE) == Moved(done=False, at="", reason="hook declined not today")


def test_a_forge_that_does_not_answer_is_a_fault(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    away = pushing.config.bare.with_name("away")
    with pytest.raises(ForgeUnavailable):
        pushing.push(new, NOWHERE, before=lambda: pushing.config.bare.rename(away))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda new: replace(new, commits=new.commits[1:]), "There are 2 commits where 1 were expected"),
        (lambda new: replace(new, commits=(new.commits[1], new.commits[1])), "where .* was expected"),
        (lambda new: replace(new, commits=((new.base, new.commits[0][1]), new.commits[1])), "where .* was expected"),
        (
            lambda new: replace(new, commits=tuple((sha, new.commits[0][1]) for sha, _ in new.commits)),
            "a different message than its entry",
        ),
        (lambda new: replace(new, author=Author("Somebody")), "was not made by Tidegate"),
        (
            lambda new: replace(new, commits=((new.base, new.commits[0][1]),)),
            "There are 0 commits where 1 were expected",
        ),
    ],
)
def test_commits_that_are_not_the_expected_ones_are_not_pushed(
    pushing: Pushing, change: Callable[[NewCommits], NewCommits], problem: str
) -> None:
    new = pushing.made(*entries())
    with pytest.raises(UnexpectedCommits, match=problem):
        pushing.push(change(new), NOWHERE)
    assert "push" not in pushing.commands()


def test_a_bundle_on_another_commit_is_not_pushed(pushing: Pushing) -> None:
    new = pushing.made(*entries())
    other = pushing.config.commit({"README": "By a person.\n"})
    with pytest.raises(UnexpectedCommits):
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
    commits = (*new.commits, (tip, announced(2, "").trailers))
    with pytest.raises(UnexpectedCommits, match="other fields than tree, one parent"):
        pushing.push(NewCommits(new.base, commits, Author()), NOWHERE, bundle=tmp_path / "merge")


def bundle_of(config: ConfigRepository, base: str, commit: str, file: Path) -> Path:
    config.forge("update-ref", "refs/heads/made", commit)
    config.forge("bundle", "create", "--quiet", str(file), "refs/heads/made", f"^{base}")
    return file


def raw_object(config: ConfigRepository, kind: str, content: bytes) -> str:
    argv = ["git", "hash-object", "--literally", "-w", "-t", kind, "--stdin"]
    return subprocess.run(argv, cwd=config.bare, input=content, check=True, capture_output=True).stdout.decode().strip()


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b"\n\n", b"\nencoding ISO-8859-1\n\n", 1),
        lambda raw: raw.replace(b"\n\n", b"\ngpgsig none\n\n", 1),
        lambda raw: raw.replace(b"\n\n", b"\n\n\n", 1),
        lambda raw: raw.replace(b"chore", b"chore\xff", 1),
        lambda raw: raw + b"Autocommit-Actor: octocat\n",
    ],
)
def test_commits_are_compared_by_what_git_stores_of_them(
    pushing: Pushing, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    config = pushing.config
    new = pushing.made(*entries(1))
    raw = subprocess.run(["git", "cat-file", "commit", new.tip], cwd=config.bare, check=True, capture_output=True)
    tip = raw_object(config, "commit", change(raw.stdout))
    with pytest.raises(UnexpectedCommits):
        pushing.push(
            with_tip(new, tip),
            NOWHERE,
            bundle=bundle_of(config, new.base, tip, tmp_path / "raw"),
        )
    assert "push" not in pushing.commands()


def test_objects_that_git_would_not_receive_are_not_pushed(pushing: Pushing, tmp_path: Path) -> None:
    config = pushing.config
    new = pushing.made(*entries(1))
    blob = raw_object(config, "blob", b"[core]\n\tsshCommand = x\n")
    tree = raw_object(config, "tree", b"100644 .GIT\0" + bytes.fromhex(blob))
    raw = subprocess.run(["git", "cat-file", "commit", new.tip], cwd=config.bare, check=True, capture_output=True)
    tip = raw_object(config, "commit", f"tree {tree}\n".encode() + raw.stdout.partition(b"\n")[2])
    with pytest.raises(UnexpectedCommits, match=r"hasDotgit"):
        pushing.push(
            with_tip(new, tip),
            NOWHERE,
            bundle=bundle_of(config, new.base, tip, tmp_path / "faulty"),
        )
    assert "push" not in pushing.commands()


def test_a_commit_that_changes_the_file_that_grants_rights_is_not_pushed_although_the_next_one_changes_it_back(
    pushing: Pushing, tmp_path: Path
) -> None:
    config = pushing.config
    new = pushing.made(*entries(2))
    below, above = (
        subprocess.run(["git", "cat-file", "commit", sha], cwd=config.bare, check=True, capture_output=True).stdout
        for sha, _ in new.commits
    )
    blob = raw_object(config, "blob", b"access_control: {policies: []}\n")
    hostile = raw_object(config, "tree", b"100644 tidegate.yaml\0" + bytes.fromhex(blob))
    lower = raw_object(config, "commit", f"tree {hostile}\n".encode() + below.partition(b"\n")[2])
    tip = raw_object(config, "commit", above.replace(new.commits[0][0].encode(), lower.encode()))
    forged = NewCommits(new.base, ((lower, new.commits[0][1]), (tip, new.commits[1][1])), Author())
    with pytest.raises(UnexpectedCommits, match=r"tidegate\.yaml"):
        pushing.push(forged, NOWHERE, bundle=bundle_of(config, new.base, tip, tmp_path / "hostile"))
    assert "push" not in pushing.commands()


@pytest.mark.parametrize("bundle", [b"", b"# v2 git bundle\n\n", b"# v2 git bundle\n\nPACK"])
def test_a_bundle_that_is_none_is_not_pushed(pushing: Pushing, tmp_path: Path, bundle: bytes) -> None:
    new = pushing.made(*entries(1))
    (tmp_path / "none").write_bytes(bundle)
    with pytest.raises(UnexpectedCommits):
        pushing.push(new, NOWHERE, bundle=tmp_path / "none")


def test_faults_in_old_history_do_not_matter(pushing: Pushing) -> None:
    config = pushing.config
    blob = raw_object(config, "blob", b"x\n")
    tree = raw_object(config, "tree", b"0100644 x\0" + bytes.fromhex(blob))
    people = "Somebody <a@example.org> 1600000000 +0000"
    body = f"tree {tree}\nparent {config.main}\nauthor {people}\ncommitter {people}\n\nOld\n".encode()
    faulty = raw_object(config, "commit", body)
    good = config.forge("rev-parse", f"{config.main}^{{tree}}")
    after = body.replace(tree.encode(), good.encode()).replace(config.main.encode(), faulty.encode())
    config.forge("update-ref", "refs/heads/main", raw_object(config, "commit", after))
    new = pushing.made(*entries(1))
    assert pushing.push(new, NOWHERE).done


def test_the_default_branch_gets_no_new_commits(pushing: Pushing) -> None:
    main = pushing.config.main
    new = pushing.made(*entries(1))
    pushed = pushing.mover.push(REPOSITORY, "main", main, new, pushing.config.bundle.read_bytes())
    assert (pushed.done, pushed.at) == (False, main)
    assert "is the default branch" in pushed.reason
    assert pushing.config.main == main


class TestMoving:
    """Commits that the provider has already: nothing is sent."""

    @pytest.fixture
    def tip(self, pushing: Pushing) -> str:
        new = pushing.made(*entries())
        pushing.push(new, NOWHERE)
        pushing.ran.clear()
        return new.tip

    def test_the_default_branch_moves_forward(self, pushing: Pushing, tip: str) -> None:
        main = pushing.config.main
        assert pushing.mover.move(REPOSITORY, "main", main, tip) == Moved(done=True, at=tip)
        assert pushing.config.main == tip
        (pushed,) = [each for each in pushing.ran if each[0] == "push"]
        assert f"--force-with-lease=refs/heads/main:{main}" in pushed

    def test_a_move_that_is_repeated_has_happened(self, pushing: Pushing, tip: str) -> None:
        main = pushing.config.main
        pushing.mover.move(REPOSITORY, "main", main, tip)
        assert pushing.mover.move(REPOSITORY, "main", main, tip) == Moved(done=True, at=tip)

    def test_the_default_branch_never_moves_elsewhere(self, pushing: Pushing, tip: str) -> None:
        main = pushing.config.commit({"README": "By a person.\n"})
        for old, new in ((main, tip), (tip, main), (NOWHERE, tip)):
            moved = pushing.mover.move(REPOSITORY, "main", old, new)
            assert (moved.done, moved.at) in {(False, main), (True, main)}
            assert pushing.config.main == main
        assert "push" not in pushing.commands()

    def test_the_default_branch_is_left_where_a_person_has_moved_it(self, pushing: Pushing, tip: str) -> None:
        main = pushing.config.main
        newer = pushing.config.commit({"README": "By a person.\n"})
        assert pushing.mover.move(REPOSITORY, "main", main, tip) == Moved(done=False, at=newer)
        assert pushing.config.main == newer

    def test_another_branch_moves_back_and_is_made_again(self, pushing: Pushing, tip: str) -> None:
        main = pushing.config.main
        assert pushing.mover.move(REPOSITORY, BRANCH, tip, main) == Moved(done=True, at=main)
        pushing.config.forge("update-ref", "-d", AUTO)
        assert pushing.mover.move(REPOSITORY, BRANCH, NOWHERE, main) == Moved(done=True, at=main)

    def test_a_commit_that_is_not_there_is_refused(self, pushing: Pushing, tip: str) -> None:
        with pytest.raises((NotFound, ForgeUnavailable)):
            pushing.mover.move(REPOSITORY, BRANCH, tip, "d" * 40)
        assert pushing.config.at(AUTO) == tip


def test_a_push_that_takes_too_long_is_ended(config: ConfigRepository) -> None:
    mover = GitBranchMover(OnDisk(config), os.environ, protocols={"file"}, time_limit=0)  # type: ignore[arg-type]
    with pytest.raises(ForgeUnavailable, match="too long"):
        mover.move(REPOSITORY, BRANCH, NOWHERE, config.main)


def test_the_token_goes_to_no_other_protocol(config: ConfigRepository) -> None:
    mover = GitBranchMover(OnDisk(config), os.environ)  # type: ignore[arg-type]
    with pytest.raises(ForgeRefused, match="only over HTTPS"):
        mover.move(REPOSITORY, BRANCH, NOWHERE, config.main)
