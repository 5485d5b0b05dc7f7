"""Runners of another size: what roots, stacks and the file say of them, and what is refused where."""

from __future__ import annotations

import pytest

from tests.configuration import load, mistakes
from tests.resolving import only, refusal
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import rule_changes
from tidegate.config.trust import proposed
from tidegate.deploys.rules.runner_size import RunnerNeeds
from tidegate.roots.rules.root import Root

APP = Root("app", "app")


def file(runner: str = "", root: str = "", stack: str = "", group: str = "") -> str:
    return f"""
{runner}
dirs: {{app: {{{root}}}}}
stacks: {{names: {{live: {{tag_query: '', {stack}}}, all: {{stacks: [live], {group}}}}}}}
"""


class TestWhatHolds:
    def test_where_nobody_says_it_nothing_is_asked_for(self):
        one = only(file())
        assert one.run.runner is None
        assert "runner" not in one.sources

    @pytest.mark.parametrize("where", ["runner", "root", "stack", "group"])
    def test_it_may_be_said_of_a_root_a_stack_a_stack_group_and_the_file(self, where):
        text = "runner: {cpu: 2, memory: 8, disk: 50, architecture: arm64, apply_timeout: 6h}"
        one = only(file(**{where: text}))
        assert one.run.runner == RunnerNeeds(2048, 8192, 50, "arm64", 21600)
        assert file(**{where: text}).splitlines()[one.sources["runner"] - 1].count("runner:") == 1

    def test_each_part_is_taken_from_the_nearest_that_says_it(self):
        one = only(
            file(
                "runner: {disk: 40, apply_timeout: 2h}",
                root="runner: {disk: 60}",
                stack="runner: {memory: 4}",
                group="runner: {cpu: 1, memory: 8}",
            )
        )
        assert one.run.runner == RunnerNeeds(1024, 4096, 60, "", 7200)

    def test_a_workspace_goes_before_its_directory(self):
        text = "dirs: {app: {runner: {cpu: 2, disk: 40}, workspaces: {prod: {runner: {cpu: 4}}}}}"
        loaded = load(text)
        (root,) = configure(loaded, [each.root for each in loaded.roots]).roots
        assert root.run.runner == RunnerNeeds(4096, disk=40)

    def test_a_section_without_anything_asks_for_nothing(self):
        assert only(file("runner: {}")).run.runner is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("section", "said"),
        [
            ("{cpu: 3}", "3 vCPU (cpu) is not a Fargate size"),
            ("{cpu: 2048}", "120"),
            ("{cpu: two}", "'two' is not valid here"),
            ("{memory: nan}", "'nan' is not valid here"),
            ("{memory: 0}", "0.25"),
            ("{cpu: 1, memory: 16}", "for 1 vCPU. Use one of 2, 3, 4, 5, …, 8 GB"),
            ("{disk: 10}", "21"),
            ("{disk: 30.5}", "'30.5' is not valid here"),
            ("{architecture: arm}", "arm64"),
            ("{apply_timeout: 13h}", "at most 12 hours"),
            ("{apply_timeout: 60}", "such as 90m or 6h"),
            ("{ram: 3}", "ram"),
        ],
    )
    def test_what_fargate_does_not_have_is_a_mistake_of_the_file(self, section, said):
        assert said in "\n".join(map(str, mistakes(f"runner: {section}")))

    def test_parts_that_do_not_fit_together_refuse_their_root_alone_with_the_line(self):
        text = file("runner: {cpu: 1}", root="runner: {memory: 16}")
        assert "16 GB (memory) is not a Fargate size for 1 vCPU" in refusal(text)

    def test_stacks_that_disagree_about_a_root_in_both_are_told(self):
        text = """
dirs: {app: {}}
stacks:
  names:
    live: {tag_query: ''}
    one: {stacks: [live], runner: {cpu: 1}}
    two: {stacks: [live], runner: {cpu: 2}}
"""
        assert "set runners" in refusal(text)


class TestOfWhichBranch:
    def test_another_runner_deploys_nothing_anew_and_is_no_change_of_rules(self):
        before, after = (load_of(file(root=f"runner: {{disk: {disk}}}")) for disk in (30, 60))
        (old,), (new,) = before[1].roots, after[1].roots
        assert old.how == new.how
        assert rule_changes(before, after, ()) == ()

    @pytest.mark.parametrize("where", ["runner", "root", "stack"])
    def test_a_pull_request_is_planned_with_the_runner_of_the_default_branch(self, where):
        main, merge = (load(file(**{where: f"runner: {{cpu: {cpu}}}"})) for cpu in (1, 4))
        (one,) = proposed(main, [APP], merge, [APP]).configured.roots
        assert one.run.runner == RunnerNeeds(1024)

    def test_a_pull_request_that_is_the_first_to_ask_gets_the_usual_one(self):
        (one,) = proposed(load(file()), [APP], load(file(root="runner: {cpu: 4}")), [APP]).configured.roots
        assert one.run.runner is None


def load_of(text: str):
    loaded = load(text)
    return loaded, configure(loaded, [APP])
