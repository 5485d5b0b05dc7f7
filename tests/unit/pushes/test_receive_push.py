"""What becomes of a push: deployments, check runs and recorded reasons, each once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest

from tests.builders import any_pull_request, any_pull_request_record, seen, sha
from tests.fakes import MemoryWebhookVerifier
from tests.instants import utc
from tests.unit.discovery.trees import BASE
from tests.unit.pushes.push_scenario import AFTER, CHANGED, ROOTS, Scenario
from tidegate import ports
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.ports import Change, DeliveryOutcome, KnownRepository
from tidegate.pull_requests.notify_base_moved import BASE_MOVED
from tidegate.pushes.receive_push import receive_push
from tidegate.rules.errors import CloudUnavailable, ForgeRefused, ForgeUnavailable, NotFound
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.headline import Headline
from tidegate.vcs.rules.push import Pushed
from tidegate.vcs.rules.pushers import HeadPush


@pytest.fixture
def scenario():
    return Scenario()


@contextmanager
def refusing(scenario, *roots):
    """Let the table take no deployment of these roots."""
    enqueue = scenario.queues.enqueue

    def enqueue_others(deployment, seen=None):
        if deployment.root.name in roots:
            raise CloudUnavailable("DynamoDB", "ThrottlingException")
        return enqueue(deployment, seen)

    with patch.object(scenario.queues, "enqueue", enqueue_others):
        yield


def test_a_push_becomes_one_deployment_for_each_changed_root(scenario):
    outcome = scenario.receive()
    assert scenario.names == ["live/app", "live/db"]
    assert "live/app, live/db" in outcome
    assert scenario.deliveries.outcomes == {"delivery-1": outcome}
    assert scenario.fetched == [("https://github.com/acme/infra.git", "clone-token-of-acme/infra", sha(1), AFTER)]


def test_a_push_whose_delivery_has_expired_is_received_all_the_same(scenario):
    scenario.deliveries.store = lambda _delivery: True
    scenario.receive()
    assert scenario.names == ["live/app", "live/db"]
    assert scenario.deliveries.outcomes == {}


def test_the_files_freeze_windows_are_kept_before_anything_is_enqueued(scenario):
    scenario.new = {**scenario.new, "tidegate.yaml": "version: 1\nfreeze: [{cron: 0 16 * * FRI, duration: 64h}]\n"}
    with refusing(scenario, "live/app", "live/db"), pytest.raises(ExceptionGroup):
        scenario.receive()
    (window,) = scenario.queues.freezes("acme/infra").windows
    assert (window.cron, scenario.names) == ("0 16 * * FRI", [])


def test_a_deployment_tells_who_asked_for_what_and_when(scenario):
    scenario.receive()
    first = scenario.enqueued[0]
    assert (first.repository, first.revision.sha, first.revision.branch) == ("acme/infra", AFTER, "main")
    assert (first.request.trigger, first.state, first.request.by) == (Trigger.MERGE, State.QUEUED, "octocat")
    assert first.request.at == utc("2026-03-02T08:00")


def test_a_deployment_tells_what_its_change_is(scenario):
    scenario.forge.headlines[AFTER] = Headline("Merge branch 'app'", "octocat")
    spec = any_pull_request(title="Grow the app", author="developer")
    scenario.forge.seen[5] = seen(spec, is_open=False, merged=True, merge_sha=AFTER)
    scenario.forge.came_with[AFTER] = (5,)
    scenario.receive()
    told = {each.request.headline for each in scenario.enqueued}
    assert told == {Headline("Merge branch 'app'", "developer", "", 5, "Grow the app")}


def test_a_push_remembers_its_repository_and_tells_its_deployments(scenario):
    outcome = scenario.receive()
    known = KnownRepository("acme/infra", "main", AFTER, utc("2026-03-02T08:00"))
    assert scenario.repository_index.repositories() == [known]
    ids = tuple(deployment.id for deployment in scenario.enqueued)
    assert scenario.deliveries.outcome("delivery-1") == DeliveryOutcome(outcome, ids)


def test_a_deployment_keeps_its_authors_and_the_review_of_the_pushed_file(scenario):
    scenario.new = {
        **CHANGED,
        "tidegate.yaml": "version: 1\nroots: [{dir: live/app, plan_review: manual}, {dir: live/db}]\n",
    }
    scenario.receive()
    assert {deployment.commits.authors for deployment in scenario.enqueued} == {("author",)}
    assert [deployment.settings.review_rule for deployment in scenario.enqueued] == [
        ReviewRule(PlanReview.MANUAL),
        ReviewRule(),
    ]


def test_what_no_file_says_the_installation_does():
    scenario = Scenario(settings={"TIDEGATE_PLAN_REVIEW": "never"})
    scenario.receive()
    assert {deployment.settings.review_rule.when for deployment in scenario.enqueued} == {PlanReview.NEVER}


def test_a_head_that_no_push_told_of_is_deployed_as_its_push_would_be(scenario):
    scenario.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(("author", "other")))
    scenario.receive("head-1", event="head")
    first = scenario.enqueued[0]
    assert (first.request.by, first.commits.authors, first.request.trigger) == (
        "tidegate",
        ("author", "other"),
        Trigger.MERGE,
    )
    scenario.receive()
    assert scenario.names == ["live/app", "live/db"]


def test_who_made_a_repositorys_first_push_is_who_made_all_that_it_has(scenario):
    scenario.forge.made_by[AFTER] = Authors(("author", "other"))
    scenario.receive("head-1", event="head", before="0" * 40)
    assert {each.commits.authors for each in scenario.enqueued} == {("author", "other")}
    assert all(each.commits.authors_known for each in scenario.enqueued)


def test_a_head_whose_earlier_commit_is_gone_has_no_known_authors(scenario):
    scenario.receive("head-1", event="head")
    assert (scenario.enqueued[0].commits.authors, scenario.enqueued[0].commits.authors_known) == ((), False)


EXCLUDING = {**CHANGED, "tidegate.yaml": "version: 1\nplan_review: {exclude_authors: true}\n"}


def test_who_opened_the_pull_request_is_an_author_where_authors_do_not_count(scenario):
    scenario.new = EXCLUDING
    spec = any_pull_request(5, author="opener")
    scenario.forge.seen[5] = seen(spec)
    scenario.forge.came_with[AFTER] = (5,)
    scenario.ports.pull_requests.save(any_pull_request_record(spec=spec))
    scenario.receive()
    assert {(each.commits.authors, each.commits.authors_known) for each in scenario.enqueued} == {
        (("author", "opener"), True)
    }


@pytest.mark.parametrize(("is_known", "authors"), [(True, ("author", "pusher")), (False, ("author",))])
def test_who_pushed_to_the_pull_request_is_an_author_as_well_and_may_not_be_known(scenario, is_known, authors):
    scenario.new = EXCLUDING
    spec = any_pull_request(5)
    scenario.forge.seen[5] = seen(spec)
    scenario.forge.came_with[AFTER] = (5,)
    pushes = HeadPush("", sha(8), "author"), HeadPush(sha(8), spec.head_sha, "pusher")
    if is_known:
        scenario.ports.pull_requests.save(any_pull_request_record(spec=replace(spec, pushes=pushes)))
    scenario.receive()
    assert {(each.commits.authors, each.commits.authors_known) for each in scenario.enqueued} == {(authors, is_known)}


def test_a_pull_request_that_cannot_be_looked_up_leaves_the_authors_unknown(scenario):
    scenario.new = EXCLUDING
    scenario.receive()
    assert {(each.commits.authors, each.commits.authors_known) for each in scenario.enqueued} == {(("author",), False)}


def test_a_push_that_does_not_tell_its_authors_has_them_looked_up(scenario):
    scenario.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(("author",), known=False))
    scenario.receive(authors=None)
    assert (scenario.enqueued[0].commits.authors, scenario.enqueued[0].commits.authors_known) == (("author",), False)


LATER = utc("2026-03-02T08:05")


def receive_later(scenario, before, after, **fields):
    """Receive a push that came five minutes later."""
    return scenario.receive(f"later-{after[:4]}", LATER, before=before, after=after, authors=[], **fields)


def head_of(scenario):
    return next(each for each in scenario.deliveries.unqueued(utc("9999-12-31")) if each.event == "head")


def test_what_a_lost_push_before_this_one_changed_is_deployed_as_well_and_first(scenario):
    scenario.receive()
    scenario.forget()
    scenario.old, scenario.new = CHANGED, {**CHANGED, "live/db/main.tf": "# third"}
    assert "The webhook for the changes from" in receive_later(scenario, sha(3), sha(4))
    missed = head_of(scenario)
    assert (missed.fields["before"], missed.fields["after"]) == (AFTER, sha(3))
    scenario.new = {**CHANGED, "live/app/main.tf": "# second", "live/db/main.tf": "# second"}
    receive_push(scenario.ports, missed)
    waiting = scenario.queues.waiting("acme/infra||live/db")
    assert [each.revision for each in waiting] == [AFTER, sha(3), sha(4)]
    assert [each.revision for each in scenario.queues.waiting("acme/infra||live/app")] == [AFTER, sha(3)]
    assert scenario.repository_index.repository("acme/infra").seen == sha(4)


def test_what_is_asked_of_a_lost_push_is_asked_of_the_one_that_contains_it(scenario):
    scenario.receive()
    scenario.forget()
    scenario.old = {**CHANGED, "tidegate.yaml": "version: 1\n"}
    scenario.new = {**CHANGED, "tidegate.yaml": "plan_review: never\n", "live/db/main.tf": "# third"}
    receive_later(scenario, sha(3), sha(4))
    lost, own = Pushed(AFTER, sha(3), "main"), Pushed(sha(3), sha(4), "main")
    assert {(each.commits.pushed, each.commits.rule_changes) for each in scenario.enqueued} == {
        ((lost, own), ("plan_review",))
    }
    assert [(before, after) for *_, before, after in scenario.fetched[1:]] == [(sha(3), sha(4)), (AFTER, sha(3))]


@pytest.mark.parametrize("found", ["", "["], ids=["gone", "cannot be used"])
def test_where_a_lost_push_cannot_be_read_it_may_have_changed_the_rules(scenario, found):
    scenario.receive()
    scenario.forget()
    scenario.old, scenario.new = CHANGED, {**CHANGED, "live/db/main.tf": "# third"}
    scenario.unreadable[sha(3)] = found
    receive_later(scenario, sha(3), sha(4))
    assert {each.commits.rule_changes for each in scenario.enqueued} == {("tidegate.yaml",)}


def test_a_lost_push_is_found_again_when_the_push_after_it_is_received_again(scenario):
    scenario.receive()
    scenario.forge.failures = [ForgeUnavailable("502")]
    with pytest.raises(ForgeUnavailable):
        receive_later(scenario, sha(3), sha(4))
    receive_later(scenario, sha(3), sha(4))
    receive_later(scenario, sha(3), sha(4))
    assert [each.event for each in scenario.deliveries.unqueued(utc("9999-12-31"))].count("head") == 1


@pytest.mark.parametrize(
    ("before", "fields", "comparison"),
    [
        (AFTER, {}, Comparison.AHEAD),
        (sha(3), {"forced": True}, Comparison.AHEAD),
        ("0" * 40, {}, Comparison.AHEAD),
        (sha(3), {}, Comparison.BEHIND),
        (sha(3), {}, Comparison.DIVERGED),
        (sha(3), {}, Comparison.BASE_MISSING),
    ],
    ids=["it follows", "forced", "a new branch", "overtaken", "another history", "the earlier one is gone"],
)
def test_nothing_was_lost_before_a_push_that_follows_was_overtaken_or_rewrote_the_branch(
    scenario, before, fields, comparison
):
    scenario.receive()
    scenario.forge.comparison = comparison
    receive_later(scenario, before, sha(4), **fields)
    assert [each.event for each in scenario.deliveries.unqueued(utc("9999-12-31"))] == ["push", "push"]


def test_the_same_push_again_or_in_another_delivery_enqueues_nothing_more(scenario):
    scenario.receive()
    scenario.receive()
    scenario.receive("delivery-2")
    assert scenario.names == ["live/app", "live/db"]


def test_a_forced_push_back_to_a_deployed_commit_is_a_new_request(scenario):
    scenario.receive()
    scenario.receive("delivery-2", before=sha(3), forced=True)
    scenario.receive("delivery-3", before=sha(3), forced=True)
    assert len(scenario.enqueued) == 4


def test_one_root_that_cannot_be_enqueued_holds_back_no_other_and_the_push_is_tried_again(scenario):
    with refusing(scenario, "live/app"), pytest.raises(ExceptionGroup):
        scenario.receive()
    assert scenario.names == ["live/db"]
    scenario.receive()
    assert scenario.names == ["live/db", "live/app"]


def test_a_push_that_changes_no_root_leaves_a_reason(scenario):
    scenario.new = {**BASE, "README.md": "new"}
    assert scenario.receive() == "This push changes no root."
    assert scenario.deliveries.outcomes["delivery-1"]
    assert scenario.forge.check_runs == {}


def test_a_deleted_root_leaves_a_reason_and_no_deployment(scenario):
    scenario.new = {path: text for path, text in BASE.items() if not path.startswith("live/db")}
    assert "Nothing is deployed or destroyed" in scenario.receive()
    assert scenario.names == []


def test_a_commit_that_is_gone_leaves_a_reason(scenario):
    scenario.gone = True
    assert "The commit" in scenario.receive()
    assert scenario.names == []


@pytest.mark.parametrize("failure", [ForgeUnavailable("secondary limit", 60), ForgeRefused(401, "Bad credentials")])
def test_a_forge_that_gives_no_token_means_trying_again_with_the_reason_recorded(scenario, failure):
    scenario.forge.failures = [failure]
    with pytest.raises(type(failure)):
        scenario.receive()
    assert "retries the event" in scenario.deliveries.outcomes["delivery-1"]
    scenario.receive()
    assert scenario.names == ["live/app", "live/db"]


class TestWhatTheForgeConfirms:
    """Pushes of forges whose webhooks are not signed."""

    GUARDED = "plan_review: never\naccess_control: {policies: [{tag_query: '', apply: ['user:owner']}]}\n"

    @pytest.fixture
    def scenario(self):
        return Scenario(settings={"TIDEGATE_PLAN_REVIEW": "never"}, webhook_verifier=MemoryWebhookVerifier())

    def pushed(self, scenario, *by, event="push"):
        """Receive what claims to be a push of the owner; the forge has one ``by`` somebody, if any."""
        if by:
            scenario.ports.webhook_verifier.pushes["main", AFTER] = ports.Pushed(*by)
        scenario.new = {**CHANGED, "tidegate.yaml": self.GUARDED}
        scenario.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(("author",)))
        scenario.forge.readers = {"owner", "developer"}
        claimed = {"sender": "owner", "authors": None} if event == "push" else {}
        return scenario.receive(event=event, **claimed)

    def rules(self, scenario):
        return {each.settings.review_rule.when for each in scenario.enqueued}

    def test_who_pushed_is_whom_the_forge_names(self, scenario):
        self.pushed(scenario, "owner")
        assert self.rules(scenario) == {PlanReview.NEVER}
        assert {each.request.by for each in scenario.enqueued} == {"owner"}

    def test_a_name_that_only_the_webhook_tells_grants_nothing(self, scenario):
        self.pushed(scenario, "developer")
        assert self.rules(scenario) == {PlanReview.ALWAYS}
        assert {each.request.by for each in scenario.enqueued} == {"developer"}

    def test_what_nobody_knows_who_pushed_waits_for_people(self, scenario):
        self.pushed(scenario, None)
        assert self.rules(scenario) == {PlanReview.ALWAYS}
        assert {each.request.by for each in scenario.enqueued} == {"tidegate"}

    def test_a_push_that_the_forge_does_not_know_deploys_nothing(self, scenario):
        assert "is not on main" in self.pushed(scenario)
        assert (scenario.enqueued, scenario.fetched) == ([], [])
        with pytest.raises(NotFound):
            scenario.repository_index.repository("acme/infra")

    def test_heads_that_tidegate_found_itself_are_not_asked_for(self, scenario):
        self.pushed(scenario, event="head")
        assert scenario.names


def test_pull_requests_are_told_what_changed_in_their_base_branch(scenario):
    scenario.open_pull_request()
    scenario.receive()
    told = scenario.pull_request
    assert (told.base_now, told.overtaken, told.rules) == (AFTER, ("live/app", "live/db"), ApplyRules())
    assert replans(scenario) == []


def test_another_file_may_have_changed_everything_for_pull_requests(scenario):
    file = "apply: in_pull_request\npull_requests: {replan_on_base_change: true}\n"
    scenario.new = {**CHANGED, "tidegate.yaml": file}
    scenario.open_pull_request()
    scenario.receive()
    told = scenario.pull_request
    assert (told.base_now, told.overtaken, told.rules) == (AFTER, ROOTS, ApplyRules(ApplyMode.IN_PULL_REQUEST))
    assert replans(scenario) == [5]


def replans(scenario):
    """Return the pull requests that are to be planned again."""
    stored = scenario.deliveries.unqueued(utc("9999-12-31"))
    return [each.fields["pull_request"] for each in stored if each.fields.get("action") == BASE_MOVED]


def test_without_pull_requests_nobody_is_told(scenario):
    scenario.receive()
    assert scenario.ports.event_publisher.ended == []


@pytest.mark.parametrize(
    ("wanted", "more", "altered"),
    [(2, {}, ()), (2, {"live/db/main.tf": "# evil"}, (AFTER,)), (0, {"live/db/main.tf": "# evil"}, ())],
    ids=["as git makes it", "edited", "this check requires nothing"],
)
def test_deployments_know_which_merges_hold_more_than_their_pull_request(scenario, wanted, more, altered):
    file = f"apply_requirements: {{approved: {{any_of_count: {wanted}}}}}\n" if wanted else "version: 1\n"
    head, base = sha(7), {**CHANGED, "tidegate.yaml": file}
    scenario.old = {**BASE, "tidegate.yaml": base["tidegate.yaml"]}
    scenario.new, scenario.made = {**base, **more}, base
    scenario.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(), commits=(head, AFTER))
    scenario.forge.changes[sha(1), head] = Change(sha(1), Authors(), commits=(head,))
    scenario.forge.came_with = {AFTER: (5,)}
    spec = replace(seen().spec, head_sha=head, base="main")
    scenario.forge.seen[5] = replace(seen(spec, is_open=False, merged=True), merge_sha=AFTER)
    scenario.receive()
    assert {each.commits.pushed for each in scenario.enqueued} == {(Pushed(sha(1), AFTER, "main", altered),)}


@pytest.mark.parametrize(
    ("before", "after", "back"),
    [
        ("[", "version: 1\n", {"live/app", "live/db", "modules/network"}),
        ("dirs: {'**': {}, live/db: {root: false}}\n", "version: 1\n", {"live/db"}),
        ("version: 1\n", "plan_review: never\n", set()),
        ("version: 1\n", "version: 1\n", set()),
    ],
    ids=["the file could not be used", "the root was none", "another rule", "the same"],
)
def test_deployments_know_that_what_came_before_may_have_deployed_nothing_of_their_root(scenario, before, after, back):
    scenario.old = {**BASE, "tidegate.yaml": before}
    scenario.new = {**CHANGED, "tidegate.yaml": after}
    scenario.receive()
    assert {each.root.name for each in scenario.enqueued if each.commits.returns} == back


def test_deployments_know_the_push_that_brought_them_and_what_their_roots_require(scenario):
    checks = "{checks: [{tag_query: 'dir:live/db', approved: {any_of_count: 2}}]}"
    scenario.new = {**CHANGED, "tidegate.yaml": f"version: 1\napply_requirements: {checks}\n"}
    scenario.receive()
    app, db = sorted(scenario.enqueued, key=lambda each: each.root.name)
    assert {each.commits.pushed for each in (app, db)} == {(Pushed(sha(1), AFTER, "main"),)}
    assert [each.approvals for each in db.settings.requires] == [2]
    assert (app.settings.requires, app.settings.unmatched, db.settings.unmatched) == ((), True, False)
