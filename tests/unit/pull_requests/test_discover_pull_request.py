"""Which roots a pull request affects, and what is to be done about them."""

from __future__ import annotations

import pytest

from tests.unit.pull_requests.pull_request_scenario import (
    FILES,
    FORK_POINT,
    HEAD,
    MAIN,
    NUMBER,
    SECURITY,
    PullRequestScenario,
    changes,
    names,
    opened,
)
from tidegate.deploys.rules.speculative_plan import Checkout, LayerState
from tidegate.ports import Change
from tidegate.pull_requests.rules.record import PullRequestState
from tidegate.vcs.rules.authors import Authors


@pytest.fixture
def scenario():
    return PullRequestScenario()


class TestWhatIsAffected:
    def test_a_root_whose_files_change_has_a_layer_that_waits_to_be_planned(self, scenario):
        what, ids = opened(scenario)
        (layer,) = scenario.found
        assert (what, ids) == ("plan", (layer.id,))
        assert (layer.root.name, layer.stack, layer.state) == ("live/app", "default", LayerState.WAITING)
        assert (layer.sha, layer.base_sha, layer.checkout) == (HEAD, MAIN, Checkout.MERGE)
        assert (layer.pull_request, layer.why) == (NUMBER, "This commit changes it.")
        assert scenario.record.state is PullRequestState.PLANNING
        assert scenario.record.layers == ids

    @pytest.mark.parametrize("is_one", [True, False])
    def test_a_layer_has_the_commit_that_both_branches_come_after_only_if_it_is_known_to_be_one(self, scenario, is_one):
        scenario.forge.changes[MAIN, HEAD] = Change(FORK_POINT, Authors(("author",)), forks_once=is_one)
        opened(scenario)
        assert [layer.fork_sha for layer in scenario.found] == [FORK_POINT if is_one else ""]

    @pytest.mark.parametrize(
        "text",
        [
            "when_modified: {file_patterns: ['*.never']}\n",
            "dirs: {live/app: {when_modified: ['*.never']}, live/db: {}}\n",
            "dirs: {live/db: {}}\n",
            "roots: []\n",
        ],
    )
    def test_no_file_of_the_pull_request_keeps_a_changed_root_from_being_planned(self, scenario, text):
        there = {**FILES, "tidegate.yaml": SECURITY}
        changes(scenario, {"live/app/main.tf": "#", "tidegate.yaml": text}, there)
        assert opened(scenario)[0] == "plan"
        assert names(scenario) == ["live/app"]
        (layer,) = scenario.found
        assert ([each.name for each in layer.policy_sets], layer.is_extra) == (["security"], True)
        assert "per the default branch's tidegate.yaml" in layer.why

    def test_a_root_that_only_gets_another_name_is_planned_once(self, scenario):
        changes(scenario, {"live/app/main.tf": "#", "tidegate.yaml": "roots: [{name: renamed, dir: live/app}]\n"})
        opened(scenario)
        assert names(scenario) == ["renamed"]

    def test_what_the_default_branch_keeps_for_people_is_not_planned_by_itself(self, scenario):
        text = "dirs:\n  live/app: {when_modified: {autoplan: false}}\n  live/db: {}\n"
        hiding = "dirs: {live/db: {}}\n"
        changes(scenario, {"live/app/main.tf": "#", "tidegate.yaml": hiding}, {**FILES, "tidegate.yaml": text})
        assert opened(scenario) == ("nothing", ())

    def test_a_renamed_file_affects_where_it_was_and_where_it_is(self, scenario):
        base = {**FILES, "live/app/vars.tf": "a"}
        changes(scenario, {"live/app/vars.tf": None, "live/db/vars.tf": "a"}, base)
        opened(scenario)
        assert names(scenario) == ["live/app", "live/db"]

    def test_directories_are_told_apart_by_their_segments(self, scenario):
        base = {**FILES, "live/application/main.tf": "", "mylive/app/main.tf": ""}
        changes(scenario, {"live/app/main.tf": "# new"}, base)
        opened(scenario)
        assert names(scenario) == ["live/app"]

    def test_a_module_affects_all_that_use_it_through_others(self, scenario):
        uses = 'module "{0}" {{\n  source = "{1}"\n}}\n'.format
        base = {
            **FILES,
            "live/app/main.tf": uses("a", "../../modules/a"),
            "modules/a/main.tf": uses("b", "../b"),
            "modules/b/main.tf": uses("c", "../c"),
            "modules/c/main.tf": "",
        }
        changes(scenario, {"modules/c/main.tf": "# new"}, base)
        opened(scenario)
        assert names(scenario) == ["live/app"]

    def test_what_depends_on_a_root_is_affected_in_its_place(self, scenario):
        base = {
            **FILES,
            "tidegate.yaml": "dirs:\n  live/app: {when_modified: {depends_on: 'dir:live/db'}}\n  live/db: {}\n",
        }
        changes(scenario, {"live/db/main.tf": "# new"}, base)
        _, ids = opened(scenario)
        db, app = (scenario.layers.get(each) for each in ids)
        assert [layer.root.name for layer in (db, app)] == ["live/db", "live/app"]
        assert (app.waits.roots, app.tier, app.tiers, db.tier) == (("live/db",), 2, 2, 1)

    def test_layers_are_counted_inside_each_stack(self, scenario):
        text = (
            "dirs:\n  live/app: {when_modified: {depends_on: 'dir:live/db'}}\n  live/db: {}\n  dns: {}\n"
            "stacks:\n  names:\n    dns: {tag_query: 'dir:dns'}\n    live: {tag_query: 'dir:live/**'}\n"
        )
        base = {**FILES, "tidegate.yaml": text, "dns/main.tf": ""}
        changes(scenario, {"live/db/main.tf": "# new", "dns/main.tf": "# new"}, base)
        opened(scenario)
        places = {layer.root.name: (layer.tier, layer.tiers) for layer in scenario.found}
        assert places == {"live/db": (1, 2), "live/app": (2, 2), "dns": (1, 1)}

    def test_configured_trigger_paths_affect_a_root(self, scenario):
        text = "dirs:\n  live/app: {when_modified: ['**/*.tf', ../shared/*.json]}\n  live/db: {}\n"
        base = {**FILES, "tidegate.yaml": text, "live/shared/a.json": "1", "live/shared/deep/a.json": "1"}
        changes(scenario, {"live/shared/a.json": "2"}, base)
        opened(scenario)
        assert names(scenario) == ["live/app"]

    def test_what_came_to_the_base_branch_since_does_not_count(self, scenario):
        scenario.trees[MAIN] = {**FILES, "live/db/main.tf": "# moved on"}
        opened(scenario)
        assert names(scenario) == ["live/app"]

    def test_each_stack_of_a_root_has_a_layer_of_its_own(self, scenario):
        text = (
            "stacks:\n  allow_workspace_in_multiple_stacks: true\n  names:\n"
            "    dev: {tag_query: 'dir:live/app', variables: {SIZE: small}}\n"
            "    prod: {tag_query: 'dir:live/app', variables: {SIZE: large}, rules: {apply_after: [dev]}}\n"
        )
        changes(scenario, {"live/app/main.tf": "# new"}, {**FILES, "tidegate.yaml": text})
        opened(scenario)
        dev, prod = scenario.found
        assert (dev.stack, prod.stack, dev.shared) == ("dev", "prod", True)
        assert (dev.run.variables, prod.waits.apply_after) == ((("STACK_VAR_SIZE", "small"),), ("dev",))

    def test_what_the_file_of_the_default_branch_says_of_plans_counts(self, scenario):
        own = "pull_requests: {checkout: branch, allowed_providers: [evil/*]}\n"
        base = "pull_requests: {allowed_providers: [hashicorp/aws], allowed_modules: []}\n"
        changes(scenario, {"live/app/main.tf": "#", "tidegate.yaml": own}, {**FILES, "tidegate.yaml": base})
        opened(scenario)
        (layer,) = [each for each in scenario.found if each.root.name == "live/app"]
        assert (layer.checkout, layer.allowed_providers, layer.allowed_modules) == (
            Checkout.MERGE,
            ("hashicorp/aws",),
            (),
        )

    def test_rules_of_review_and_access_are_those_of_the_default_branch(self, scenario):
        base = "access_control: {policies: [{tag_query: '', apply: ['team:sre']}]}\nplan_review: always\n"
        own = "plan_review: never\n"
        changes(scenario, {"live/app/main.tf": "#", "tidegate.yaml": own}, {**FILES, "tidegate.yaml": base})
        opened(scenario)
        assert {layer.access.apply for layer in scenario.found} == {("team:sre",)}
        assert {layer.review.when for layer in scenario.found} == {"always"}

    def test_layers_have_what_the_merge_requires_and_the_freezes_that_hold_for_them(self, scenario):
        text = (
            "apply_requirements: {checks: [{tag_query: 'dir:live/app', approved: {}}, {tag_query: 'dir:live/db'}]}\n"
            "freeze: [{tag_query: 'dir:live/app', cron: '0 16 * * FRI', duration: 64h, reason: weekend}, "
            "{from: '2020-12-20T18:00:00Z', until: '2020-12-21T18:00:00Z', reason: over}]\n"
        )
        changes(scenario, {"live/app/main.tf": "#", "live/db/main.tf": "#"}, {**FILES, "tidegate.yaml": text})
        opened(scenario)
        found = {layer.root.name: layer for layer in scenario.found}
        assert [(each.approvals, each.any_of) for each in found["live/app"].requires] == [(1, ())]
        assert [each.reason for each in found["live/app"].freezes] == ["weekend"]
        assert (found["live/db"].requires, found["live/db"].freezes, found["live/db"].unmatched) == ((), (), False)

    def test_a_layer_that_no_check_matches_says_so(self, scenario):
        text = "apply_requirements: {checks: [{tag_query: nobody}]}\n"
        changes(scenario, {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": text})
        opened(scenario)
        assert [layer.unmatched for layer in scenario.found] == [True]

    def test_layers_are_held_against_the_policy_sets_of_the_default_branch(self, scenario):
        changes(scenario, {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": SECURITY})
        opened(scenario)
        assert [[each.name for each in layer.policy_sets] for layer in scenario.found] == [["security"]]

    def test_a_root_that_no_merge_deploys_by_itself_is_not_planned_by_itself(self, scenario):
        text = "dirs:\n  live/app: {when_modified: {file_patterns: ['**/*.tf'], autoplan: false}}\n  live/db: {}\n"
        changes(scenario, {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": text})
        assert opened(scenario)[0] == "nothing"
        assert scenario.record.notice == ""
        assert "Deploy it manually" in scenario.record.notes
        assert "comment `tidegate plan`" in scenario.record.notes


class TestWhatIsGone:
    def test_a_root_whose_directory_is_deleted_is_counted_and_judged_by_nothing(self, scenario):
        gone = {path: None for path in FILES if path.startswith("live/db/")}
        changes(scenario, gone | {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": SECURITY})
        opened(scenario)
        app, db = sorted(scenario.found, key=lambda layer: layer.root.name)
        assert (app.gone, db.gone, db.root.name, db.is_extra, db.policy_sets) == (False, True, "live/db", True, ())
        assert db.run.plan[-1].extra_args == ("-refresh=false",)
        assert db.why == "The branch removes this root."

    def test_a_root_that_keeps_its_backends_file_elsewhere_may_be_moved(self, scenario):
        backend = 'terraform {\n  backend "s3" {\n    key = "db"\n  }\n}\n'
        base = {**FILES, "live/db/backend.tf": backend}
        gone = {path: None for path in base if path.startswith("live/db/")}
        changes(scenario, {**gone, "live/new/backend.tf": backend, "live/new/main.tf": "#"}, base)
        opened(scenario)
        (db,) = [layer for layer in scenario.found if layer.gone]
        assert "is now in 'live/new'" in db.why

    def test_a_directory_that_was_no_root_is_not_counted(self, scenario):
        changes(scenario, {"live/db/main.tf": None}, {**FILES, "tidegate.yaml": "dirs: {live/app: {}, live/no*: {}}\n"})
        opened(scenario)
        assert [layer for layer in scenario.found if layer.gone] == []

    def test_a_file_that_destroys_a_root_has_that_planned(self, scenario):
        base = {**FILES, "tidegate.yaml": "dirs: {'**': {}, live/db: {}}\n"}
        changes(scenario, {"tidegate.yaml": "dirs: {'**': {}, live/db: {destroy: true}}\n"}, base)
        opened(scenario)
        (db,) = scenario.found
        assert (db.root.name, db.destroy, db.gone, db.is_extra) == ("live/db", True, False, False)
