"""Pull requests that change tidegate.yaml are planned as their merge would have it, and grant themselves nothing."""

from __future__ import annotations

import pytest

from tests.builders import sha
from tests.unit.pull_requests.pull_request_scenario import (
    FILES,
    FORK_POINT,
    HEAD,
    MAIN,
    SECURITY,
    PullRequestScenario,
    names,
    opened,
)
from tests.unit.pull_requests.pull_request_scenario import changes as files_change
from tidegate.deploys.rules.speculative_plan import Checkout
from tidegate.deploys.rules.workflow import StepKind
from tidegate.roots.rules.root import EngineName

PROD = """
stacks:
  names:
    prod: {tag_query: "dir:live/app", variables: {size: small}}
"""


@pytest.fixture
def scenario():
    return PullRequestScenario()


def workflow(command):
    steps = f"{{type: run, cmd: [{command}]}}, {{type: init}}, {{type: plan}}"
    return f"workflows: [{{tag_query: '', plan: [{steps}]}}]\n"


def proposed(scenario, before, after, **files):
    """Let a pull request change tidegate.yaml, None for no file, and other files."""
    there = FILES if before is None else {**FILES, "tidegate.yaml": before}
    files_change(scenario, {"tidegate.yaml": after, **files}, there)
    return opened(scenario)


def layer(scenario, name):
    return next(each for each in scenario.found if each.root.name == name)


def size_of(found):
    return dict(found.run.variables).get("STACK_VAR_SIZE")


def test_the_value_of_a_stack_variable_is_planned_as_the_merge_would_have_it(scenario):
    proposed(scenario, PROD, PROD.replace("small", "large"))
    assert names(scenario) == ["live/app"]
    assert size_of(layer(scenario, "live/app")) == "large"


def test_a_root_that_is_moved_out_of_its_stack_is_planned_without_the_variables(scenario):
    proposed(scenario, PROD, PROD.replace("live/app", "live/none"))
    assert [(each.root.name, each.stack, size_of(each)) for each in scenario.found] == [("live/app", "default", None)]


def test_what_the_base_branch_changed_meanwhile_is_part_of_it(scenario):
    base, head = PROD.replace("stacks:", "engine: tofu\nstacks:"), PROD.replace("small", "large")
    scenario.trees = {
        FORK_POINT: {**FILES, "tidegate.yaml": PROD},
        MAIN: {**FILES, "tidegate.yaml": base, "live/late/main.tf": ""},
        HEAD: {**FILES, "tidegate.yaml": head},
    }
    scenario.merges["tidegate.yaml"] = base.replace("small", "large")
    opened(scenario)
    assert [(each.root.name, each.root.engine.name, size_of(each)) for each in scenario.found] == [
        ("live/app", EngineName.TOFU, "large")
    ]


def test_a_stack_that_the_merge_makes_has_its_roots_planned_in_it(scenario):
    added = PROD + '    extra: {tag_query: "dir:live/db", variables: {size: tiny}}\n'
    proposed(scenario, PROD, added)
    assert [(each.root.name, each.stack, size_of(each)) for each in scenario.found] == [("live/db", "extra", "tiny")]


def test_a_stack_that_the_merge_takes_away_has_its_roots_planned_without_it(scenario):
    proposed(scenario, PROD, "version: 1\n")
    assert [(each.root.name, each.stack) for each in scenario.found] == [("live/app", "default")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("roots: [{name: app, dir: live/app}]", "roots: [{name: web, dir: live/app}]", id="renamed"),
        pytest.param("roots: []", "roots: [{name: web, dir: live/app}]", id="added"),
    ],
)
def test_a_root_that_the_file_names_anew_is_planned(scenario, before, after):
    proposed(scenario, before, after)
    assert names(scenario) == ["web"]


@pytest.mark.parametrize(
    "file", ["roots: [{{name: app, dir: {}}}]", "dirs: {{'**': {{}}, {}: {{name: app}}}}"], ids=["roots", "dirs"]
)
def test_a_root_that_the_file_moves_to_another_directory_is_planned_there_and_held_against_policies(scenario, file):
    moved = {"live/app/main.tf": None, "live/new/main.tf": "# anything"}
    proposed(scenario, SECURITY + file.format("live/app"), SECURITY + file.format("live/new"), **moved)
    found = layer(scenario, "app")
    assert (found.root.dir, found.gone, found.is_extra) == ("live/new", False, False)
    assert [each.name for each in found.policy_sets] == ["security"]


@pytest.mark.parametrize("file", ["roots: [{name: app, dir: live/app}, {name: db, dir: live/db}]"])
def test_a_root_whose_directory_and_entry_are_deleted_is_gone_and_told(scenario, file):
    proposed(scenario, file, "roots: [{name: db, dir: live/db}]", **{"live/app/main.tf": None})
    assert [(each.root.name, each.gone) for each in scenario.found] == [("app", True)]


def test_a_root_that_the_file_takes_away_is_planned_if_its_code_changes_too_and_told(scenario):
    two = "roots: [{name: app, dir: live/app}, {name: db, dir: live/db}]"
    proposed(scenario, two, "roots: [{name: app, dir: live/app}]", **{"live/db/main.tf": "# new"})
    assert names(scenario) == ["db"]
    assert "db" in scenario.record.notes


@pytest.mark.parametrize(
    "engine", ["engine: tofu", "engine: {name: terraform, version: 1.5.7}"], ids=["engine", "version"]
)
def test_another_engine_plans_all_roots_with_it(scenario, engine):
    proposed(scenario, "version: 1\n", engine)
    assert names(scenario) == ["live/app", "live/db"]
    wanted = EngineName.TOFU if "tofu" in engine else EngineName.TERRAFORM
    assert {each.root.engine.name for each in scenario.found} == {wanted}


def test_a_changed_workflow_plans_its_roots_with_the_steps_of_the_default_branch(scenario):
    proposed(scenario, workflow("./check"), workflow("./steal"))
    assert names(scenario) == ["live/app", "live/db"]
    run = [step.command for each in scenario.found for step in each.run.plan if step.kind is StepKind.RUN]
    assert run == [("./check",), ("./check",)]
    assert scenario.record.rule_changes.changes == ("workflows",)


def test_steps_of_a_first_file_run_in_no_plan(scenario):
    proposed(scenario, None, workflow("./steal"))
    assert names(scenario) == ["live/app", "live/db"]
    assert all(step.kind is not StepKind.RUN for each in scenario.found for step in each.run.plan)


def test_a_first_file_shows_all_roots(scenario):
    proposed(scenario, None, "version: 1\n")
    assert names(scenario) == ["live/app", "live/db"]
    assert all(each.is_extra for each in scenario.found)


def test_a_first_file_of_very_many_roots_shows_so_many_and_says_so(scenario):
    many = {f"live/r{number:03}/main.tf": "" for number in range(402)}
    files_change(scenario, {"tidegate.yaml": "version: 1\n"}, many)
    opened(scenario)
    assert len(scenario.found) == 400
    assert "2 more" in scenario.record.notes
    assert scenario.record.notice == ""


def test_a_file_that_is_deleted_is_planned_as_without_one(scenario):
    proposed(scenario, PROD, None)
    assert [(each.root.name, each.stack) for each in scenario.found] == [("live/app", "default")]


LOOSE = "access_control: {policies: [{tag_query: '', apply: ['*']}]}\n"
STRICT = "access_control: {policies: [{tag_query: '', apply: ['team:sre']}]}\n"


TAGGED = (
    "freeze: [{tag_query: prod, from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z}]\n"
    "roots: [{name: app, dir: live/app, tags: [prod]}]\n"
)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (STRICT, LOOSE, "access_control"),
        (STRICT, None, "access_control"),
        ("apply_requirements: {approved: {any_of_count: 2}}\n", "version: 1\n", "apply_requirements"),
        ("version: 1\n", "plan_review: never\n", "plan_review"),
        ("version: 1\n", "roots: [{name: live/app, dir: live/app, plan_review: never}]\n", "plan_review of live/app"),
        ("policy_sets: {base: {paths: [policies]}}\n", "version: 1\n", "policy_sets"),
        ("version: 1\n", "pull_requests: {allowed_providers: ['*/*']}\n", "pull_requests"),
        ("version: 1\n", "hooks: {apply: {pre: [{type: run, cmd: [./x]}]}}\n", "hooks"),
        ("version: 1\n", "tags: {dest_branch: {main: main}}\n", "tags"),
        ("version: 1\n", "apply: in_pull_request\n", "apply"),
        (TAGGED, TAGGED.replace("tags: [prod]", "tags: [dev]"), "freeze of app"),
        (
            "stacks: {names: {a: {tag_query: 'dir:a', rules: {apply_after: [b]}}, b: {tag_query: 'dir:b'}}}\n",
            "stacks: {names: {a: {tag_query: 'dir:a'}, b: {tag_query: 'dir:b'}}}\n",
            "stacks",
        ),
        (
            PROD,
            PROD.replace("variables: {size: small}", "variables: {size: small}, rules: {auto_apply: true}"),
            "stacks",
        ),
    ],
)
def test_what_runs_programs_or_grants_something_is_told(scenario, before, after, told):
    proposed(scenario, before, after)
    assert told in scenario.record.rule_changes.changes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (STRICT, f"# a comment\n\n{STRICT}engine: tofu\n"),
        (PROD, PROD.replace("small", "large")),
        ("version: 1\n", "roots: [{name: app, dir: live/app}]"),
        (None, "version: 1\n"),
    ],
    ids=["lines and an engine", "a variable", "a root", "a first file"],
)
def test_what_grants_nothing_is_not_told(scenario, before, after):
    proposed(scenario, before, after)
    assert scenario.record.rule_changes.changes == ()


def test_a_root_that_leaves_its_stack_keeps_the_rules_of_that_stack_and_it_is_told(scenario):
    rules = (
        "access_control: {policies: [{tag_query: 'stack_name:prod', apply: ['team:sre']}, {tag_query: ''}]}\n"
        "policy_sets: {strict: {paths: [policies], tag_query: 'stack_name:prod'}}\n"
    )
    proposed(scenario, PROD + rules, PROD.replace("live/app", "live/none") + rules)
    assert scenario.record.rule_changes.changes == ("access_control of live/app", "policy_sets of live/app")
    assert layer(scenario, "live/app").access.apply == ("team:sre",)
    assert [each.name for each in layer(scenario, "live/app").policy_sets] == ["strict"]


@pytest.mark.parametrize("value", ["--option", "a b", "$(x)", "up/there"])
def test_a_value_that_only_the_pull_request_has_decides_no_program(scenario, value):
    step = workflow("./check, '${STACK_VAR_SIZE}'")
    proposed(scenario, PROD + step, PROD.replace("small", f"'{value}'") + step)
    assert scenario.found == []
    assert "STACK_VAR_SIZE" in scenario.record.notice


def test_a_plain_value_and_one_behind_an_option_reach_steps(scenario):
    steps = (
        "workflows: [{tag_query: '', plan: [{type: run, cmd: [./check, '${STACK_VAR_SIZE}']}, "
        "{type: init}, {type: plan, extra_args: ['-var=a=${STACK_VAR_WORDS}']}]}]\n"
    )
    before = PROD.replace("size: small", "size: small, words: one")
    proposed(scenario, before + steps, before.replace("size: small, words: one", "size: large, words: 'a b'") + steps)
    run, _, plan = layer(scenario, "live/app").run.plan
    assert run.command == ("./check", "large")
    assert plan.extra_args == ("-var=a=a b",)


def test_what_refuses_roots_of_the_merge_is_red(scenario):
    both = PROD + '    more: {tag_query: "dir:live/app"}\n'
    proposed(scenario, PROD, both)
    assert "several stacks" in scenario.record.notice


def test_a_file_that_conflicts_with_the_base_branchs_is_red(scenario):
    scenario.trees = {
        FORK_POINT: {**FILES, "tidegate.yaml": PROD},
        MAIN: {**FILES, "tidegate.yaml": PROD.replace("small", "tiny")},
        HEAD: {**FILES, "tidegate.yaml": PROD.replace("small", "large")},
    }
    assert opened(scenario) == ("comment", ())
    assert "conflicts" in scenario.record.notice


def test_other_conflicts_are_told_by_the_plans(scenario):
    scenario.trees = {
        FORK_POINT: FILES,
        MAIN: {**FILES, "live/app/main.tf": "# theirs"},
        HEAD: {**FILES, "live/app/main.tf": "# ours"},
    }
    opened(scenario)
    assert names(scenario) == ["live/app"]


def test_rules_of_plans_come_from_the_default_branch(scenario):
    proposed(scenario, "version: 1\n", "engine: tofu\npull_requests: {checkout: branch, allowed_modules: ['*']}\n")
    assert {(each.checkout, each.allowed_modules) for each in scenario.found} == {(Checkout.MERGE, None)}


@pytest.mark.parametrize("path", ["policies/deny.rego", "scripts/check.sh"])
def test_files_that_the_configuration_names_count_as_rules(scenario, path):
    file = "policy_sets: {base: {paths: [policies]}}\n" + workflow("sh, ../../scripts/check.sh")
    proposed(scenario, file, file, **{path: "# new"})
    assert scenario.record.rule_changes.changes == (path,)


def test_a_head_that_is_merged_already_changes_nothing(scenario):
    scenario.trees[HEAD] = FILES
    scenario.trees[MAIN] = {**FILES, "live/db/main.tf": "# theirs"}
    scenario.trees[FORK_POINT] = FILES
    assert opened(scenario) == ("nothing", ())


def test_a_commit_of_the_base_branch_that_is_gone_stops_the_plan(scenario):
    scenario.receive()
    del scenario.trees[MAIN]
    scenario.trees[sha(9)] = FILES
    scenario.forge.branches["main"] = sha(9)
    assert scenario.discover()[0] == "stop"
