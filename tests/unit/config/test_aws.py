"""Accounts of AWS: what roots, stacks and the file say of roles and regions, and what is refused where."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.builders import REPOSITORY
from tests.configuration import load, mistakes
from tests.resolving import only, refusal, resolve
from tidegate.config.configured import how_changed
from tidegate.config.loader import load_configuration
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import rule_changes
from tidegate.config.trust import proposed, trusted
from tidegate.deploys.rules.aws_target import AwsTarget
from tidegate.roots.rules.root import Root

ONE, TWO = "111111111111", "222222222222"
APP, NEW = Root("app", "app"), Root("new", "new")


def target(account: str = ONE, plan: str = "plan", apply: str = "deploy", region: str = "") -> AwsTarget:
    role = f"arn:aws:iam::{account}:role/"
    return AwsTarget(f"{role}{plan}", f"{role}{apply}", region)


def file(aws: str = "", root: str = "", stack: str = "", group: str = "") -> str:
    return f"""
{aws}
dirs: {{app: {{{root}}}}}
stacks: {{names: {{live: {{tag_query: '', {stack}}}, all: {{stacks: [live], {group}}}}}}}
"""


class TestWhatHolds:
    def test_where_nobody_says_it_there_is_no_account(self):
        one = only(file())
        assert one.run.aws is None
        assert one.roles == ()
        assert "aws" not in one.sources

    @pytest.mark.parametrize("where", ["aws", "root", "stack", "group"])
    def test_it_may_be_said_of_a_root_a_stack_a_stack_group_and_the_file(self, where):
        text = f"aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy, region: eu-west-1}}"
        one = only(file(**{where: text}))
        assert one.run.aws == target(region="eu-west-1")
        assert one.roles == (target().plan_role, target().apply_role)
        assert file(**{where: text}).splitlines()[one.sources["aws"] - 1].count("aws:") == 1

    def test_each_part_is_taken_from_the_nearest_that_says_it(self):
        one = only(
            file(
                "aws: {plan_role: plan, apply_role: deploy, region: eu-west-1}",
                root="aws: {region: eu-central-1}",
                stack=f"aws: {{account: '{TWO}'}}",
                group=f"aws: {{account: '{ONE}', apply_role: other}}",
            )
        )
        assert one.run.aws == target(TWO, apply="other", region="eu-central-1")

    def test_workspaces_say_it_after_their_directory(self):
        text = f"""
            dirs:
              app:
                aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy}}
                workspaces: {{a: , b: {{aws: {{account: '{TWO}'}}}}}}
        """
        assert [each.run.aws for each in resolve(text).roots] == [target(), target(TWO)]

    def test_it_may_be_said_of_all_directories_that_fit(self):
        text = f"dirs: {{'live/*': {{aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy}}}}}}"
        assert only(text, Root("live/app", "live/app")).run.aws == target()

    def test_a_list_of_roots_says_it_as_well(self):
        text = f"roots: [{{dir: app, aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy}}}}]"
        assert only(text).run.aws == target()

    def test_an_account_keeps_the_zero_that_it_begins_with(self):
        one = only("dirs: {app: {aws: {account: 012345678901, plan_role: plan, apply_role: deploy}}}")
        assert one.run.aws == target("012345678901")

    @pytest.mark.parametrize("text", ["aws:", "aws: {}"])
    def test_an_empty_section_says_nothing(self, text):
        assert only(file(text)).run.aws is None

    def test_a_region_may_be_said_alone(self):
        assert only(file("aws: {region: eu-west-1}")).run.aws == AwsTarget(region="eu-west-1")


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("said", "column", "about"),
        [
            ("account: 1111", 9, "12 digits"),
            ("account: production", 9, "12 digits"),
            ("plan_role: 'a role'", 9, "arn:aws:iam"),
            ("apply_role: arn:aws:iam::1:role/x", 9, "arn:aws:iam"),
            ("region: eu-wset-1", 9, "eu-west-1"),
            ("role: plan", 3, "plan_role"),
        ],
    )
    def test_values_that_are_none_are_refused_where_they_stand(self, said, column, about):
        (mistake,) = mistakes(f"aws:\n  {said}\n")
        assert mistake.line == 2
        assert about in f"{mistake.problem} {mistake.allowed}"

    def test_a_role_of_another_account_is_refused_with_the_line_and_only_for_its_roots(self):
        text = f"""
            dirs:
              app: {{aws: {{account: '{TWO}', plan_role: '{target().plan_role}', apply_role: deploy}}}}
              other: {{}}
        """
        found = resolve(text)
        assert [each.root.name for each in found.roots] == ["other"]
        assert f"in the account {ONE}" in found.refused["app"]
        assert found.refused["app"].startswith("tidegate.yaml:3:")

    def test_an_account_without_roles_is_refused(self):
        assert "plan_role" in refusal(file(f"aws: {{account: '{ONE}'}}"))

    def test_stack_groups_beside_each_other_may_not_say_different_accounts(self):
        text = """
            dirs: {app: {}}
            stacks:
              names:
                live: {tag_query: ''}
                one: {stacks: [live], aws: {region: eu-west-1}}
                two: {stacks: [live], aws: {region: %s}}
        """
        assert "set accounts" in refusal(dedent(text % "eu-central-1"))
        assert only(dedent(text % "eu-west-1")).run.aws == AwsTarget(region="eu-west-1")


def said_by(aws: str = "", roots: str = "app: {}"):
    return load(f"{aws}\ndirs: {{{roots}}}\n")


GRANTED = said_by(f"aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy}}", "app: {}, 'live/*': {root: true}")
ELSEWHERE = said_by(f"aws: {{account: '{ONE}', plan_role: admin, apply_role: deploy}}")


class TestPullRequests:
    """What the default branch grants, and nothing that only a pull request says."""

    def planned(self, loaded, merged, root=APP):
        found = proposed(loaded, [APP], merged, [root]).configured
        return found.roots[0].run.aws if found.roots else found.refused[root.name]

    def test_a_root_is_planned_with_the_roles_that_the_default_branch_grants_it(self):
        assert self.planned(GRANTED, GRANTED) == target()

    @pytest.mark.parametrize("granting", [said_by(), GRANTED])
    def test_roles_that_only_the_merge_names_are_refused(self, granting):
        assert "default branch" in self.planned(granting, ELSEWHERE)

    @pytest.mark.parametrize(
        "merged",
        [
            f"dirs: {{app: {{aws: {{account: '{TWO}'}}}}}}",
            "dirs: {app: }\nstacks: {names: {s: {tag_query: '', aws: {plan_role: admin}}}}",
            f"roots: [{{dir: app, aws: {{account: '{TWO}', plan_role: plan, apply_role: deploy}}}}]",
        ],
    )
    def test_wherever_the_merge_names_them(self, merged):
        around = f"aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy}}\n"
        assert "default branch" in self.planned(GRANTED, load(f"{around}{merged}\n"))

    def test_roles_that_a_merge_takes_away_are_not_used(self):
        assert self.planned(GRANTED, said_by()) is None

    def test_a_merge_may_choose_another_region(self):
        roles = f"aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy, region: eu-west-1}}"
        assert self.planned(GRANTED, said_by(roles)) == target(region="eu-west-1")

    def test_a_new_root_has_the_roles_that_the_default_branch_gives_to_roots_like_it(self):
        assert self.planned(GRANTED, GRANTED, Root("live/new", "live/new")) == target()
        mine = said_by(roots=f"app: {{}}, new: {{aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy}}}}")
        assert "default branch" in self.planned(said_by(), mine, NEW)

    def test_a_deploy_of_its_head_by_hand_has_those_of_the_default_branch(self):
        (one,) = trusted(GRANTED, [APP], [APP]).configured.roots
        assert one.run.aws == target()


class TestChangesOfRules:
    """What waits for a review, whatever ``plan_review`` says."""

    def changes(self, before, after, *roots):
        return rule_changes((before, configure(before, [APP])), (after, configure(after, roots or [APP])), ())

    def test_other_roles_of_a_root_are_a_change_of_rules(self):
        assert self.changes(GRANTED, ELSEWHERE) == ("aws of app",)
        assert self.changes(said_by(), GRANTED) == ("aws of app",)
        assert self.changes(GRANTED, GRANTED) == ()

    def test_a_new_root_may_have_the_roles_of_others_and_no_new_ones(self):
        assert self.changes(GRANTED, GRANTED, APP, NEW) == ()
        own = said_by(
            f"aws: {{account: '{ONE}', plan_role: plan, apply_role: deploy}}",
            "app: {}, new: {aws: {apply_role: admin}}",
        )
        assert self.changes(GRANTED, own, APP, NEW) == ("aws of new",)

    def test_a_root_whose_account_changed_is_deployed_anew_and_told_so(self):
        ((before,), (after,)) = (configure(each, [APP]).roots for each in (said_by(), GRANTED))
        assert "account" in how_changed(before, after)


def test_the_organization_may_say_it_for_all():
    from tidegate.config.organization import read_organization  # Only here.

    organization = read_organization(f"forced: {{aws: {{account: '{ONE}', plan_role: p, apply_role: a}}}}\n".encode())
    raw = f"dirs: {{app: {{aws: {{account: '{TWO}', plan_role: mine, apply_role: deploy}}}}}}\n".encode()
    (one,) = configure(load_configuration(raw, REPOSITORY, organization), [APP]).roots
    assert one.run.aws == target(ONE, "p", "a")
