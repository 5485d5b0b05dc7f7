"""The repository's commands may do what they like: no secret is within reach, and only the work tree counts."""

from __future__ import annotations

import time
from pathlib import Path
from uuid import uuid4

import pytest

from tests.runner.config_updates.config_repository import ConfigRepository, announced, images
from tests.runner.config_updates.replaying import CLONE_TOKEN, SECRETS, Ran
from tidegate.config.rules.config_updates import UpdateCommands

CHANGE = 'cp "$1" "$2"\n'


def running(config: ConfigRepository, script: str, count: int = 1, **options: str) -> Ran:
    """Replay entries whose command is a shell script, which is given the number of its entry."""
    entries = [announced(number, images("web", build=number)) for number in range(1, count + 1)]
    return config.replay(
        *entries,
        commands=UpdateCommands(introduce=("sh", "-c", CHANGE + script, "sh", "{image_file}", "{file}")),
        **options,
    )


def test_a_command_that_hangs_is_killed_and_costs_its_own_entry_only(config: ConfigRepository) -> None:
    begun = time.monotonic()
    done = running(config, f"grep -q {2:064x} images/staging.json || sleep 300", 2, program_seconds="1")
    assert done.states == ["failed", "committed"]
    assert "time limit of 1 s" in done.replayed.outcomes[0].reason
    assert time.monotonic() - begun < 100


def test_a_replay_without_time_for_one_more_command_says_how_far_it_came(config: ConfigRepository) -> None:
    done = config.replay(announced(1, images("web")), seconds=30)
    assert done.fault == "RunnerFault: The limit of time ended it after 0 of 1 entries. Nothing was pushed."


def test_a_command_sees_no_secret_in_its_environment_its_files_or_the_configuration_of_git(
    config: ConfigRepository,
) -> None:
    done = running(
        config, "env > seen; git config --list --show-origin >> seen; cat .git/config ~/.* >> seen 2>/dev/null; true"
    )
    seen = config.read(done.tip, "seen")
    for secret in (*SECRETS.values(), CLONE_TOKEN, "Authorization", "extraheader"):
        assert secret not in seen
    for file in config.place.joinpath("job").rglob("*"):
        if file.is_file() and file.name != "log":
            assert CLONE_TOKEN.encode() not in file.read_bytes(), file


def test_secrets_that_a_command_prints_are_masked_in_the_log_and_in_the_reason(config: ConfigRepository) -> None:
    done = running(config, f"echo first; echo ghp_abcdef {CLONE_TOKEN}; exit 1")
    lines = done.replayed.outcomes[0].last_lines
    assert lines.splitlines()[-2:] == ["first", "(masked) (masked)"]
    assert "ghp_abcdef" not in done.log
    assert CLONE_TOKEN not in done.log


def test_the_last_lines_are_those_of_the_entrys_own_command(config: ConfigRepository) -> None:
    script = f"grep -q {1:064x} images/staging.json && echo of-the-first || exit 1"
    done = running(config, script, 2)
    assert done.states == ["committed", "failed"]
    assert "of-the-first" in done.log
    assert "of-the-first" not in done.replayed.outcomes[1].last_lines


@pytest.mark.parametrize("start", ["sleep 300 &", "setsid sleep 300 &", "(setsid sh -c 'sleep 300; :' &) &"])
def test_what_a_command_leaves_in_the_background_is_killed(config: ConfigRepository, start: str) -> None:
    number = f"{uuid4().int}"
    done = running(config, start.replace("300", f"300.{number}"))
    assert done.states == ["committed"]
    commands = (_command(process) for process in Path("/proc").iterdir() if process.name.isdigit())
    assert not [command for command in commands if number in command]


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def test_a_process_that_goes_on_writing_does_not_change_the_next_entry(config: ConfigRepository) -> None:
    tree = config.directory / "replay-1/job/entry/tree"
    # In one piece: it may be killed at any moment.
    copying = f"cp {tree}/images/staging.json {tree}/../new && mv {tree}/../new {tree}/seen"
    writing = f"setsid sh -c 'while sleep 0.01; do {copying}; done' &"
    done = running(config, f"grep -q {1:064x} images/staging.json && {{ {writing} }}; sleep 0.5", 2)
    assert done.states == ["committed", "committed"]
    assert config.read(done.tip, "images/staging.json") == images("web", build=2)
    assert config.read(done.tip, "seen") == images("web", build=1)


def test_what_a_command_writes_outside_of_the_work_tree_does_not_reach_a_commit(config: ConfigRepository) -> None:
    script = "touch ../stray ~/.gitconfig $TMPDIR/stray; git config --file ~/.gitconfig user.name Stranger"
    script += "; test $(ls -A $TMPDIR | wc -l) = 1"
    done = running(config, script, 2)
    assert done.states == ["committed", "committed"]
    assert config.files(done.tip) == config.files(config.main)
    assert config.forge("log", "-1", "--format=%an", done.tip) == "Tidegate"


@pytest.mark.parametrize(
    "script",
    [
        "git commit --quiet --all -m mine && git checkout --quiet -B mine",
        "git add --all && git rm --quiet --cached template.yaml",
        "git update-index --assume-unchanged images/staging.json",
        "git replace HEAD $(git commit-tree HEAD: -m another)",
        "rm -rf .git",
        "echo broken > .git/config; echo broken > .git/HEAD",
    ],
)
def test_what_a_command_does_with_git_does_not_change_the_commit(config: ConfigRepository, script: str) -> None:
    who = "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y\n"
    done = running(config, who + script, 2)
    assert done.states == ["committed", "committed"], done.log
    assert config.files(done.tip) == config.files(config.main)
    assert config.read(done.tip, "images/staging.json") == images("web", build=2)
    assert config.at(f"{done.tip}^^") == config.main


def test_git_runs_no_program_that_the_repository_or_a_command_names(config: ConfigRepository) -> None:
    ran = config.directory / "ran"
    config.commit({".gitattributes": "* filter=x diff=x merge=x\n", "hooks/pre-commit": f"#!/bin/sh\ntouch {ran}\n"})
    repositories = ".git ../../store ../commit"
    script = f"""
        for each in {repositories}; do
            test -d $each || continue
            printf '#!/bin/sh\\ntouch {ran}\\n' > $each/hooks-program; chmod +x $each/hooks-program
            git config --file $each/config core.hooksPath $PWD/hooks
            git config --file $each/config core.fsmonitor $PWD/$each/hooks-program
            git config --file $each/config filter.x.clean "touch {ran}; cat"
            git config --file $each/config filter.x.smudge "touch {ran}; cat"
            git config --file $each/config diff.x.command "touch {ran}"
            mkdir -p $each/hooks; for hook in pre-commit post-commit reference-transaction post-index-change; do
                cp $each/hooks-program $each/hooks/$hook
            done
        done
        chmod +x hooks/pre-commit; true
    """
    done = running(config, script, 2)
    assert done.states == ["committed", "committed"], done.log
    assert not ran.exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "git init --quiet nested; cd nested; git -c user.name=x -c user.email=x commit --quiet --allow-empty -m x",
            "must not change it",
        ),
        ("git init --quiet nested", "git could not add"),
        ("rm -rf $PWD", "cannot be read"),
        ("mkdir ../commit", "cannot be read"),
        ("head -c 60M /dev/zero > built", "changed files of 60 MB. The limit is 50 MB"),
    ],
)
def test_a_work_tree_that_cannot_be_committed_fails_its_own_entry(
    config: ConfigRepository, script: str, reason: str
) -> None:
    done = running(config, f"grep -q {2:064x} images/staging.json || {{ {script}; }}", 2)
    assert done.states == ["failed", "committed"], done.log
    assert reason in done.replayed.outcomes[0].reason


def test_entries_that_together_change_too_much_follow_in_the_next_replay(config: ConfigRepository) -> None:
    done = running(config, "{ head -c 49M /dev/zero; cat images/staging.json; } > built", 5)
    assert done.states == ["committed"] * 4
    assert "The limit of size ended it after 4 of 5 entries" in done.log


@pytest.mark.parametrize(
    ("command", "reason"),
    [(("no-such-program",), "cannot be started")],
)
def test_a_command_that_cannot_be_run_says_why(config: ConfigRepository, command: tuple[str, ...], reason: str) -> None:
    done = config.replay(announced(1, images("api")), commands=UpdateCommands(introduce=command))
    assert reason in done.replayed.outcomes[0].reason


@pytest.mark.parametrize(("number", "told"), [("9", "SIGKILL"), ("40", "signal 40")])
def test_a_command_that_kills_itself_is_told_by_its_signal(config: ConfigRepository, number: str, told: str) -> None:
    assert f"was killed by {told}" in running(config, f"kill -{number} $$").replayed.outcomes[0].reason


def test_a_command_finds_the_history_of_the_default_branch(config: ConfigRepository) -> None:
    config.commit({"README": "By a person.\n"})
    done = running(config, "git log --format=%H > history; git status --porcelain > status", 1)
    assert config.read(done.tip, "history").split() == config.forge("log", "--format=%H", "main").split()
    assert "images/staging.json" in config.read(done.tip, "status")


@pytest.mark.parametrize(
    "left",
    ["cache/deep/file", "generated/staging/.git/HEAD", "generated/.git", "new/.git/HEAD", ".git/left", "empty/x/"],
)
def test_what_a_command_leaves_uncommitted_is_gone_when_the_next_one_runs(config: ConfigRepository, left: str) -> None:
    config.commit({".gitignore": "cache/\n"})
    make = f"mkdir -p {left}" if left.endswith("/") else f"mkdir -p $(dirname {left}); echo left > {left}"
    script = f"test -e {left} && exit 1; {make}; test -e new && mv new $TMPDIR; chmod -R a-w cache; true"
    done = running(config, script, 2)
    assert done.states == ["committed", "committed"], done.log
    assert config.files(done.tip) == config.files(config.main)
