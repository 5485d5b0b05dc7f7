"""What becomes of comments: deployments, unlocked queues, and one reply that says what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import sha
from tests.unit.usecases.events_world import AT, BASE, HEAD, MAIN, NUMBER, REPOSITORY, EventsWorld
from tidegate.deploys.rules.audit import FORCED
from tidegate.deploys.rules.queue import waiting_for
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.ports import Change, DeliveryOutcome
from tidegate.roots.rules.root import queue_id
from tidegate.rules.errors import AppLacksPermission, CloudUnavailable, ForgeRefused, ForgeUnavailable
from tidegate.vcs.rules.authors import MAXIMUM_AUTHORS, Authors

STRICT = """
version: 1
apply_requirements: {approved: {any_of_count: 2}, merge_conflicts: {}, status_checks: {}}
"""


@pytest.fixture
def world():
    return EventsWorld()


def test_the_roots_that_the_pull_request_changes_are_deployed_by_hand(world):
    outcome = world.comment("tidegate deploy")
    (deployment,) = world.enqueued
    assert (deployment.root.name, deployment.revision.sha, deployment.revision.branch) == ("live/app", HEAD, "feature")
    assert (deployment.request.trigger, deployment.request.pull_request, deployment.request.forced) == (
        Trigger.MANUAL,
        NUMBER,
        False,
    )
    assert (deployment.request.by, deployment.request.at) == ("writer", AT)
    assert deployment.commits.authors == ("author", "helper")
    assert deployment.repository == REPOSITORY
    assert world.forge.reactions == [(70, "rocket")]
    assert world.forge.comments == []
    assert world.deliveries.outcome("delivery-1") == DeliveryOutcome(outcome, (deployment.id,))


def test_whether_all_authors_of_the_pull_request_are_known_is_remembered(world):
    many = tuple(f"person-{number}" for number in range(MAXIMUM_AUTHORS))
    world.forge.changes["main", HEAD] = Change(BASE, Authors(many))
    world.comment("tidegate deploy")
    (deployment,) = world.enqueued
    assert (deployment.commits.authors[:2], deployment.commits.authors_known) == (("author", "person-0"), False)


def test_named_roots_are_deployed_also_if_the_pull_request_does_not_change_them(world):
    world.comment("tidegate deploy -p live/db")
    assert world.names == ["live/db"]


STACKED = """
version: 1
roots:
  - {dir: live/app, tags: [web]}
  - {dir: live/db}
stacks: {names: {prod: {tag_query: "dir:live/**"}}}
"""


@pytest.fixture
def stacked(world):
    """A pull request that changes both roots, which the file has tags and a stack for."""
    for commit in (MAIN, HEAD):
        world.file(commit, STACKED)
    world.trees[HEAD] = {**world.trees[HEAD], "live/db/main.tf": "# new"}
    return world


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("-d live/app", ["live/app"]),
        ("-d live", ["live/app", "live/db"]),
        ("-d live/app -p live/db", ["live/app", "live/db"]),
        ("web", ["live/app"]),
        ("stack_name:prod and not web", ["live/db"]),
    ],
)
def test_changed_roots_are_deployed_by_their_directories_and_tags(stacked, words, names):
    stacked.comment(f"tidegate deploy {words}")
    assert stacked.names == names
    assert {each.stack for each in stacked.enqueued} == {"prod"}


def test_a_root_that_is_not_changed_is_not_meant_by_its_directory(world):
    world.comment("tidegate deploy -d live/db")
    assert world.names == []
    assert "**Nothing is deployed.**" in world.reply
    assert "To have a root deployed anyway, name it with `-p ROOT`." in world.reply


def test_a_tag_that_no_changed_root_has_is_told_with_the_one_that_was_meant(stacked):
    stacked.comment("tidegate deploy stack_name:prood")
    assert stacked.names == []
    assert "Did you mean `stack_name:prod`?" in stacked.reply


def test_what_is_meant_by_directory_is_not_told_while_something_is_missing(world):
    world.file(MAIN, STRICT)
    world.comment("tidegate deploy -d live/bd")
    assert "2 approvals" in world.reply
    assert "live/app" not in world.reply


def test_the_roots_definition_is_the_heads_and_what_it_grants_the_default_branchs(world):
    world.file(HEAD, "version: 1\nplan_review: never\nroots: [{dir: live/app, name: app}]\n")
    world.file(MAIN, "version: 1\nroots: [{dir: live/app, plan_review: {approvals: 2}}]\n")
    world.comment("tidegate deploy -p app")
    (deployment,) = world.enqueued
    assert (deployment.root.name, deployment.root.dir) == ("app", "live/app")
    assert deployment.settings.review_rule == ReviewRule(PlanReview.ALWAYS, 2)


def test_a_root_that_does_not_exist_is_answered_with_the_one_that_was_meant(world):
    world.comment("tidegate deploy -p live/ap -p live/db")
    assert world.names == []
    assert "Did you mean `live/app`?" in world.reply
    assert "The roots are `live/app`, `live/db`." in world.reply
    assert world.forge.reactions == [(70, "confused")]


def test_a_pull_request_that_changes_no_root_is_told_so(world):
    world.trees[HEAD] = {**world.trees[BASE], "README.md": "new"}
    world.comment("tidegate deploy")
    assert "changes no root" in world.reply
    assert world.names == []


def test_a_root_that_the_pull_request_takes_away_is_told(world):
    world.trees[HEAD] = {path: text for path, text in world.trees[BASE].items() if not path.startswith("live/db")}
    world.comment("tidegate deploy")
    assert "contains no root module" in world.reply


def test_everything_that_is_missing_is_told_in_one_reply(world):
    world.file(MAIN, STRICT)
    world.pull(mergeable=False, failing_checks=("build", "test"))
    world.approve("reviewer")
    world.comment("tidegate deploy", by="visitor")
    for words in (
        "`visitor` has no write permission",
        "2 approvals",
        "there is 1",
        "conflicts with `main`",
        "`build`, `test`",
    ):
        assert words in world.reply
    assert "--force" not in world.reply
    assert world.names == []


def test_what_is_missing_and_a_root_that_does_not_exist_are_told_in_one_reply(world):
    world.file(MAIN, STRICT)
    world.comment("tidegate deploy -p live/ap")
    assert "2 approvals" in world.reply
    assert "Did you mean `live/app`?" in world.reply
    assert world.names == []


def test_who_may_not_deploy_at_all_is_not_told_which_roots_there_are(world):
    world.comment("tidegate deploy -p live/ap", by="visitor")
    assert "has no write permission" in world.reply
    assert "live/app" not in world.reply


def test_named_roots_that_exist_are_not_deployed_while_something_is_missing(world):
    world.file(MAIN, STRICT)
    world.comment("tidegate deploy -p live/app")
    assert "2 approvals" in world.reply
    assert world.names == []


def test_what_is_fulfilled_is_not_asked_for_again(world):
    world.file(MAIN, STRICT)
    world.approve("reviewer")
    world.approve("maintainer")
    world.comment("tidegate deploy")
    assert world.names == ["live/app"]
    assert world.forge.comments == []


def test_approvals_of_people_who_may_not_write_do_not_count(world):
    world.file(MAIN, STRICT.replace("2", "1"))
    world.approve("visitor")
    world.comment("tidegate deploy")
    assert "there are none" in world.reply
    assert world.names == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"is_open": False}, "is closed"),
        ({"from_fork": True}, "comes from a fork"),
    ],
)
def test_what_is_always_required_is_not_passed_over_by_force(world, fields, words):
    world.pull(**fields)
    world.comment("tidegate deploy --force")
    assert words in world.reply
    assert world.names == []


@pytest.mark.parametrize("command", ["deploy", "deploy --force", "deploy -p live/app"])
def test_what_is_merged_is_not_deployed_by_a_comment_and_nobody_is_told_to_reopen_it(world, command):
    world.pull(is_open=False, merged=True)
    world.comment(f"tidegate {command}")
    assert "is merged already" in world.reply
    assert f"`tidegate deploy {REPOSITORY} ROOT`" in world.reply
    assert "Reopen" not in world.reply
    assert world.names == []


def test_force_passes_over_what_is_configured_warns_and_is_audited(world):
    world.file(MAIN, STRICT)
    world.pull(mergeable=None, failing_checks=tuple(f"check-{number}" for number in range(12)))
    world.comment("tidegate deploy --force")
    (deployment,) = world.enqueued
    assert deployment.request.forced
    assert "**Forced** by `writer`" in world.reply
    assert "2 approvals" in world.reply
    assert "and 2 more" in world.reply
    assert "not known yet" in world.reply
    assert [message.state for message in world.audit.published] == [FORCED]
    assert world.forge.reactions == [(70, "rocket")]


def test_without_force_the_reply_tells_of_it(world):
    world.file(MAIN, STRICT.replace("2", "1"))
    world.comment("atlantis deploy")
    assert "1 approval of the current head" in world.reply
    assert "there are none" in world.reply
    assert "`atlantis deploy --force`" in world.reply


def test_force_where_nothing_is_missing_is_told_and_audited_all_the_same(world):
    world.comment("tidegate deploy --force")
    assert "bypassed nothing" in world.reply
    assert [message.state for message in world.audit.published] == [FORCED]


def test_a_configuration_of_the_default_branch_that_cannot_be_used_grants_nothing(world):
    world.file(MAIN, "version: 1\nplan_revew: never\n")
    world.comment("tidegate deploy --force")
    assert "`tidegate.yaml` is invalid (line 2)" in world.reply
    assert world.names == []


def test_all_mistakes_of_a_file_that_cannot_be_used_are_told(world):
    world.file(MAIN, "version: 1\nplan_revew: never\nengin: tofu\n")
    world.comment("tidegate deploy")
    assert "`tidegate.yaml` is invalid. It has 2 errors:\n\n- Line 2: " in world.reply
    assert "\n- Line 3: " in world.reply


def test_of_very_many_mistakes_the_first_are_told_and_the_others_counted(world):
    world.file(MAIN, "version: 1\n" + "".join(f"wrong{number}: {'x' * 5000}\n" for number in range(50)))
    world.comment("tidegate deploy")
    assert "It has 50 errors" in world.reply
    assert world.reply.count("\n- Line ") == 20
    assert world.reply.endswith("\n- … and 30 more: `tidegate validate` shows them all")


def test_a_pull_request_without_anything_in_common_is_answered(world):
    world.forge.changes.clear()
    world.comment("tidegate deploy")
    assert world.reply.startswith("> `tidegate deploy`\n\n**Nothing was done.**")


def test_what_is_no_command_is_answered(world):
    world.comment("tidegate deplyo")
    assert "Did you mean `deploy`?" in world.reply


def test_help_explains_the_commands_to_everybody(world):
    world.comment("atlantis help", by="visitor")
    assert "`atlantis unlock -p ROOT`" in world.reply


def test_a_comment_that_comes_again_is_answered_once(world):
    world.comment("tidegate deploy -p nothing", delivery="again")
    world.comment("tidegate deploy -p nothing", delivery="again")
    assert len(world.forge.comments) == 1


def test_a_comment_whose_delivery_has_expired_is_answered_and_deploys_nothing(world):
    world.deliveries.store = lambda _delivery: True
    world.comment("tidegate deploy")
    assert "**Nothing was done.** There is no delivery" in world.reply
    assert world.names == []


LATER = sha(4)


def push_later(world):
    """Push another commit to the pull request's branch."""
    world.trees[LATER] = {**world.trees[HEAD], "live/db/main.tf": "# later"}
    world.forge.changes["main", LATER] = Change(BASE, Authors(("author",)))
    world.pull(head_sha=LATER)


def test_a_comment_deploys_no_head_that_was_pushed_after_it_was_judged(world):
    world.workflows.refusals = 1
    with pytest.raises(ExceptionGroup):
        world.comment("tidegate deploy --force", delivery="again")
    push_later(world)
    world.comment("tidegate deploy --force", delivery="again")
    assert [deployment.revision.sha for deployment in world.enqueued] == [HEAD]
    assert f"`{LATER[:7]}` is not deployed" in world.reply
    assert [message.state for message in world.audit.published] == [FORCED]
    world.comment("tidegate deploy", delivery="another")
    assert {deployment.revision.sha for deployment in world.enqueued} == {HEAD, LATER}


@pytest.mark.parametrize("by", ["writer", "visitor"])
@pytest.mark.parametrize(
    "command", ["tidegate deploy --force", "tidegate deploy -p nothing", "tidegate help", "tidegate unlock -p live/app"]
)
def test_an_answer_that_the_forge_refuses_is_told_in_the_outcome_and_raises_nothing(world, command, by):
    world.lock("live/app")
    world.forge.silence = ForgeRefused(404, "Not Found")
    outcome = world.comment(command, by=by, delivery="deleted")
    assert "The reply could not be posted: The VCS provider refused the request (404)" in outcome
    assert "retries the event" not in world.deliveries.outcomes["deleted"]


@pytest.mark.parametrize("command", ["tidegate deploy", "tidegate unlock"])
def test_what_the_app_lacks_is_replied_and_the_comment_is_done_with(world, command):
    world.forge.failures = [AppLacksPermission(422, ("statuses: read",))]
    outcome = world.comment(command, delivery="lacking")
    assert "`statuses: read`" in world.reply
    assert "Comment again" in world.reply
    assert world.enqueued == []
    assert "retries the event" not in outcome


def test_what_the_app_lacks_to_reply_at_all_is_the_outcome(world):
    world.forge.failures = [AppLacksPermission(422, ("pull_requests: write",))]
    world.forge.silence = AppLacksPermission(422, ("pull_requests: write",))
    outcome = world.comment("tidegate deploy", delivery="lacking")
    assert "lacks the permission `pull_requests: write`" in outcome
    assert "retries the event" not in world.deliveries.outcomes["lacking"]


def test_what_was_enqueued_is_not_done_again_because_a_reaction_was_put_off(world):
    world.forge.silence = ForgeUnavailable("502 Bad Gateway")
    outcome = world.comment("tidegate deploy", delivery="again")
    assert "Enqueued: live/app. The reaction could not be added" in outcome
    push_later(world)
    world.comment("tidegate deploy", delivery="again")
    assert [deployment.revision.sha for deployment in world.enqueued] == [HEAD]


def test_a_reply_that_the_forge_puts_off_comes_later(world):
    world.forge.silence = ForgeUnavailable("502 Bad Gateway")
    with pytest.raises(ForgeUnavailable):
        world.comment("tidegate deploy -p nothing", delivery="again")
    world.forge.silence = None
    world.comment("tidegate deploy -p nothing", delivery="again")
    assert "There is no root" in world.reply


def test_a_comment_that_the_forge_puts_off_is_received_again(world):
    world.forge.failures = [ForgeUnavailable("secondary limit", 60)]
    with pytest.raises(ForgeUnavailable):
        world.comment("tidegate deploy", delivery="again")
    assert "retries the event" in world.deliveries.outcomes["again"]
    world.comment("tidegate deploy", delivery="again")
    assert world.names == ["live/app"]


def test_a_deployment_that_could_not_be_enqueued_comes_again(world):
    world.workflows.refusals = 1
    with pytest.raises(ExceptionGroup) as caught:
        world.comment("tidegate deploy", delivery="again")
    assert caught.group_contains(CloudUnavailable)
    world.comment("tidegate deploy", delivery="again")
    assert world.names == ["live/app"]
    assert len(world.workflows.starts) == 1


POLICIES = """
version: 1
policy_sets:
  words: {paths: [policies], owners: ['user:reviewer']}
  others: {paths: [policies], tag_query: prod}
"""


def test_the_plan_of_a_head_is_held_against_policy_sets_also_where_it_is_forced(world):
    world.trees[MAIN] = {**world.trees[MAIN], "policies/main.rego": "package main"}
    world.file(MAIN, POLICIES)
    world.comment("tidegate deploy --force")
    (deployment,) = world.enqueued
    (held,) = deployment.policies.sets
    assert (held.name, held.owners, held.problem) == ("words", ("user:reviewer",), "")
    assert held.key in world.artifacts.objects


def of_root(world, name, state=None):
    """Return the deployments of a root, the newest last; let the newest be in flight in a state, if one is given."""
    queue = queue_id(REPOSITORY, name)
    found = sorted((each for each in world.enqueued if each.root.name == name), key=lambda each: each.request.at)
    if state is not None:
        head, _ = world.queues.read(queue)
        begun = replace(found[-1], state=state)
        after = replace(head, in_flight=begun.id)
        world.queues.commit(head, after, take=waiting_for(found[-1]), deployment=begun)
    return found


@pytest.mark.parametrize("state", [None, State.PLANNING, State.AWAITING_REVIEW])
def test_what_is_in_line_already_is_answered_with_that_unless_it_is_forced(world, state):
    world.comment("tidegate deploy")
    of_root(world, "live/app", state)
    world.comment("tidegate deploy -p live/app -p live/db", by="maintainer")
    assert world.names == ["live/app"]
    words = state.replace("_", " ") if state else "queued"
    assert f"`live/app` at `{HEAD[:7]}` is already queued ({words}): `writer` requested it on" in world.reply
    assert "(https://github.com/acme/infra/pull/5/checks)" in world.reply
    assert world.reply.count("live/db") == 1  # In what it quotes.
    assert "`tidegate deploy --force`" in world.reply
    world.forge.comments.clear()
    world.comment("tidegate deploy --force", by="maintainer")
    assert len(of_root(world, "live/app")) == 2


def test_what_has_ended_or_is_of_another_commit_is_deployed_again(world):
    world.comment("tidegate deploy")
    of_root(world, "live/app", State.REJECTED)
    world.comment("tidegate deploy")
    assert len(of_root(world, "live/app")) == 2
    world.trees[BASE] = world.trees[HEAD]
    world.forge.changes["main", BASE] = Change(MAIN, Authors())
    world.pull(head_sha=BASE)
    world.comment("tidegate deploy -p live/app")
    assert len(of_root(world, "live/app")) == 3
    assert world.forge.comments == []


def test_what_checks_require_of_a_root_and_what_is_in_line_are_told_together(world):
    world.comment("tidegate deploy")
    world.file(MAIN, "version: 1\napply_requirements: {checks: [{tag_query: '', approved: {}}]}\n")
    world.comment("tidegate deploy")
    assert "is already queued (" in world.reply
    assert "1 approval" in world.reply
