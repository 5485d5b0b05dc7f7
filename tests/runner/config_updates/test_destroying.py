"""A command that destroys what the runner needs costs its own entry only; a replay that runs out of time, its rest."""

from __future__ import annotations

import pytest

from tests.runner.config_updates.config_repository import ConfigRepository, announced, images
from tidegate.config.rules.config_updates import UpdateCommands


def commands(script: str) -> UpdateCommands:
    """A command that enters the image set, and then does something."""
    return UpdateCommands(introduce=("sh", "-c", f'cp "$1" "$2"\n{script}', "sh", "{image_file}", "{file}"))


def only_for(number: int, script: str) -> str:
    return f"if grep -q {number:064x} images/staging.json; then {script}; fi"


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf ../../store",
        "for f in $(find ../../store/objects -type f); do chmod u+w $f; echo broken > $f; done",
        "rm -rf ../..",
        "rm -f ../answer; mkdir ../answer",
        "rm -rf ../index; mkdir ../index",
    ],
)
def test_a_command_that_destroys_the_runners_files_fails_its_own_entry(config: ConfigRepository, script: str) -> None:
    entries = [announced(number, images("web", build=number)) for number in (1, 2, 3)]
    done = config.replay(*entries, commands=commands(only_for(2, script)))
    assert (done.fault, done.states) == ("", ["committed", "failed", "committed"]), done.log
    expected = config.replay(entries[0], entries[2], commands=commands("true"))
    assert done.tip == expected.tip


def test_commands_that_all_destroy_end_the_replay_with_a_reason(config: ConfigRepository) -> None:
    entries = [announced(number, images("web", build=number)) for number in range(1, 6)]
    done = config.replay(*entries, commands=commands("rm -rf ../../store"))
    assert done.fault.startswith("RunnerFault: ")
    assert "Traceback" not in done.log


def test_entries_that_are_not_reached_in_time_have_no_outcome(config: ConfigRepository) -> None:
    entries = [announced(number, images("web", build=number)) for number in (1, 2, 3)]
    done = config.replay(*entries, commands=commands(only_for(1, "sleep 6")), program_seconds="30", seconds=35)
    assert done.states == ["committed"]
    assert done.tip == done.replayed.outcomes[0].sha
    assert config.read(done.tip, "images/staging.json") == images("web", build=1)
    assert "after 1 of 3 entries. The others stay in the queue." in done.log
