"""Which roots a pull request affects, and what is to be done about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_layer, any_plan, sha
from tests.unit.usecases.pull_request_world import FILES, FORK_POINT, HEAD, MAIN, NUMBER, PullRequestWorld
from tidegate.domain.deploys.authors import Authors
from tidegate.domain.errors import Conflict, ForgeUnavailable
from tidegate.domain.policies.policy import HeldPolicySet
from tidegate.domain.pull_requests.record import PullRequestState
from tidegate.domain.pull_requests.temporary_layer import Checkout, LayerState
from tidegate.ports import Change
from tidegate.usecases.pull_requests import affected_layers

NEWER = sha(4)


@pytest.fixture
def world():
    return PullRequestWorld()


def changes(world, files, base=None):
    """Let the pull request's head have these files, and where it left the base branch those of ``base``."""
    world.trees[FORK_POINT] = world.trees[MAIN] = base or FILES
    world.trees[HEAD] = {**(base or FILES), **files}
    world.trees[HEAD] = {path: text for path, text in world.trees[HEAD].items() if text is not None}


def opened(world):
    world.receive()
    return world.discover()


def names(world):
    return sorted(layer.root.name for layer in world.found)


class TestWhatIsAffected:
    def test_a_root_whose_files_change_has_a_layer_that_waits_to_be_planned(self, world):
        what, ids = opened(world)
        (layer,) = world.found
        assert (what, ids) == ("plan", (layer.id,))
        assert (layer.root.name, layer.stack, layer.state) == ("live/app", "default", LayerState.WAITING)
        assert (layer.sha, layer.base_sha, layer.checkout) == (HEAD, MAIN, Checkout.MERGE)
        assert (layer.pull_request, layer.installation, layer.why) == (NUMBER, 42, "This commit changes it.")
        assert world.record.state is PullRequestState.PLANNING
        assert world.record.layers == ids

    @pytest.mark.parametrize("is_one", [True, False])
    def test_a_layer_has_the_commit_that_both_branches_come_after_only_if_it_is_known_to_be_one(self, world, is_one):
        world.forge.changes[MAIN, HEAD] = Change(FORK_POINT, Authors(("author",)), forks_once=is_one)
        opened(world)
        assert [layer.fork_sha for layer in world.found] == [FORK_POINT if is_one else ""]

    @pytest.mark.parametrize(
        "text",
        [
            "when_modified: {file_patterns: ['*.never']}\n",
            "dirs: {live/app: {when_modified: ['*.never']}, live/db: {}}\n",
            "dirs: {live/db: {}}\n",
            "roots: []\n",
        ],
    )
    def test_no_file_of_the_pull_request_keeps_a_changed_root_from_being_planned(self, world, text):
        world.policies = (HeldPolicySet("security"),)
        changes(world, {"live/app/main.tf": "#", "tidegate.yaml": text})
        assert opened(world)[0] == "plan"
        assert names(world) == ["live/app"]
        (layer,) = world.found
        assert (layer.policy_sets, layer.is_extra) == (world.policies, True)
        assert "by the default branch's tidegate.yaml" in layer.why

    def test_a_root_that_only_gets_another_name_is_planned_once(self, world):
        changes(world, {"live/app/main.tf": "#", "tidegate.yaml": "roots: [{name: renamed, dir: live/app}]\n"})
        opened(world)
        assert names(world) == ["renamed"]

    def test_what_the_default_branch_keeps_for_people_is_not_planned_by_itself(self, world):
        text = "dirs:\n  live/app: {when_modified: {autoplan: false}}\n  live/db: {}\n"
        hiding = "dirs: {live/db: {}}\n"
        changes(world, {"live/app/main.tf": "#", "tidegate.yaml": hiding}, {**FILES, "tidegate.yaml": text})
        assert opened(world) == ("nothing", ())

    def test_a_renamed_file_affects_where_it_was_and_where_it_is(self, world):
        base = {**FILES, "live/app/vars.tf": "a"}
        changes(world, {"live/app/vars.tf": None, "live/db/vars.tf": "a"}, base)
        opened(world)
        assert names(world) == ["live/app", "live/db"]

    def test_directories_are_told_apart_by_their_segments(self, world):
        base = {**FILES, "live/application/main.tf": "", "mylive/app/main.tf": ""}
        changes(world, {"live/app/main.tf": "# new"}, base)
        opened(world)
        assert names(world) == ["live/app"]

    def test_a_module_affects_all_that_use_it_through_others(self, world):
        uses = 'module "{0}" {{\n  source = "{1}"\n}}\n'.format
        base = {
            **FILES,
            "live/app/main.tf": uses("a", "../../modules/a"),
            "modules/a/main.tf": uses("b", "../b"),
            "modules/b/main.tf": uses("c", "../c"),
            "modules/c/main.tf": "",
        }
        changes(world, {"modules/c/main.tf": "# new"}, base)
        opened(world)
        assert names(world) == ["live/app"]

    def test_what_depends_on_a_root_is_affected_in_its_place(self, world):
        base = {
            **FILES,
            "tidegate.yaml": "dirs:\n  live/app: {when_modified: {depends_on: 'dir:live/db'}}\n  live/db: {}\n",
        }
        changes(world, {"live/db/main.tf": "# new"}, base)
        _, ids = opened(world)
        db, app = (world.layers.get(each) for each in ids)
        assert [layer.root.name for layer in (db, app)] == ["live/db", "live/app"]
        assert (app.waits.roots, app.tier, app.tiers, db.tier) == (("live/db",), 2, 2, 1)

    def test_layers_are_counted_inside_each_stack(self, world):
        text = (
            "dirs:\n  live/app: {when_modified: {depends_on: 'dir:live/db'}}\n  live/db: {}\n  dns: {}\n"
            "stacks:\n  names:\n    dns: {tag_query: 'dir:dns'}\n    live: {tag_query: 'dir:live/**'}\n"
        )
        base = {**FILES, "tidegate.yaml": text, "dns/main.tf": ""}
        changes(world, {"live/db/main.tf": "# new", "dns/main.tf": "# new"}, base)
        opened(world)
        places = {layer.root.name: (layer.tier, layer.tiers) for layer in world.found}
        assert places == {"live/db": (1, 2), "live/app": (2, 2), "dns": (1, 1)}

    def test_configured_trigger_paths_affect_a_root(self, world):
        text = "dirs:\n  live/app: {when_modified: ['**/*.tf', ../shared/*.json]}\n  live/db: {}\n"
        base = {**FILES, "tidegate.yaml": text, "live/shared/a.json": "1", "live/shared/deep/a.json": "1"}
        changes(world, {"live/shared/a.json": "2"}, base)
        opened(world)
        assert names(world) == ["live/app"]

    def test_what_came_to_the_base_branch_since_does_not_count(self, world):
        world.trees[MAIN] = {**FILES, "live/db/main.tf": "# moved on"}
        opened(world)
        assert names(world) == ["live/app"]

    def test_each_stack_of_a_root_has_a_layer_of_its_own(self, world):
        text = (
            "stacks:\n  allow_workspace_in_multiple_stacks: true\n  names:\n"
            "    dev: {tag_query: 'dir:live/app', variables: {SIZE: small}}\n"
            "    prod: {tag_query: 'dir:live/app', variables: {SIZE: large}, rules: {apply_after: [dev]}}\n"
        )
        changes(world, {"live/app/main.tf": "# new"}, {**FILES, "tidegate.yaml": text})
        opened(world)
        dev, prod = world.found
        assert (dev.stack, prod.stack, dev.shared) == ("dev", "prod", True)
        assert (dev.run.variables, prod.waits.apply_after) == ((("STACK_VAR_SIZE", "small"),), ("dev",))

    def test_what_the_file_of_the_default_branch_says_of_plans_counts(self, world):
        own = "pull_requests: {checkout: branch, allowed_providers: [evil/*]}\n"
        base = "pull_requests: {allowed_providers: [hashicorp/aws], allowed_modules: []}\n"
        changes(world, {"live/app/main.tf": "#", "tidegate.yaml": own}, {**FILES, "tidegate.yaml": base})
        opened(world)
        (layer,) = [each for each in world.found if each.root.name == "live/app"]
        assert (layer.checkout, layer.allowed_providers, layer.allowed_modules) == (
            Checkout.MERGE,
            ("hashicorp/aws",),
            (),
        )

    def test_rules_of_review_and_access_are_those_of_the_default_branch(self, world):
        base = "access_control: {policies: [{tag_query: '', apply: ['team:sre']}]}\nplan_review: always\n"
        own = "plan_review: never\n"
        changes(world, {"live/app/main.tf": "#", "tidegate.yaml": own}, {**FILES, "tidegate.yaml": base})
        opened(world)
        assert {layer.access.apply for layer in world.found} == {("team:sre",)}
        assert {layer.review.when for layer in world.found} == {"always"}

    def test_layers_are_held_against_the_policy_sets_of_the_default_branch(self, world):
        world.policies = (HeldPolicySet("security"),)
        opened(world)
        assert [layer.policy_sets for layer in world.found] == [world.policies]

    def test_a_root_that_no_merge_deploys_by_itself_is_not_planned_by_itself(self, world):
        text = "dirs:\n  live/app: {when_modified: {file_patterns: ['**/*.tf'], autoplan: false}}\n  live/db: {}\n"
        changes(world, {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": text})
        assert opened(world)[0] == "nothing"
        assert world.record.notice == ""
        assert "Deploy it by hand." in world.record.notes
        assert "`tidegate plan` plans also what is not planned by itself" in world.record.notes


SETS = "policy_sets: {security: {paths: [policies]}}\n"


class TestWhatIsOnlyTold:
    def told(self, world):
        what, ids = opened(world)
        assert ids == ()
        assert list(world.found) == []
        return what, world.record.notice

    def test_a_fork_is_not_run(self, world):
        world.pull(from_fork=True)
        what, notice = self.told(world)
        assert what == "comment"
        assert "comes from a fork" in notice
        assert world.record.state is PullRequestState.COMMENT_NEEDED

    def test_a_fork_is_held_up_where_policy_sets_would_judge_it(self, world):
        world.pull(from_fork=True)
        self.told(world)
        assert not world.record.guarded
        world.file(MAIN, SETS)
        world.follower.follow(42, "acme/infra", NUMBER, again=True)
        world.discover()
        assert world.record.guarded
        assert "holds up the merge" in world.record.notice

    def test_a_fork_is_held_up_while_nobody_knows_whether_policy_sets_would_judge_it(self, world):
        world.file(MAIN, "version: 1\nroot: []\n")
        world.pull(from_fork=True)
        self.told(world)
        assert world.record.guarded

    @pytest.mark.parametrize("place", [MAIN, HEAD])
    def test_a_file_that_cannot_be_used_is_told_with_its_line(self, world, place):
        world.file(place, "version: 1\nroot: []\n")
        what, notice = self.told(world)
        assert what == "comment"
        assert "tidegate.yaml:2" in notice

    def test_stacks_that_wait_for_each_other_are_told(self, world):
        text = "dirs:\n" + "".join(
            f"  live/{own}: {{when_modified: {{depends_on: 'dir:live/{other}'}}}}\n"
            for own, other in (("app", "db"), ("db", "app"))
        )
        changes(world, {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": text})
        what, notice = self.told(world)
        assert what == "comment"
        assert "wait for each other" in notice

    def test_branches_without_a_common_commit_are_told(self, world):
        world.forge.changes.clear()
        what, notice = self.told(world)
        assert what == "comment"
        assert "Rebase the branch" in notice

    def test_too_many_roots_are_told_and_none_is_planned(self, world, monkeypatch):
        monkeypatch.setattr(affected_layers, "MOST_LAYERS", 1)
        changes(world, {"live/app/main.tf": "#", "live/db/main.tf": "#"})
        what, notice = self.told(world)
        assert what == "comment"
        assert "affects 2 roots" in notice

    def test_no_root_is_green_without_a_comment(self, world):
        changes(world, {"README.md": "new"})
        assert self.told(world) == ("nothing", "")
        assert world.record.state is PullRequestState.IDLE
        assert world.checks.asked[-1][:2] == ("show", world.record)

    def test_what_was_commented_before_is_brought_up_to_date_without_roots_too(self, world):
        changes(world, {"README.md": "new"})
        world.receive()
        world.records.save(replace(world.record, comments=(("default", 7),)))
        assert world.discover()[0] == "comment"

    def test_what_is_told_of_very_many_directories_fits_into_a_record_and_counts_the_rest(self, world):
        gone = {f"live/{'x' * 900}-{number:04}/main.tf": None for number in range(1000)}
        misnamed = {f"live/a&b-{number:04}/main.tf": "" for number in range(1000)}
        for commit in (FORK_POINT, MAIN):
            world.trees[commit] = {**FILES, **dict.fromkeys(gone, "")}
        world.trees[HEAD] = {**FILES, **misnamed, "live/app/main.tf": "# new"}
        world.receive()
        assert world.discover()[0] == "plan"
        for told in (world.record.notice, world.record.notes):
            assert len(told) < 100_000
            assert told.endswith("There are 800 more of these.")
            assert told.count("\n") == 200

    def test_a_directory_that_holds_no_root_any_more_is_told(self, world):
        changes(world, {"live/app/main.tf": None})
        what, notice = self.told(world)
        assert what == "nothing"
        assert notice == ""
        assert "live/app" in world.record.notes

    def test_a_root_that_cannot_be_judged_is_told_beside_those_that_are_planned(self, world):
        world.trees[HEAD] = {**FILES, "live/app/main.tf": "#", "live/my app/main.tf": ""}
        what, _ = opened(world)
        assert what == "plan"
        assert "my app" in world.record.notice


class TestDraftsAndBranches:
    def test_drafts_are_planned_unless_the_default_branch_says_otherwise(self, world):
        world.pull(is_draft=True)
        assert opened(world)[0] == "plan"

    def test_a_draft_that_is_not_planned_says_so_until_it_is_ready(self, world):
        world.file(MAIN, "pull_requests: {drafts: false}\n")
        world.file(HEAD, "pull_requests: {drafts: true}\n")
        world.pull(is_draft=True)
        assert opened(world) == ("nothing", ())
        assert (world.record.skipped, world.record.state) == (True, PullRequestState.IDLE)
        assert "is a draft" in world.record.notice
        world.pull(is_draft=False)
        world.receive(action="ready_for_review")
        assert world.discover()[0] == "plan"
        assert (world.record.skipped, world.record.notice) == (False, "")

    def test_a_draft_that_is_not_planned_is_held_up_where_policy_sets_would_judge_it(self, world):
        world.file(MAIN, "pull_requests: {drafts: false}\n" + SETS)
        world.pull(is_draft=True)
        opened(world)
        assert (world.record.skipped, world.record.guarded) == (True, True)
        world.pull(is_draft=False)
        world.receive(action="ready_for_review")
        world.discover()
        assert (world.record.skipped, world.record.guarded) == (False, False)

    def test_pull_requests_to_other_branches_are_not_planned_unless_the_file_names_them(self, world):
        world.forge.branches["release"] = MAIN
        world.pull(base="release")
        assert opened(world) == ("nothing", ())
        assert "destination_branches" in world.record.notice
        world.file(MAIN, "destination_branches: [release]\n")
        world.follower.follow(42, "acme/infra", NUMBER, again=True)
        assert world.discover()[0] == "plan"


class TestOvertaken:
    def test_an_older_revision_and_a_closed_pull_request_are_not_looked_at(self, world):
        world.receive()
        older = world.record
        world.pull(head_sha=NEWER)
        world.receive()
        assert world.discover(older) == ("stop", ())
        world.pull(is_open=False)
        newer = world.record
        world.receive()
        assert world.discover(newer) == ("stop", ())

    def test_a_head_that_comes_back_before_the_one_between_was_looked_at_is_planned_after_all(self, world):
        opened(world)
        stopped = world.record.layers
        for head in (NEWER, HEAD):
            world.pull(head_sha=head)
            world.receive()
        assert [layer.state for layer in world.layers.many(stopped)] == [LayerState.CANCELLED]
        assert world.discover() == ("plan", world.record.layers)
        assert [layer.state for layer in world.found] == [LayerState.WAITING]

    def test_a_commit_that_a_forced_push_took_away_is_left_to_the_next_event(self, world):
        world.receive()
        del world.trees[HEAD]
        assert world.discover() == ("stop", ())
        assert world.record.discovered == ""

    def test_a_commit_that_comes_while_files_are_read_stops_the_discovery(self, world):
        world.receive()
        older = world.record
        fetch = world.fetch

        def meanwhile(*where):
            world.pull(head_sha=NEWER)
            world.receive()
            return fetch(*where)

        world.fetch = meanwhile
        assert world.discover(older) == ("stop", ())
        assert world.record.discovered == ""

    @pytest.mark.parametrize("now", [{"head_sha": NEWER}, {"is_open": False}])
    def test_layers_that_are_made_after_a_newer_commit_came_are_removed(self, world, now):
        world.receive()
        older, create = world.record, world.layers.create

        def meanwhile(layers):
            world.pull(**now)
            world.receive()
            create(layers)
            assert list(world.layers.many([layer.id for layer in layers])) == list(layers)

        world.layers.create = meanwhile
        assert world.discover(older) == ("stop", ())
        assert list(world.layers._layers) == []

    def test_a_record_forgets_names_of_removed_layers_before_they_fill_it(self, world):
        world.receive()
        kept = any_layer("kept", sha=sha(9), state=LayerState.PLANNED, plan=any_plan())
        world.layers.create([kept])
        gone = tuple(f"gone-{number}" for number in range(3000))
        world.records.save(replace(world.record, layers=(*gone, kept.id)))
        saved = world.records.save
        named = []
        world.records.save = lambda record: named.append(record.layers) or saved(record)
        assert world.discover()[0] == "plan"
        assert named[0] == (kept.id, world.found[0].id)
        assert world.layers.many([kept.id]) == []

    def test_layers_of_an_older_commit_go_with_their_plans_once_the_newer_is_known(self, world):
        opened(world)
        (older,) = world.found
        plan = any_plan()
        world.layers.save(replace(older, state=LayerState.PLANNED, plan=plan))
        world.artifacts.objects[plan.file.key] = b""
        world.trees[NEWER] = {**FILES, "live/db/main.tf": "#"}
        world.forge.changes[MAIN, NEWER] = Change(FORK_POINT, None)
        world.pull(head_sha=NEWER)
        world.receive()
        world.discover()
        assert names(world) == ["live/db"]
        assert list(world.layers.many([older.id])) == []
        assert world.artifacts.objects == {}


class TestAgain:
    def test_the_same_discovery_again_answers_the_same_and_makes_nothing_new(self, world):
        first = opened(world)
        before = world.record
        assert world.discover() == first
        assert world.record == before

    def test_only_layers_that_have_not_ended_are_planned_again(self, world):
        changes(world, {"live/app/main.tf": "#", "live/db/main.tf": "#"})
        opened(world)
        app, db = world.found
        world.layers.save(replace(app, state=LayerState.PLANNED))
        assert world.discover() == ("plan", (db.id,))
        world.layers.save(replace(db, state=LayerState.FAILED))
        assert world.discover() == ("comment", ())

    def test_another_attempt_has_layers_of_its_own(self, world):
        opened(world)
        before = world.record.layers
        world.follower.follow(42, "acme/infra", NUMBER, again=True)
        world.discover()
        assert set(world.record.layers).isdisjoint(before)

    def test_somebody_who_writes_the_record_at_the_same_time_is_not_written_over(self, world):
        world.receive()
        save, once = world.records.save, [True]

        def crossed(record):
            if once:
                once.clear()
                save(replace(world.record, queued="q"))
                raise Conflict("The pull request")
            return save(record)

        world.records.save = crossed
        assert world.discover()[0] == "plan"
        assert world.record.queued == "q"

    def test_a_forge_that_does_not_answer_leaves_everything_to_the_next_try(self, world):
        world.receive()
        world.forge.failures = [ForgeUnavailable("it sleeps")]
        with pytest.raises(ForgeUnavailable):
            world.discover()
        assert world.discover()[0] == "plan"
