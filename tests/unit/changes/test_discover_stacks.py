"""Which roots a commit changes and pulls in, in their stacks, as the file says."""

from __future__ import annotations

from functools import partial

import pytest

from tests.unit.discovery.stacks_scenario import (
    ENVIRONMENTS,
    PLACES,
    REPOSITORY,
    changing,
    discover,
    members,
    with_file,
)
from tests.unit.discovery.trees import Trees
from tidegate.changes.rules.waits import Waits
from tidegate.config.resolution import configure
from tidegate.discovery.discover_roots import Discovery, Reading, all_roots
from tidegate.roots.rules.root import Root

CYCLE = """
dirs:
  network/prod: {}
  app/dev: {when_modified: {depends_on: 'name:app/prod'}}
  app/prod: {when_modified: {depends_on: 'name:app/dev'}}
  network/dev: {when_modified: {depends_on: 'name:app/dev'}}
"""


class TestChangeSets:
    def test_a_changed_root_pulls_in_what_depends_on_it_in_its_stack_only(self):
        found = changing(ENVIRONMENTS)
        assert members(found) == ["network/dev@dev", "app/dev@dev"]
        assert [each.member.waits.roots for each in found.members] == [(), ("network/dev",)]

    def test_stacks_of_one_change_wait_for_each_other_as_the_file_says(self):
        new = with_file(ENVIRONMENTS, network_dev="# new", network_prod="# new")
        found = discover(with_file(ENVIRONMENTS), new)
        assert members(found) == ["network/dev@dev", "app/dev@dev", "network/prod@prod", "app/prod@prod"]
        assert [each.member.waits.apply_after for each in found.members] == [(), (), ("dev",), ("dev",)]
        assert [each.member.layer for each in found.members] == [1, 2, 1, 2]

    def test_what_holds_for_a_root_comes_with_it(self):
        found = changing(ENVIRONMENTS)
        assert ("STACK_VAR_REGION", "eu") in found.members[0].configured.run.variables

    def test_a_root_in_two_stacks_is_a_member_of_both(self):
        text = ENVIRONMENTS.replace("stacks:\n", "stacks:\n  allow_workspace_in_multiple_stacks: true\n")
        text = text.replace("tag_query: prod", "tag_query: prod or network")
        found = changing(text)
        assert "network/dev@dev" in members(found)
        assert "network/dev@prod" in members(found)
        assert [each.configured.shared for each in found.members if each.member.root.name == "network/dev"] == [
            True
        ] * 2
        assert [root.name for root in found.roots] == ["app/dev", "app/prod", "network/dev"]

    def test_roots_that_wait_for_each_other_are_refused(self):
        found = discover(with_file(CYCLE), with_file(CYCLE, app_dev="# new", network_prod="# new"))
        assert members(found) == ["network/prod@default"]
        (refused,) = found.refused
        assert refused.startswith("app/dev: It is in a dependency cycle: ")
        assert "app/dev → app/prod → app/dev (tidegate.yaml:4, 5)" in refused

    def test_what_depends_on_such_a_root_is_refused_as_well(self):
        found = discover(with_file(CYCLE), with_file(CYCLE, network_dev="# new"))
        assert members(found) == []
        assert "depends on roots in a dependency cycle: app/dev → app/prod → app/dev" in found.refused[0]

    def test_what_a_cycle_held_back_is_deployed_by_the_commit_that_corrects_the_file(self):
        corrected = CYCLE.replace("depends_on: 'name:app/dev'", "depends_on: 'name:network/prod'")
        found = discover(with_file(CYCLE), with_file(corrected))
        assert members(found) == ["app/prod@default", "app/dev@default", "network/dev@default"]
        assert found.refused == ()


#: A root of dev whose workflow asks for a variable that its stack does not have; prod applies by itself.
BROKEN = """
stacks:
  names:
    dev: {tag_query: 'dir:*/dev', variables: {regoin: eu}}
    prod: {tag_query: 'dir:*/prod', variables: {region: eu}, rules: {apply_after: [dev], auto_apply: true}}
workflows:
  - {tag_query: 'name:network/dev or dir:*/prod', environment: '${STACK_VAR_REGION}'}
"""
NETWORK = ("network/dev", "dev")


def waits(discovery: Discovery) -> dict[str, object]:
    return {each.member.root.name: each.member.waits for each in discovery.members}


class TestRootsThatAreRefused:
    """What a commit changes and cannot deploy is not forgotten by those that go after it."""

    def test_a_later_stack_waits_for_a_refused_root_of_the_commit(self):
        found = discover(with_file(BROKEN), with_file(BROKEN, network_dev="# new", network_prod="# new"))
        assert members(found) == ["network/prod@prod"]
        assert waits(found)["network/prod"] == Waits(refused=(NETWORK,))
        assert waits(found)["network/prod"].before_plan

    def test_so_it_does_beside_others_of_that_stack(self):
        found = discover(with_file(BROKEN), with_file(BROKEN, network_dev="# n", app_dev="# n", network_prod="# n"))
        assert waits(found)["network/prod"] == Waits(apply_after=("dev",), refused=(NETWORK,))
        assert waits(found)["app/dev"] == Waits()

    def test_a_commit_that_leaves_the_refused_root_alone_does_not_wait(self):
        found = discover(with_file(BROKEN), with_file(BROKEN, network_prod="# new"))
        assert waits(found) == {"network/prod": Waits()}

    @pytest.mark.parametrize("by_hand", [True, False])
    def test_a_file_that_refuses_a_root_anew_holds_others_back(self, by_hand):
        before = BROKEN.replace("regoin", "region")
        changed = BROKEN.replace("region: eu", "region: us")
        found = discover(with_file(before), with_file(changed), by_hand=by_hand)
        assert waits(found)["network/prod"].refused == (NETWORK,)

    def test_after_a_file_that_could_not_be_used_every_refusal_is_new(self):
        found = discover(with_file("stacks: 1"), with_file(BROKEN))
        assert waits(found)["network/prod"].refused == (NETWORK,)

    def test_a_file_that_refused_a_root_before_holds_nothing_back(self):
        found = discover(with_file(BROKEN), with_file(BROKEN.replace("region: eu", "region: us")))
        assert waits(found) == {"network/prod": Waits(), "app/prod": Waits()}

    def test_a_root_in_two_stacks_that_is_refused_for_it_holds_back_what_goes_after_either(self):
        text = BROKEN.replace("'dir:*/dev'", "'dir:*/dev or name:app/prod'").replace("regoin", "region")
        found = discover(with_file(text), with_file(text, app_prod="# new", network_prod="# new"))
        assert waits(found) == {"network/prod": Waits(refused=(("app/prod", "dev"),))}

    def test_what_depends_on_a_refused_root_of_its_stack_waits_for_it(self):
        text = (
            BROKEN.replace("or dir:*/prod", "")
            + "dirs: {network/dev: {}, app/dev: {when_modified: {depends_on: 'name:network/dev'}}}\n"
        )
        found = discover(with_file(text), with_file(text, network_dev="# new", app_dev="# new"))
        assert waits(found) == {"app/dev": Waits(refused=(NETWORK,))}

    def test_a_root_that_cannot_be_one_because_of_its_name_holds_others_back(self):
        text = BROKEN.replace("'dir:*/dev'", "'dir:**/dev'").replace("regoin", "region")
        old = {**with_file(text), "odd name/dev/main.tf": ""}
        found = discover(old, {**old, "odd name/dev/main.tf": "# new", "network/prod/main.tf": "# new"})
        assert found.refused
        assert waits(found) == {"network/prod": Waits(refused=(("odd?name/dev", "dev"),))}

    def test_what_no_merge_deploys_is_not_waited_for_but_people_look(self):
        text = (
            BROKEN.replace("regoin", "region")
            + "dirs: {network/prod: {}, network/dev: {when_modified: {autoplan: false}}}\n"
        )
        new = with_file(text, network_dev="# new", network_prod="# new")
        assert waits(discover(with_file(text), new)) == {"network/prod": Waits(by_hand=(NETWORK,))}
        by_hand = discover(with_file(text), new, by_hand=True)
        assert waits(by_hand)["network/prod"] == Waits(apply_after=("dev",))


class TestWhatTheFileChanges:
    def test_another_variable_of_a_stack_configures_its_roots_anew(self):
        found = discover(with_file(ENVIRONMENTS), with_file(ENVIRONMENTS.replace("region: eu", "region: us")))
        assert members(found) == ["network/dev@dev", "app/dev@dev"]

    def test_another_engine_of_a_stack_configures_its_roots_anew(self):
        text = ENVIRONMENTS.replace("tag_query: prod\n", "tag_query: prod\n      engine: {name: tofu}\n")
        found = discover(with_file(ENVIRONMENTS), with_file(text))
        assert members(found) == ["network/prod@prod", "app/prod@prod"]

    def test_a_root_that_moves_to_another_stack_is_configured_anew(self):
        text = ENVIRONMENTS.replace("network/dev: {tags: [dev, network]}", "network/dev: {tags: [prod, network]}")
        assert "network/dev@prod" in members(discover(with_file(ENVIRONMENTS), with_file(text)))

    def test_other_rules_and_other_reviewers_deploy_nothing(self):
        text = ENVIRONMENTS.replace("[dev]\n", "[]\n") + "plan_review: manual\n"
        text += "access_control: {policies: [{tag_query: '', apply: ['team:sre']}]}\n"
        found = discover(with_file(ENVIRONMENTS), with_file(text))
        assert (members(found), found.configures) == ([], True)

    def test_tags_of_branches_do_not_make_a_root_new(self):
        configuring = partial(configure, branch="main", dest_branch="main")
        text = ENVIRONMENTS + "tags: {branch: {trunk: main}}\n"
        assert members(discover(with_file(text), with_file(text + "# more\n"), configuring=configuring)) == []


class TestGlobs:
    GLOB = "dirs:\n  'network/**': {tags: [network]}\n"

    def test_a_glob_declares_the_root_modules_that_fit_and_no_others(self):
        new = with_file(self.GLOB, network_dev="# new", app_dev="# new")
        found = discover(with_file(self.GLOB), new)
        assert members(found) == ["network/dev@default"]
        assert "network" in found.members[0].configured.tagged.tags

    def test_a_module_of_a_glob_that_others_use_is_no_root_and_touches_these(self):
        files = {"live/a/main.tf": 'module "x" {\n  source = "../lib"\n}\n', "live/lib/main.tf": ""}
        files["tidegate.yaml"] = "dirs: {'live/*': {}}\n"
        found = discover(files, {**files, "live/lib/main.tf": "# new"})
        assert [root.name for root in found.roots] == ["live/a"]

    def test_the_longest_glob_decides_about_workspaces(self):
        text = "dirs:\n  '**': {}\n  'network/**': {workspaces: {blue: {}, green: {}}}\n"
        found = discover(with_file(text), with_file(text, network_dev="# new", app_dev="# new"))
        assert found.roots == (
            Root("app/dev", "app/dev"),
            Root("network/dev/blue", "network/dev", "blue"),
            Root("network/dev/green", "network/dev", "green"),
        )

    def test_a_section_of_its_own_stands_in_place_of_a_glob(self):
        text = "dirs:\n  '**': {tags: [any]}\n  network/dev: {name: net, tags: [own]}\n"
        found = discover(with_file(text), with_file(text, network_dev="# new", app_dev="# new"))
        assert [root.name for root in found.roots] == ["app/dev", "net"]

    def test_a_pattern_of_a_glob_may_lead_out_of_the_directory(self):
        text = "dirs:\n  'network/*': {when_modified: ['*.tf', '../../shared/*.json']}\n"
        found = discover(with_file(text), {**with_file(text), "shared/zones.json": "{}"})
        assert members(found) == ["network/dev@default", "network/prod@default"]
        assert members(discover(with_file(text), with_file(text, app_dev="# new"))) == []

    def test_a_directory_of_a_glob_that_is_gone_is_told_and_others_are_not(self):
        old = with_file(self.GLOB)
        new = {path: text for path, text in old.items() if path not in {"network/dev/main.tf", "app/dev/main.tf"}}
        (note,) = discover(old, new).notes
        assert "'network/dev'" in note


class TestWhatIsNotDeployed:
    OVERLAP = """
dirs: {'**': {}}
stacks:
  names:
    a: {tag_query: 'dir:network/**'}
    b: {tag_query: 'dir:network/dev'}
"""

    def test_a_root_in_several_stacks_fails_the_commits_that_touch_it(self):
        found = changing(self.OVERLAP)
        assert members(found) == []
        assert found.refused[0].startswith("network/dev: ")
        assert "several stacks" in found.refused[0]

    def test_and_no_others(self):
        found = discover(with_file(self.OVERLAP), with_file(self.OVERLAP, app_dev="# new"))
        assert (members(found), found.refused) == (["app/dev@default"], ())

    def test_a_commit_of_the_file_is_told_of_all_of_them(self):
        found = discover(with_file(self.OVERLAP), with_file(self.OVERLAP + "# more\n"))
        assert len(found.refused) == 1

    def test_a_root_in_no_stack_is_left_out_and_told_when_it_is_touched(self):
        text = "dirs: {'**': {}}\nstacks:\n  names:\n    default: {tag_query: 'dir:app/**'}\n"
        found = changing(text)
        assert (members(found), found.refused) == ([], ())
        assert found.notes[0].startswith("network/dev: It is in no stack")
        assert discover(with_file(text), with_file(text, app_dev="# new")).notes == ()

    def test_no_merge_deploys_what_the_file_keeps_for_people(self):
        text = ENVIRONMENTS.replace(
            "network/dev: {tags: [dev, network]}",
            "network/dev: {tags: [dev, network], when_modified: {autoplan: false}}",
        )
        found = changing(text)
        assert members(found) == []
        assert "network/dev" in found.notes[0]
        assert "manually" in found.notes[0]
        assert members(changing(text, by_hand=True)) == ["network/dev@dev", "app/dev@dev"]

    def test_what_is_kept_for_people_is_not_pulled_in_by_a_merge(self):
        text = ENVIRONMENTS.replace("depends_on: network}", "depends_on: network, autoplan: false}")
        found = changing(text)
        assert (members(found), found.notes) == (["network/dev@dev"], ())


class TestNamedRoots:
    def all_roots(self, text: str):
        return all_roots(Trees({}, with_file(text)), Reading(REPOSITORY))

    def test_named_roots_pull_in_nothing_and_wait_for_each_other(self):
        named = self.all_roots(ENVIRONMENTS).named(["network/dev"])
        assert ["@".join(each.member.key) for each in named] == ["network/dev@dev"]
        both = self.all_roots(ENVIRONMENTS).named(["app/dev", "network/dev"])
        assert [each.member.waits.roots for each in both] == [(), ("network/dev",)]

    def test_it_is_told_why_a_named_root_is_in_no_stack(self):
        known = self.all_roots(TestWhatIsNotDeployed.OVERLAP)
        assert "several stacks" in known.problems(["network/dev", "app/dev"])[0]
        assert known.problems(["app/dev"]) == []
        assert known.names == tuple(sorted(PLACES))
