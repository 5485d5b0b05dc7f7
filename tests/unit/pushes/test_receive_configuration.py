"""What a commit that brings a configuration, or a directory that no root may have, shows of it."""

from __future__ import annotations

import pytest

from tests.builders import sha
from tests.fakes.forge import MemoryForge
from tests.unit.discovery.trees import BASE
from tests.unit.pushes.push_scenario import AFTER, CHANGED, ROOTS, Scenario
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.vcs.rules.check_run import Conclusion


@pytest.fixture
def scenario():
    return Scenario()


class FailingChecks(MemoryForge):
    """A forge that shows no check runs."""

    def __init__(self, failure):
        super().__init__()
        self.failure = failure

    def create_check_run(self, repository, check_run):
        raise self.failure


def test_an_invalid_file_becomes_a_failed_check_run_that_says_where_and_what_is_allowed(scenario):
    scenario.new = {**CHANGED, "tidegate.yaml": "version: 1\n'[x](http://evil) @all': []\n"}
    scenario.receive()
    scenario.receive("delivery-2")
    (check_run,) = scenario.forge.check_runs.values()
    assert (check_run.name, check_run.sha, check_run.status) == ("tidegate/config", AFTER, "completed")
    assert check_run.conclusion is Conclusion.FAILURE
    assert "`tidegate.yaml`, line 2, column 1" in check_run.summary
    assert "engine, when" in check_run.summary
    assert "[x](http" not in check_run.summary
    assert "@all" not in check_run.summary
    assert scenario.names == []


VALID = "version: 1\nroots:\n  - dir: live/app\n  - dir: live/db\n"


def test_a_new_configuration_that_is_in_order_is_shown_on_its_commit(scenario):
    scenario.new = {**CHANGED, "tidegate.yaml": VALID}
    scenario.receive()
    (check_run,) = scenario.forge.check_runs.values()
    assert (check_run.name, check_run.conclusion) == ("tidegate/config", Conclusion.SUCCESS)
    assert check_run.title == "Valid: 2 deployments"
    assert "- `live/db`" in check_run.summary


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("version: 1\n", "Valid: 2 deployments"),
        ("version: 1\nroots:\n  - dir: live/app\n", "Valid: 1 deployment"),
        ("stacks: {names: {dev: {tag_query: 'dir:live/app'}}}\n", "Valid: 2 deployments in 2 stacks"),
        ("version: 1\nroots: []\n", "Valid; nothing to deploy"),
    ],
)
def test_the_title_counts_what_a_configuration_deploys(scenario, content, title):
    scenario.new = {**CHANGED, "tidegate.yaml": content}
    scenario.receive()
    assert [check_run.title for check_run in scenario.forge.check_runs.values()] == [title]


def test_all_mistakes_of_a_configuration_are_shown_also_at_their_lines(scenario):
    scenario.new = {**CHANGED, "tidegate.yaml": "version: 1\nengine: pulumi\nrots: []\n"}
    scenario.receive()
    (check_run,) = scenario.forge.check_runs.values()
    assert check_run.title == "tidegate.yaml is invalid (2 mistakes, the first on line 2)"
    assert "line 2, column 9" in check_run.summary
    assert "line 3, column 1" in check_run.summary
    assert [(note.path, note.line) for note in check_run.annotations] == [("tidegate.yaml", 2), ("tidegate.yaml", 3)]
    assert "Did you mean 'roots'?" in check_run.annotations[1].message


def test_of_very_many_mistakes_the_first_are_shown_and_the_rest_is_counted(scenario):
    scenario.new = {**CHANGED, "tidegate.yaml": "".join(f"wrong{number}: 1\n" for number in range(90))}
    scenario.receive()
    (check_run,) = scenario.forge.check_runs.values()
    assert "and 60 more" in check_run.summary
    assert len(check_run.annotations) == 30


def test_a_declared_root_without_a_module_is_told_on_the_commit(scenario):
    scenario.new = {**CHANGED, "tidegate.yaml": f"{VALID}  - dir: live/alias\n"}
    scenario.receive()
    (check_run,) = scenario.forge.check_runs.values()
    assert check_run.conclusion is Conclusion.NEUTRAL
    assert "- `live/app`" in check_run.summary
    assert "alias" in check_run.summary.partition("Besides:")[2]


def test_a_configuration_that_stays_as_it_is_or_goes_is_not_shown(scenario):
    scenario.old, scenario.new = {**BASE, "tidegate.yaml": VALID}, {**CHANGED, "tidegate.yaml": VALID}
    scenario.receive()
    scenario.new = CHANGED
    scenario.receive("delivery-2")
    assert scenario.forge.check_runs == {}


def test_a_corrected_configuration_shows_that_it_is_in_order(scenario):
    scenario.old, scenario.new = {**BASE, "tidegate.yaml": "rots: []"}, {**BASE, "tidegate.yaml": VALID}
    scenario.receive()
    (check_run,) = scenario.forge.check_runs.values()
    assert check_run.conclusion is Conclusion.SUCCESS
    assert scenario.names == ["live/app", "live/db"]


def test_a_hostile_directory_becomes_a_failed_check_run_and_the_other_roots_are_deployed(scenario):
    scenario.new = {**CHANGED, "$(x)\n**@all**/main.tf": "", "🚀/main.tf": "", "\udcff/main.tf": ""}
    outcome = scenario.receive()
    assert scenario.names == ["live/app", "live/db"]
    (check_run,) = scenario.forge.check_runs.values()
    assert check_run.conclusion is Conclusion.FAILURE
    assert check_run.title == "Not deployed: 3"
    assert "**@all**" not in check_run.summary
    assert check_run.summary.encode()
    assert outcome.encode()


def test_a_hundred_hostile_directories_fit_into_one_check_run(scenario):
    scenario.new = {**BASE, **{f"{'$(x)' * 60}{number}/main.tf": "" for number in range(100)}}
    scenario.receive()
    (check_run,) = scenario.forge.check_runs.values()
    assert len(check_run.summary) < 65_535
    assert "50 more" in check_run.summary


def test_roots_are_enqueued_even_if_the_forge_fails_to_show_the_check_run_and_that_is_tried_again():
    scenario = Scenario(new={**CHANGED, "$(x)/main.tf": ""}, forge=FailingChecks(ForgeUnavailable("500")))
    with pytest.raises(ForgeUnavailable):
        scenario.receive()
    assert scenario.names == ["live/app", "live/db"]
    assert "retries the event" in scenario.deliveries.outcomes["delivery-1"]


def test_a_check_run_that_the_forge_refuses_is_told_in_the_outcome():
    scenario = Scenario(new={**CHANGED, "$(x)/main.tf": ""}, forge=FailingChecks(ForgeRefused(403, "no permission")))
    assert "no permission" in scenario.receive()


NEVER = "plan_review: never\n"
STEP = "hooks: {apply: {pre: [{type: run, cmd: [./login]}]}}\n"


def test_a_push_that_changes_what_runs_or_grants_something_says_so_to_its_deployments(scenario):
    scenario.old, scenario.new = {**BASE, "tidegate.yaml": NEVER}, {**CHANGED, "tidegate.yaml": NEVER + STEP}
    scenario.receive()
    assert {each.commits.rule_changes for each in scenario.enqueued} == {("hooks",)}


def test_a_push_after_a_file_that_could_not_be_used_changes_all_of_it(scenario):
    scenario.old, scenario.new = {**BASE, "tidegate.yaml": "rots: []"}, {**CHANGED, "tidegate.yaml": NEVER}
    scenario.receive()
    assert {each.commits.rule_changes for each in scenario.enqueued} == {("tidegate.yaml",)}


def test_a_push_that_leaves_the_rules_alone_says_nothing(scenario):
    scenario.old, scenario.new = (
        {**BASE, "tidegate.yaml": NEVER},
        {**CHANGED, "tidegate.yaml": NEVER + "engine: tofu\n"},
    )
    scenario.receive()
    assert {each.commits.rule_changes for each in scenario.enqueued} == {()}


@pytest.mark.parametrize(("before", "changes"), [("0" * 40, ()), (sha(7), ("tidegate.yaml",))], ids=["first", "forced"])
def test_rules_that_nobody_knows_are_other_ones_but_a_first_push_has_none_before(scenario, before, changes):
    scenario.old_is_known = False
    scenario.new = {**CHANGED, "tidegate.yaml": NEVER}
    scenario.receive(before=before, forced=before.strip("0") != "")
    assert {each.commits.rule_changes for each in scenario.enqueued} == {changes}


def test_what_of_a_new_configuration_fits_nothing_is_told_on_its_commit(scenario):
    scenario.new = {
        **CHANGED,
        "tidegate.yaml": VALID + "freeze: [{tag_query: prodd, cron: '0 16 * * FRI', duration: 64h}]\n",
    }
    scenario.receive()
    (check_run,) = scenario.forge.check_runs.values()
    assert (check_run.name, check_run.conclusion) == ("tidegate/config", Conclusion.NEUTRAL)
    assert "this freeze has no effect" in check_run.summary


@pytest.mark.parametrize(
    ("more", "touched"),
    [("# only a comment\n", ("live/app",)), ("freeze: [{cron: '0 16 * * FRI', duration: 64h}]\n", ROOTS)],
)
def test_a_file_that_decides_nothing_else_makes_only_the_roots_that_changed_out_of_date(scenario, touched, more):
    scenario.old = {**scenario.old, "tidegate.yaml": "version: 1\n"}
    scenario.new = {**scenario.old, "live/app/main.tf": "# new", "tidegate.yaml": f"version: 1\n{more}"}
    scenario.open_pull_request()
    scenario.receive()
    assert scenario.pull_request.overtaken == touched
