"""What becomes of comments: deployments, unlocked queues, and one reply that says what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import sha
from tests.unit.comments.events_scenario import AT, BASE, HEAD, MAIN, NUMBER, REPOSITORY, EventsScenario
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
def scenario():
    return EventsScenario()


def test_the_roots_that_the_pull_request_changes_are_deployed_by_hand(scenario):
    outcome = scenario.comment("tidegate deploy")
    (deployment,) = scenario.enqueued
    assert (deployment.root.name, deployment.revision.sha, deployment.revision.branch) == ("live/app", HEAD, "feature")
    assert (deployment.request.trigger, deployment.request.pull_request, deployment.request.forced) == (
        Trigger.MANUAL,
        NUMBER,
        False,
    )
    assert (deployment.request.by, deployment.request.at) == ("writer", AT)
    assert deployment.commits.authors == ("author", "helper")
    assert deployment.repository == REPOSITORY
    assert scenario.forge.reactions == [(70, "rocket")]
    assert scenario.forge.comments == []
    assert scenario.deliveries.outcome("delivery-1") == DeliveryOutcome(outcome, (deployment.id,))


def test_whether_all_authors_of_the_pull_request_are_known_is_remembered(scenario):
    many = tuple(f"person-{number}" for number in range(MAXIMUM_AUTHORS))
    scenario.forge.changes["main", HEAD] = Change(BASE, Authors(many))
    scenario.comment("tidegate deploy")
    (deployment,) = scenario.enqueued
    assert (deployment.commits.authors[:2], deployment.commits.authors_known) == (("author", "person-0"), False)


def test_named_roots_are_deployed_also_if_the_pull_request_does_not_change_them(scenario):
    scenario.comment("tidegate deploy -p live/db")
    assert scenario.names == ["live/db"]


STACKED = """
version: 1
roots:
  - {dir: live/app, tags: [web]}
  - {dir: live/db}
stacks: {names: {prod: {tag_query: "dir:live/**"}}}
"""


@pytest.fixture
def stacked(scenario):
    """A pull request that changes both roots, which the file has tags and a stack for."""
    for commit in (MAIN, HEAD):
        scenario.file(commit, STACKED)
    scenario.trees[HEAD] = {**scenario.trees[HEAD], "live/db/main.tf": "# new"}
    return scenario


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


def test_a_root_that_is_not_changed_is_not_meant_by_its_directory(scenario):
    scenario.comment("tidegate deploy -d live/db")
    assert scenario.names == []
    assert "**Nothing is deployed.**" in scenario.reply
    assert "To have a root deployed anyway, name it with `-p ROOT`." in scenario.reply


def test_a_tag_that_no_changed_root_has_is_told_with_the_one_that_was_meant(stacked):
    stacked.comment("tidegate deploy stack_name:prood")
    assert stacked.names == []
    assert "Did you mean `stack_name:prod`?" in stacked.reply


def test_what_is_meant_by_directory_is_not_told_while_something_is_missing(scenario):
    scenario.file(MAIN, STRICT)
    scenario.comment("tidegate deploy -d live/bd")
    assert "2 approvals" in scenario.reply
    assert "live/app" not in scenario.reply


def test_the_roots_definition_is_the_heads_and_what_it_grants_the_default_branchs(scenario):
    scenario.file(HEAD, "version: 1\nplan_review: never\nroots: [{dir: live/app, name: app}]\n")
    scenario.file(MAIN, "version: 1\nroots: [{dir: live/app, plan_review: {approvals: 2}}]\n")
    scenario.comment("tidegate deploy -p app")
    (deployment,) = scenario.enqueued
    assert (deployment.root.name, deployment.root.dir) == ("app", "live/app")
    assert deployment.settings.review_rule == ReviewRule(PlanReview.ALWAYS, 2)


def test_a_root_that_does_not_exist_is_answered_with_the_one_that_was_meant(scenario):
    scenario.comment("tidegate deploy -p live/ap -p live/db")
    assert scenario.names == []
    assert "Did you mean `live/app`?" in scenario.reply
    assert "The roots are `live/app`, `live/db`." in scenario.reply
    assert scenario.forge.reactions == [(70, "confused")]


def test_a_pull_request_that_changes_no_root_is_told_so(scenario):
    scenario.trees[HEAD] = {**scenario.trees[BASE], "README.md": "new"}
    scenario.comment("tidegate deploy")
    assert "changes no root" in scenario.reply
    assert scenario.names == []


def test_a_root_that_the_pull_request_takes_away_is_told(scenario):
    scenario.trees[HEAD] = {path: text for path, text in scenario.trees[BASE].items() if not path.startswith("live/db")}
    scenario.comment("tidegate deploy")
    assert "contains no root module" in scenario.reply


def test_everything_that_is_missing_is_told_in_one_reply(scenario):
    scenario.file(MAIN, STRICT)
    scenario.pull(mergeable=False, failing_checks=("build", "test"))
    scenario.approve("reviewer")
    scenario.comment("tidegate deploy", by="visitor")
    for words in (
        "`visitor` has no write permission",
        "2 approvals",
        "there is 1",
        "conflicts with `main`",
        "`build`, `test`",
    ):
        assert words in scenario.reply
    assert "--force" not in scenario.reply
    assert scenario.names == []


def test_what_is_missing_and_a_root_that_does_not_exist_are_told_in_one_reply(scenario):
    scenario.file(MAIN, STRICT)
    scenario.comment("tidegate deploy -p live/ap")
    assert "2 approvals" in scenario.reply
    assert "Did you mean `live/app`?" in scenario.reply
    assert scenario.names == []


def test_who_may_not_deploy_at_all_is_not_told_which_roots_there_are(scenario):
    scenario.comment("tidegate deploy -p live/ap", by="visitor")
    assert "has no write permission" in scenario.reply
    assert "live/app" not in scenario.reply


def test_named_roots_that_exist_are_not_deployed_while_something_is_missing(scenario):
    scenario.file(MAIN, STRICT)
    scenario.comment("tidegate deploy -p live/app")
    assert "2 approvals" in scenario.reply
    assert scenario.names == []


def test_who_forces_a_deployment_is_told_that_it_locks(scenario):
    scenario.comment("tidegate deploy --force")
    assert "It locks the queues of these roots" in scenario.reply


def test_what_is_fulfilled_is_not_asked_for_again(scenario):
    scenario.file(MAIN, STRICT)
    scenario.approve("reviewer")
    scenario.approve("maintainer")
    scenario.comment("tidegate deploy")
    assert scenario.names == ["live/app"]
    assert scenario.forge.comments == []


def test_approvals_of_people_who_may_not_write_do_not_count(scenario):
    scenario.file(MAIN, STRICT.replace("2", "1"))
    scenario.approve("visitor")
    scenario.comment("tidegate deploy")
    assert "there are none" in scenario.reply
    assert scenario.names == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"is_open": False}, "is closed"),
        ({"from_fork": True}, "comes from a fork"),
    ],
)
def test_what_is_always_required_is_not_passed_over_by_force(scenario, fields, words):
    scenario.pull(**fields)
    scenario.comment("tidegate deploy --force")
    assert words in scenario.reply
    assert scenario.names == []


@pytest.mark.parametrize("command", ["deploy", "deploy --force", "deploy -p live/app"])
def test_what_is_merged_is_not_deployed_by_a_comment_and_nobody_is_told_to_reopen_it(scenario, command):
    scenario.pull(is_open=False, merged=True)
    scenario.comment(f"tidegate {command}")
    assert "is merged already" in scenario.reply
    assert f"`tidegate deploy {REPOSITORY} ROOT`" in scenario.reply
    assert "Reopen" not in scenario.reply
    assert scenario.names == []


def test_force_passes_over_what_is_configured_warns_and_is_audited(scenario):
    scenario.file(MAIN, STRICT)
    scenario.pull(mergeable=None, failing_checks=tuple(f"check-{number}" for number in range(12)))
    scenario.comment("tidegate deploy --force")
    (deployment,) = scenario.enqueued
    assert deployment.request.forced
    assert "**Forced** by `writer`" in scenario.reply
    assert "2 approvals" in scenario.reply
    assert "and 2 more" in scenario.reply
    assert "not known yet" in scenario.reply
    assert [message.state for message in scenario.audit.published] == [FORCED]
    assert scenario.forge.reactions == [(70, "rocket")]


def test_without_force_the_reply_tells_of_it(scenario):
    scenario.file(MAIN, STRICT.replace("2", "1"))
    scenario.comment("atlantis deploy")
    assert "1 approval of the current head" in scenario.reply
    assert "there are none" in scenario.reply
    assert "`atlantis deploy --force`" in scenario.reply


def test_force_where_nothing_is_missing_is_told_and_audited_all_the_same(scenario):
    scenario.comment("tidegate deploy --force")
    assert "bypassed nothing" in scenario.reply
    assert [message.state for message in scenario.audit.published] == [FORCED]


def test_a_configuration_of_the_default_branch_that_cannot_be_used_grants_nothing(scenario):
    scenario.file(MAIN, "version: 1\nplan_revew: never\n")
    scenario.comment("tidegate deploy --force")
    assert "`tidegate.yaml` is invalid (line 2)" in scenario.reply
    assert scenario.names == []


def test_all_mistakes_of_a_file_that_cannot_be_used_are_told(scenario):
    scenario.file(MAIN, "version: 1\nplan_revew: never\nengin: tofu\n")
    scenario.comment("tidegate deploy")
    assert "`tidegate.yaml` is invalid. It has 2 errors:\n\n- Line 2: " in scenario.reply
    assert "\n- Line 3: " in scenario.reply


def test_of_very_many_mistakes_the_first_are_told_and_the_others_counted(scenario):
    scenario.file(MAIN, "version: 1\n" + "".join(f"wrong{number}: {'x' * 5000}\n" for number in range(50)))
    scenario.comment("tidegate deploy")
    assert "It has 50 errors" in scenario.reply
    assert scenario.reply.count("\n- Line ") == 20
    assert scenario.reply.endswith("\n- … and 30 more: `tidegate validate` shows them all")


def test_a_pull_request_without_anything_in_common_is_answered(scenario):
    scenario.forge.changes.clear()
    scenario.comment("tidegate deploy")
    assert scenario.reply.startswith("> `tidegate deploy`\n\n**Nothing was done.**")


def test_what_is_no_command_is_answered(scenario):
    scenario.comment("tidegate deplyo")
    assert "Did you mean `deploy`?" in scenario.reply


def test_help_explains_the_commands_to_everybody(scenario):
    scenario.comment("atlantis help", by="visitor")
    assert "`atlantis unlock -p ROOT`" in scenario.reply


def test_a_comment_that_comes_again_is_answered_once(scenario):
    scenario.comment("tidegate deploy -p nothing", delivery="again")
    scenario.comment("tidegate deploy -p nothing", delivery="again")
    assert len(scenario.forge.comments) == 1


def test_a_comment_whose_delivery_has_expired_is_answered_and_deploys_nothing(scenario):
    scenario.deliveries.store = lambda _delivery: True
    scenario.comment("tidegate deploy")
    assert "**Nothing was done.** There is no delivery" in scenario.reply
    assert scenario.names == []


LATER = sha(4)


def push_later(scenario):
    """Push another commit to the pull request's branch."""
    scenario.trees[LATER] = {**scenario.trees[HEAD], "live/db/main.tf": "# later"}
    scenario.forge.changes["main", LATER] = Change(BASE, Authors(("author",)))
    scenario.pull(head_sha=LATER)


def test_a_comment_deploys_no_head_that_was_pushed_after_it_was_judged(scenario):
    scenario.workflows.refusals = 1
    with pytest.raises(ExceptionGroup):
        scenario.comment("tidegate deploy --force", delivery="again")
    push_later(scenario)
    scenario.comment("tidegate deploy --force", delivery="again")
    assert [deployment.revision.sha for deployment in scenario.enqueued] == [HEAD]
    assert f"`{LATER[:7]}` is not deployed" in scenario.reply
    assert [message.state for message in scenario.audit.published] == [FORCED]
    scenario.comment("tidegate deploy", delivery="another")
    assert {deployment.revision.sha for deployment in scenario.enqueued} == {HEAD, LATER}


@pytest.mark.parametrize("by", ["writer", "visitor"])
@pytest.mark.parametrize(
    "command", ["tidegate deploy --force", "tidegate deploy -p nothing", "tidegate help", "tidegate unlock -p live/app"]
)
def test_an_answer_that_the_forge_refuses_is_told_in_the_outcome_and_raises_nothing(scenario, command, by):
    scenario.lock("live/app")
    scenario.forge.silence = ForgeRefused(404, "Not Found")
    outcome = scenario.comment(command, by=by, delivery="deleted")
    assert "The reply could not be posted: The VCS provider refused the request (404)" in outcome
    assert "retries the event" not in scenario.deliveries.outcomes["deleted"]


@pytest.mark.parametrize("command", ["tidegate deploy", "tidegate unlock"])
def test_what_the_app_lacks_is_replied_and_the_comment_is_done_with(scenario, command):
    scenario.forge.failures = [AppLacksPermission(422, ("statuses: read",))]
    outcome = scenario.comment(command, delivery="lacking")
    assert "`statuses: read`" in scenario.reply
    assert "Comment again" in scenario.reply
    assert scenario.enqueued == []
    assert "retries the event" not in outcome


def test_what_the_app_lacks_to_reply_at_all_is_the_outcome(scenario):
    scenario.forge.failures = [AppLacksPermission(422, ("pull_requests: write",))]
    scenario.forge.silence = AppLacksPermission(422, ("pull_requests: write",))
    outcome = scenario.comment("tidegate deploy", delivery="lacking")
    assert "lacks the permission `pull_requests: write`" in outcome
    assert "retries the event" not in scenario.deliveries.outcomes["lacking"]


def test_what_was_enqueued_is_not_done_again_because_a_reaction_was_put_off(scenario):
    scenario.forge.silence = ForgeUnavailable("502 Bad Gateway")
    outcome = scenario.comment("tidegate deploy", delivery="again")
    assert "Enqueued: live/app. The reaction could not be added" in outcome
    push_later(scenario)
    scenario.comment("tidegate deploy", delivery="again")
    assert [deployment.revision.sha for deployment in scenario.enqueued] == [HEAD]


def test_a_reply_that_the_forge_puts_off_comes_later(scenario):
    scenario.forge.silence = ForgeUnavailable("502 Bad Gateway")
    with pytest.raises(ForgeUnavailable):
        scenario.comment("tidegate deploy -p nothing", delivery="again")
    scenario.forge.silence = None
    scenario.comment("tidegate deploy -p nothing", delivery="again")
    assert "There is no root" in scenario.reply


def test_a_comment_that_the_forge_puts_off_is_received_again(scenario):
    scenario.forge.failures = [ForgeUnavailable("secondary limit", 60)]
    with pytest.raises(ForgeUnavailable):
        scenario.comment("tidegate deploy", delivery="again")
    assert "retries the event" in scenario.deliveries.outcomes["again"]
    scenario.comment("tidegate deploy", delivery="again")
    assert scenario.names == ["live/app"]


def test_a_deployment_that_could_not_be_enqueued_comes_again(scenario):
    scenario.workflows.refusals = 1
    with pytest.raises(ExceptionGroup) as caught:
        scenario.comment("tidegate deploy", delivery="again")
    assert caught.group_contains(CloudUnavailable)
    scenario.comment("tidegate deploy", delivery="again")
    assert scenario.names == ["live/app"]
    assert len(scenario.workflows.starts) == 1


POLICIES = """
version: 1
policy_sets:
  words: {paths: [policies], owners: ['user:reviewer']}
  others: {paths: [policies], tag_query: prod}
"""


def test_the_plan_of_a_head_is_held_against_policy_sets_also_where_it_is_forced(scenario):
    scenario.trees[MAIN] = {**scenario.trees[MAIN], "policies/main.rego": "package main"}
    scenario.file(MAIN, POLICIES)
    scenario.comment("tidegate deploy --force")
    (deployment,) = scenario.enqueued
    (held,) = deployment.policies.sets
    assert (held.name, held.owners, held.problem) == ("words", ("user:reviewer",), "")
    assert held.key in scenario.artifacts.objects


def of_root(scenario, name, state=None):
    """Return the deployments of a root, the newest last; let the newest be in flight in a state, if one is given."""
    queue = queue_id(REPOSITORY, name)
    found = sorted((each for each in scenario.enqueued if each.root.name == name), key=lambda each: each.request.at)
    if state is not None:
        head, _ = scenario.queues.read(queue)
        begun = replace(found[-1], state=state)
        after = replace(head, in_flight=begun.id)
        scenario.queues.commit(head, after, take=waiting_for(found[-1]), deployment=begun)
    return found


@pytest.mark.parametrize("state", [None, State.PLANNING, State.AWAITING_REVIEW])
def test_what_is_in_line_already_is_answered_with_that_unless_it_is_forced(scenario, state):
    scenario.comment("tidegate deploy")
    of_root(scenario, "live/app", state)
    scenario.comment("tidegate deploy -p live/app -p live/db", by="maintainer")
    assert scenario.names == ["live/app"]
    words = state.replace("_", " ") if state else "queued"
    assert f"`live/app` at `{HEAD[:7]}` is already queued ({words}): `writer` requested it on" in scenario.reply
    assert "(https://github.com/acme/infra/pull/5/checks)" in scenario.reply
    assert scenario.reply.count("live/db") == 1  # In what it quotes.
    assert "`tidegate deploy --force`" in scenario.reply
    scenario.forge.comments.clear()
    scenario.comment("tidegate deploy --force", by="maintainer")
    assert len(of_root(scenario, "live/app")) == 2


def test_what_has_ended_or_is_of_another_commit_is_deployed_again(scenario):
    scenario.comment("tidegate deploy")
    of_root(scenario, "live/app", State.REJECTED)
    scenario.comment("tidegate deploy")
    assert len(of_root(scenario, "live/app")) == 2
    scenario.trees[BASE] = scenario.trees[HEAD]
    scenario.forge.changes["main", BASE] = Change(MAIN, Authors())
    scenario.pull(head_sha=BASE)
    scenario.comment("tidegate deploy -p live/app")
    assert len(of_root(scenario, "live/app")) == 3
    assert scenario.forge.comments == []


def test_what_checks_require_of_a_root_and_what_is_in_line_are_told_together(scenario):
    scenario.comment("tidegate deploy")
    scenario.file(MAIN, "version: 1\napply_requirements: {checks: [{tag_query: '', approved: {}}]}\n")
    scenario.comment("tidegate deploy")
    assert "is already queued (" in scenario.reply
    assert "1 approval" in scenario.reply
