"""What becomes of a push: deployments, check runs and recorded reasons, each once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest

from tests.builders import any_pull_request, any_pull_request_record, seen, sha
from tests.fakes import MemoryWebhookVerifier
from tests.instants import utc
from tests.unit.usecases.push_world import AFTER, CHANGED, ROOTS, World
from tests.unit.usecases.trees import BASE
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
from tidegate.vcs.rules.push import Pushed
from tidegate.vcs.rules.pushers import HeadPush


@pytest.fixture
def world():
    return World()


@contextmanager
def refusing(world, *roots):
    """Let the table take no deployment of these roots."""
    enqueue = world.queues.enqueue

    def enqueue_others(deployment, seen=None):
        if deployment.root.name in roots:
            raise CloudUnavailable("DynamoDB", "ThrottlingException")
        return enqueue(deployment, seen)

    with patch.object(world.queues, "enqueue", enqueue_others):
        yield


def test_a_push_becomes_one_deployment_for_each_changed_root(world):
    outcome = world.receive()
    assert world.names == ["live/app", "live/db"]
    assert "live/app, live/db" in outcome
    assert world.deliveries.outcomes == {"delivery-1": outcome}
    assert world.fetched == [("https://github.com/acme/infra.git", "clone-token-of-acme/infra", sha(1), AFTER)]


def test_a_push_whose_delivery_has_expired_is_received_all_the_same(world):
    world.deliveries.store = lambda _delivery: True
    world.receive()
    assert world.names == ["live/app", "live/db"]
    assert world.deliveries.outcomes == {}


def test_the_files_freeze_windows_are_kept_before_anything_is_enqueued(world):
    world.new = {**world.new, "tidegate.yaml": "version: 1\nfreeze: [{cron: 0 16 * * FRI, duration: 64h}]\n"}
    with refusing(world, "live/app", "live/db"), pytest.raises(ExceptionGroup):
        world.receive()
    (window,) = world.queues.freezes("acme/infra").windows
    assert (window.cron, world.names) == ("0 16 * * FRI", [])


def test_a_deployment_tells_who_asked_for_what_and_when(world):
    world.receive()
    first = world.enqueued[0]
    assert (first.repository, first.revision.sha, first.revision.branch) == ("acme/infra", AFTER, "main")
    assert (first.request.trigger, first.state, first.request.by) == (Trigger.MERGE, State.QUEUED, "octocat")
    assert first.request.at == utc("2026-03-02T08:00")


def test_a_push_remembers_its_repository_and_tells_its_deployments(world):
    outcome = world.receive()
    known = KnownRepository("acme/infra", "main", AFTER, utc("2026-03-02T08:00"))
    assert world.repository_index.repositories() == [known]
    ids = tuple(deployment.id for deployment in world.enqueued)
    assert world.deliveries.outcome("delivery-1") == DeliveryOutcome(outcome, ids)


def test_a_deployment_keeps_its_authors_and_the_review_of_the_pushed_file(world):
    world.new = {
        **CHANGED,
        "tidegate.yaml": "version: 1\nroots: [{dir: live/app, plan_review: manual}, {dir: live/db}]\n",
    }
    world.receive()
    assert {deployment.commits.authors for deployment in world.enqueued} == {("author",)}
    assert [deployment.settings.review_rule for deployment in world.enqueued] == [
        ReviewRule(PlanReview.MANUAL),
        ReviewRule(),
    ]


def test_what_no_file_says_the_installation_does():
    world = World(settings={"TIDEGATE_PLAN_REVIEW": "never"})
    world.receive()
    assert {deployment.settings.review_rule.when for deployment in world.enqueued} == {PlanReview.NEVER}


def test_a_head_that_no_push_told_of_is_deployed_as_its_push_would_be(world):
    world.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(("author", "other")))
    world.receive("head-1", event="head")
    first = world.enqueued[0]
    assert (first.request.by, first.commits.authors, first.request.trigger) == (
        "tidegate",
        ("author", "other"),
        Trigger.MERGE,
    )
    world.receive()
    assert world.names == ["live/app", "live/db"]


def test_who_made_a_repositorys_first_push_is_who_made_all_that_it_has(world):
    world.forge.made_by[AFTER] = Authors(("author", "other"))
    world.receive("head-1", event="head", before="0" * 40)
    assert {each.commits.authors for each in world.enqueued} == {("author", "other")}
    assert all(each.commits.authors_known for each in world.enqueued)


def test_a_head_whose_earlier_commit_is_gone_has_no_known_authors(world):
    world.receive("head-1", event="head")
    assert (world.enqueued[0].commits.authors, world.enqueued[0].commits.authors_known) == ((), False)


EXCLUDING = {**CHANGED, "tidegate.yaml": "version: 1\nplan_review: {exclude_authors: true}\n"}


def test_who_opened_the_pull_request_is_an_author_where_authors_do_not_count(world):
    world.new = EXCLUDING
    spec = any_pull_request(5, author="opener")
    world.forge.seen[5] = seen(spec)
    world.forge.came_with[AFTER] = (5,)
    world.ports.pull_requests.save(any_pull_request_record(spec=spec))
    world.receive()
    assert {(each.commits.authors, each.commits.authors_known) for each in world.enqueued} == {
        (("author", "opener"), True)
    }


@pytest.mark.parametrize(("is_known", "authors"), [(True, ("author", "pusher")), (False, ("author",))])
def test_who_pushed_to_the_pull_request_is_an_author_as_well_and_may_not_be_known(world, is_known, authors):
    world.new = EXCLUDING
    spec = any_pull_request(5)
    world.forge.seen[5] = seen(spec)
    world.forge.came_with[AFTER] = (5,)
    pushes = HeadPush("", sha(8), "author"), HeadPush(sha(8), spec.head_sha, "pusher")
    if is_known:
        world.ports.pull_requests.save(any_pull_request_record(spec=replace(spec, pushes=pushes)))
    world.receive()
    assert {(each.commits.authors, each.commits.authors_known) for each in world.enqueued} == {(authors, is_known)}


def test_a_pull_request_that_cannot_be_looked_up_leaves_the_authors_unknown(world):
    world.new = EXCLUDING
    world.receive()
    assert {(each.commits.authors, each.commits.authors_known) for each in world.enqueued} == {(("author",), False)}


def test_a_push_that_does_not_tell_its_authors_has_them_looked_up(world):
    world.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(("author",), known=False))
    world.receive(authors=None)
    assert (world.enqueued[0].commits.authors, world.enqueued[0].commits.authors_known) == (("author",), False)


LATER = utc("2026-03-02T08:05")


def receive_later(world, before, after, **fields):
    """Receive a push that came five minutes later."""
    return world.receive(f"later-{after[:4]}", LATER, before=before, after=after, authors=[], **fields)


def head_of(world):
    return next(each for each in world.deliveries.unqueued(utc("9999-12-31")) if each.event == "head")


def test_what_a_lost_push_before_this_one_changed_is_deployed_as_well_and_first(world):
    world.receive()
    world.forget()
    world.old, world.new = CHANGED, {**CHANGED, "live/db/main.tf": "# third"}
    assert "The webhook for the changes from" in receive_later(world, sha(3), sha(4))
    missed = head_of(world)
    assert (missed.fields["before"], missed.fields["after"]) == (AFTER, sha(3))
    world.new = {**CHANGED, "live/app/main.tf": "# second", "live/db/main.tf": "# second"}
    receive_push(world.ports, missed)
    waiting = world.queues.waiting("acme/infra||live/db")
    assert [each.revision for each in waiting] == [AFTER, sha(3), sha(4)]
    assert [each.revision for each in world.queues.waiting("acme/infra||live/app")] == [AFTER, sha(3)]
    assert world.repository_index.repository("acme/infra").seen == sha(4)


def test_what_is_asked_of_a_lost_push_is_asked_of_the_one_that_contains_it(world):
    world.receive()
    world.forget()
    world.old = {**CHANGED, "tidegate.yaml": "version: 1\n"}
    world.new = {**CHANGED, "tidegate.yaml": "plan_review: never\n", "live/db/main.tf": "# third"}
    receive_later(world, sha(3), sha(4))
    lost, own = Pushed(AFTER, sha(3), "main"), Pushed(sha(3), sha(4), "main")
    assert {(each.commits.pushed, each.commits.rule_changes) for each in world.enqueued} == {
        ((lost, own), ("plan_review",))
    }
    assert [(before, after) for *_, before, after in world.fetched[1:]] == [(sha(3), sha(4)), (AFTER, sha(3))]


@pytest.mark.parametrize("found", ["", "["], ids=["gone", "cannot be used"])
def test_where_a_lost_push_cannot_be_read_it_may_have_changed_the_rules(world, found):
    world.receive()
    world.forget()
    world.old, world.new = CHANGED, {**CHANGED, "live/db/main.tf": "# third"}
    world.unreadable[sha(3)] = found
    receive_later(world, sha(3), sha(4))
    assert {each.commits.rule_changes for each in world.enqueued} == {("tidegate.yaml",)}


def test_a_lost_push_is_found_again_when_the_push_after_it_is_received_again(world):
    world.receive()
    world.forge.failures = [ForgeUnavailable("502")]
    with pytest.raises(ForgeUnavailable):
        receive_later(world, sha(3), sha(4))
    receive_later(world, sha(3), sha(4))
    receive_later(world, sha(3), sha(4))
    assert [each.event for each in world.deliveries.unqueued(utc("9999-12-31"))].count("head") == 1


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
    world, before, fields, comparison
):
    world.receive()
    world.forge.comparison = comparison
    receive_later(world, before, sha(4), **fields)
    assert [each.event for each in world.deliveries.unqueued(utc("9999-12-31"))] == ["push", "push"]


def test_the_same_push_again_or_in_another_delivery_enqueues_nothing_more(world):
    world.receive()
    world.receive()
    world.receive("delivery-2")
    assert world.names == ["live/app", "live/db"]


def test_a_forced_push_back_to_a_deployed_commit_is_a_new_request(world):
    world.receive()
    world.receive("delivery-2", before=sha(3), forced=True)
    world.receive("delivery-3", before=sha(3), forced=True)
    assert len(world.enqueued) == 4


def test_one_root_that_cannot_be_enqueued_holds_back_no_other_and_the_push_is_tried_again(world):
    with refusing(world, "live/app"), pytest.raises(ExceptionGroup):
        world.receive()
    assert world.names == ["live/db"]
    world.receive()
    assert world.names == ["live/db", "live/app"]


def test_a_push_that_changes_no_root_leaves_a_reason(world):
    world.new = {**BASE, "README.md": "new"}
    assert world.receive() == "This push changes no root."
    assert world.deliveries.outcomes["delivery-1"]
    assert world.forge.check_runs == {}


def test_a_deleted_root_leaves_a_reason_and_no_deployment(world):
    world.new = {path: text for path, text in BASE.items() if not path.startswith("live/db")}
    assert "Nothing is deployed or destroyed" in world.receive()
    assert world.names == []


def test_a_commit_that_is_gone_leaves_a_reason(world):
    world.gone = True
    assert "The commit" in world.receive()
    assert world.names == []


@pytest.mark.parametrize("failure", [ForgeUnavailable("secondary limit", 60), ForgeRefused(401, "Bad credentials")])
def test_a_forge_that_gives_no_token_means_trying_again_with_the_reason_recorded(world, failure):
    world.forge.failures = [failure]
    with pytest.raises(type(failure)):
        world.receive()
    assert "retries the event" in world.deliveries.outcomes["delivery-1"]
    world.receive()
    assert world.names == ["live/app", "live/db"]


class TestWhatTheForgeConfirms:
    """Pushes of forges whose webhooks are not signed."""

    GUARDED = "plan_review: never\naccess_control: {policies: [{tag_query: '', apply: ['user:owner']}]}\n"

    @pytest.fixture
    def world(self):
        return World(settings={"TIDEGATE_PLAN_REVIEW": "never"}, webhook_verifier=MemoryWebhookVerifier())

    def pushed(self, world, *by, event="push"):
        """Receive what claims to be a push of the owner; the forge has one ``by`` somebody, if any."""
        if by:
            world.ports.webhook_verifier.pushes["main", AFTER] = ports.Pushed(*by)
        world.new = {**CHANGED, "tidegate.yaml": self.GUARDED}
        world.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(("author",)))
        world.forge.readers = {"owner", "developer"}
        claimed = {"sender": "owner", "authors": None} if event == "push" else {}
        return world.receive(event=event, **claimed)

    def rules(self, world):
        return {each.settings.review_rule.when for each in world.enqueued}

    def test_who_pushed_is_whom_the_forge_names(self, world):
        self.pushed(world, "owner")
        assert self.rules(world) == {PlanReview.NEVER}
        assert {each.request.by for each in world.enqueued} == {"owner"}

    def test_a_name_that_only_the_webhook_tells_grants_nothing(self, world):
        self.pushed(world, "developer")
        assert self.rules(world) == {PlanReview.ALWAYS}
        assert {each.request.by for each in world.enqueued} == {"developer"}

    def test_what_nobody_knows_who_pushed_waits_for_people(self, world):
        self.pushed(world, None)
        assert self.rules(world) == {PlanReview.ALWAYS}
        assert {each.request.by for each in world.enqueued} == {"tidegate"}

    def test_a_push_that_the_forge_does_not_know_deploys_nothing(self, world):
        assert "is not on main" in self.pushed(world)
        assert (world.enqueued, world.fetched) == ([], [])
        with pytest.raises(NotFound):
            world.repository_index.repository("acme/infra")

    def test_heads_that_tidegate_found_itself_are_not_asked_for(self, world):
        self.pushed(world, event="head")
        assert world.names


def test_pull_requests_are_told_what_changed_in_their_base_branch(world):
    world.open_pull_request()
    world.receive()
    told = world.pull_request
    assert (told.base_now, told.overtaken, told.rules) == (AFTER, ("live/app", "live/db"), ApplyRules())
    assert replans(world) == []


def test_another_file_may_have_changed_everything_for_pull_requests(world):
    file = "apply: in_pull_request\npull_requests: {replan_on_base_change: true}\n"
    world.new = {**CHANGED, "tidegate.yaml": file}
    world.open_pull_request()
    world.receive()
    told = world.pull_request
    assert (told.base_now, told.overtaken, told.rules) == (AFTER, ROOTS, ApplyRules(ApplyMode.IN_PULL_REQUEST))
    assert replans(world) == [5]


def replans(world):
    """Return the pull requests that are to be planned again."""
    stored = world.deliveries.unqueued(utc("9999-12-31"))
    return [each.fields["pull_request"] for each in stored if each.fields.get("action") == BASE_MOVED]


def test_without_pull_requests_nobody_is_told(world):
    world.receive()
    assert world.ports.event_publisher.ended == []


@pytest.mark.parametrize(
    ("wanted", "more", "altered"),
    [(2, {}, ()), (2, {"live/db/main.tf": "# evil"}, (AFTER,)), (0, {"live/db/main.tf": "# evil"}, ())],
    ids=["as git makes it", "edited", "this check requires nothing"],
)
def test_deployments_know_which_merges_hold_more_than_their_pull_request(world, wanted, more, altered):
    file = f"apply_requirements: {{approved: {{any_of_count: {wanted}}}}}\n" if wanted else "version: 1\n"
    head, base = sha(7), {**CHANGED, "tidegate.yaml": file}
    world.old = {**BASE, "tidegate.yaml": base["tidegate.yaml"]}
    world.new, world.made = {**base, **more}, base
    world.forge.changes[sha(1), AFTER] = Change(sha(1), Authors(), commits=(head, AFTER))
    world.forge.changes[sha(1), head] = Change(sha(1), Authors(), commits=(head,))
    world.forge.came_with = {AFTER: (5,)}
    spec = replace(seen().spec, head_sha=head, base="main")
    world.forge.seen[5] = replace(seen(spec, is_open=False, merged=True), merge_sha=AFTER)
    world.receive()
    assert {each.commits.pushed for each in world.enqueued} == {(Pushed(sha(1), AFTER, "main", altered),)}


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
def test_deployments_know_that_what_came_before_may_have_deployed_nothing_of_their_root(world, before, after, back):
    world.old = {**BASE, "tidegate.yaml": before}
    world.new = {**CHANGED, "tidegate.yaml": after}
    world.receive()
    assert {each.root.name for each in world.enqueued if each.commits.returns} == back


def test_deployments_know_the_push_that_brought_them_and_what_their_roots_require(world):
    checks = "{checks: [{tag_query: 'dir:live/db', approved: {any_of_count: 2}}]}"
    world.new = {**CHANGED, "tidegate.yaml": f"version: 1\napply_requirements: {checks}\n"}
    world.receive()
    app, db = sorted(world.enqueued, key=lambda each: each.root.name)
    assert {each.commits.pushed for each in (app, db)} == {(Pushed(sha(1), AFTER, "main"),)}
    assert [each.approvals for each in db.settings.requires] == [2]
    assert (app.settings.requires, app.settings.unmatched, db.settings.unmatched) == ((), True, False)
