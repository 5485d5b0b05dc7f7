"""Entries become commits on the default branch's head, by real git and a small generator.

Numbers in parentheses are those of the edge cases that the design lists.
"""

from __future__ import annotations

import pytest

from tests.runner.config_updates.config_repository import BEGUN, ConfigRepository, announced, images, promoted
from tidegate.config.rules.config_updates import UpdateCommands
from tidegate.config_updates.rules.replay import Entry
from tidegate.config_updates.rules.trailers import commit_message

STAGING = "images/staging.json"


def entries(count: int) -> list[Entry]:
    return [announced(number, images("web", build=number)) for number in range(1, count + 1)]


def test_an_announcement_becomes_one_commit_with_its_trailers_and_its_date(config: ConfigRepository) -> None:
    """(2)"""
    entry = announced(1, images("web"))
    done = config.replay(entry)
    assert done.states == ["committed"]
    assert done.tip == done.replayed.outcomes[0].sha
    assert config.at(f"{done.tip}^") == config.main
    assert config.forge("show", "-s", "--format=%B", done.tip).rstrip("\n") == commit_message(entry.trailers).rstrip(
        "\n"
    )
    assert config.forge("show", "-s", "--format=%an %cn %at", done.tip) == (
        f"Tidegate Tidegate {int(entry.authored.timestamp())}"
    )
    assert config.read(done.tip, STAGING) == images("web")
    assert config.is_freshly_generated(done.tip)


def test_files_that_the_generator_creates_and_deletes_are_in_the_commit(config: ConfigRepository) -> None:
    """(8)"""
    done = config.replay(announced(1, images("api", "job")))
    generated = {file for file in config.files(done.tip) if file.startswith("generated/")}
    assert generated == {"generated/staging/api.yaml", "generated/staging/job.yaml"}


def test_a_command_that_fails_costs_its_own_entry_only(config: ConfigRepository) -> None:
    """(9)"""
    config.commit(
        {"generate.sh": "set -e; grep -q broken images/*.json && echo no such chart && exit 3; date > left.txt"}
    )
    before = config.main
    done = config.replay(announced(1, images("web")), announced(2, images("broken")), announced(3, images("job")))
    assert done.states == ["committed", "failed", "committed"]
    failed = done.replayed.outcomes[1]
    assert failed.reason.startswith("The command")
    assert failed.reason.endswith(" failed with exit code 2.")
    assert "no such chart" in failed.last_lines
    assert config.at(f"{done.tip}^") == done.replayed.outcomes[0].sha
    assert config.read(done.tip, STAGING) == images("job")
    assert config.main == before


def test_what_a_failed_command_leaves_in_the_work_tree_reaches_no_other_entry(config: ConfigRepository) -> None:
    script = """
        test -e ignored/deep/cache && exit 1
        mkdir -p ignored/deep; touch ignored/deep/cache; chmod 500 ignored/deep
        echo x > tracked; echo x > left.txt
        grep -q broken images/staging.json && exit 1
        rm left.txt; git checkout -q tracked
    """
    config.commit({"generate.sh": script, ".gitignore": "ignored/\n", "tracked": "as it was\n"})
    done = config.replay(announced(1, images("broken")), announced(2, images("web")), announced(3, images("job")))
    assert done.states == ["failed", "committed", "committed"], done.log
    assert config.read(done.tip, "tracked") == "as it was\n"
    assert not {"left.txt", "ignored/deep/cache"} & config.files(done.tip)


def test_evicting_the_lowest_replays_what_is_above_it(config: ConfigRepository) -> None:
    """(17)"""
    red, above = announced(1, images("web", build=1)), announced(2, images("web", "api", build=2))
    first = config.replay(red, above)
    again = config.replay(above)
    assert again.states == ["committed"]
    assert again.tip not in {outcome.sha for outcome in first.replayed.outcomes}
    assert config.ids(again.tip) == [above.trailers.id]
    assert config.is_freshly_generated(again.tip)


def test_evicting_the_oldest_of_three_over_a_moved_default_branch_keeps_the_other_two(config: ConfigRepository) -> None:
    first, second, third = entries(3)
    config.replay(first, second, third)
    config.commit({"README": "By a person.\n"})
    done = config.replay(second, third)
    assert config.ids(done.tip) == [second.trailers.id, third.trailers.id]
    assert config.read(done.tip, STAGING) == images("web", build=3)
    assert config.read(f"{done.tip}^", STAGING) == images("web", build=2)
    assert config.is_freshly_generated(done.tip)
    assert config.is_freshly_generated(config.at(f"{done.tip}^"))


def test_a_template_that_a_person_changes_shows_in_what_is_replayed(config: ConfigRepository) -> None:
    """(31)"""
    entry = announced(1, images("web", build=7))
    config.replay(entry)
    config.person.git("rm", "--quiet", "-r", "generated")
    config.commit({"template.yaml": "kind: StatefulSet\n"})
    done = config.replay(entry)
    generated = config.read(done.tip, "generated/staging/web.yaml")
    assert generated.startswith("kind: StatefulSet\n")
    assert f"sha256:{7:064x}" in generated
    assert config.is_freshly_generated(done.tip)


def test_images_that_a_person_landed_by_hand_make_no_empty_commit(config: ConfigRepository) -> None:
    """(7, 32)"""
    entry, above = announced(1, images("web")), announced(2, images("web", build=2))
    by_hand = config.replay(entry).tip
    config.person.git("fetch", "--quiet", config.url, by_hand)
    config.person.git("reset", "--quiet", "--hard", by_hand)
    config.commit({"README": "By a person.\n"})
    done = config.replay(entry, above)
    assert done.states == ["noop", "committed"]
    assert config.at(f"{done.tip}^") == config.main


def test_a_replay_that_changes_nothing_ends_at_its_base_without_a_bundle(config: ConfigRepository) -> None:
    done = config.replay(announced(1, images("web", build=0)))
    assert (done.states, done.tip) == (["noop"], config.main)
    assert not config.bundle.exists()


def test_the_same_order_makes_the_same_commits(config: ConfigRepository) -> None:
    assert config.replay(*entries(2)).tip == config.replay(*entries(2)).tip


def test_no_commit_is_older_than_its_parent_but_each_keeps_its_own_date(config: ConfigRepository) -> None:
    done = config.replay(announced(2, images("a")), announced(1, images("b")))
    times = config.forge("log", "-2", "--format=%at %ct", done.tip).split()
    later, earlier = (str(int(BEGUN.timestamp()) + 60 * minutes) for minutes in (2, 1))
    assert times == [earlier, later, later, later]


def test_a_promotion_copies_the_file_of_its_commit_whatever_is_newer(config: ConfigRepository) -> None:
    source = config.main
    newer = announced(1, images("web", build=5))
    done = config.replay(newer, promoted(2, source))
    assert config.read(done.tip, "images/internal.json") == images("web", build=0)
    assert "generated/internal/web.yaml" in config.files(done.tip)
    assert config.is_freshly_generated(done.tip)


def test_a_promotion_runs_the_repositorys_own_command_if_there_is_one(config: ConfigRepository) -> None:
    command = ("sh", "-c", "cp {image_file} {file}; echo {environment} > promoted")
    done = config.replay(promoted(1, config.main), commands=UpdateCommands(promote=command))
    assert config.files(done.tip) - config.files(config.main) == {"images/internal.json", "promoted"}
    assert config.read(done.tip, "promoted") == "internal\n"


@pytest.mark.parametrize(
    ("source", "file"), [("f" * 40, "images/staging.json"), ("", "images/none.json"), ("", "link")]
)
def test_a_promotion_of_what_the_default_branch_never_had_fails_alone(
    config: ConfigRepository, source: str, file: str
) -> None:
    (config.person.path / "link").symlink_to("images/staging.json")
    config.commit({})
    done = config.replay(promoted(1, source or config.main, source_file=file), announced(2, images("api")))
    assert done.states == ["failed", "committed"]
    assert "The default branch has no file" in done.replayed.outcomes[0].reason


@pytest.mark.parametrize("link", ["images/staging.json", "images"])
def test_an_image_file_that_leads_out_of_the_work_tree_is_refused(config: ConfigRepository, link: str) -> None:
    outside = config.directory / "outside"
    outside.mkdir()
    config.person.git("rm", "--quiet", "-r", link)
    (config.person.path / link).parent.mkdir(exist_ok=True)
    (config.person.path / link).symlink_to(outside / "staging.json" if "/" in link else outside)
    source = config.main
    config.commit({})
    done = config.replay(announced(1, images("api")), promoted(2, source, environment="staging"))
    assert done.states == ["failed", "failed"]
    assert "is outside of the repository" in done.replayed.outcomes[0].reason
    assert not list(outside.iterdir())


@pytest.mark.parametrize("file", ["../staging.json", "/etc/staging.json", ".git/config"])
def test_a_path_out_of_the_work_tree_is_refused(config: ConfigRepository, file: str) -> None:
    done = config.replay(announced(1, images("api"), file=file))
    assert done.states == ["failed"]


@pytest.mark.parametrize(
    "change",
    ["echo 'access_control: {}' > tidegate.yaml", "rm tidegate.yaml", "mv tidegate.yaml t; mkdir tidegate.yaml"],
)
def test_a_command_that_changes_the_file_that_grants_rights_fails_its_entry(
    config: ConfigRepository, change: str
) -> None:
    config.commit({"tidegate.yaml": "roots: []\n"})
    commands = UpdateCommands(introduce=("sh", "-c", f"cp {{image_file}} images/staging.json; {change}"))
    assert config.replay(announced(1, images("api")), commands=commands).states == ["failed"]


def test_submodules_are_left_alone(config: ConfigRepository) -> None:
    config.person.git("update-index", "--add", "--cacheinfo", f"160000,{config.main},vendor/charts")
    config.person.git("commit", "--quiet", "-m", "x")
    config.person.git("push", "--quiet", config.url, "HEAD:refs/heads/main")
    done = config.replay(announced(1, images("api")))
    assert done.states == ["committed"]
    assert config.forge("ls-tree", done.tip, "vendor/charts") == config.forge("ls-tree", "main", "vendor/charts")


@pytest.mark.large
def test_each_of_many_entries_takes_as_many_git_processes_as_any_other(config: ConfigRepository) -> None:
    """(55) ``make bench`` replays 200."""
    commands = UpdateCommands(introduce=("cp", "{image_file}", "images/staging.json"))
    counts = {count: config.replay(*entries(count), commands=commands) for count in (1, 2, 30)}
    one, two, all_ = (counts[count].git_processes for count in (1, 2, 30))
    assert all_ - two == 28 * (two - one)
    assert counts[30].states == ["committed"] * 30
    assert len(config.ids(counts[30].tip)) == 30
