"""What a run found is kept and shown, and undone if the repository wants that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import REPOSITORY
from tests.fakes.ports import changed
from tests.unit.usecases.drift_world import CHANGED, HEAD, NIGHTLY, SAME, DriftWorld
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.state import State
from tidegate.drift.conclude_drift import fail_drift
from tidegate.rules.errors import CloudUnavailable, ForgeRefused, ForgeUnavailable, NotFound
from tidegate.vcs.rules.check_run import Conclusion

RECONCILE = NIGHTLY.replace("daily", "daily, reconcile: true")
CHECK = NIGHTLY.replace("daily", "daily, report: check")


@pytest.fixture
def world():
    world = DriftWorld()
    world.align()
    return world


def test_what_was_found_is_kept_and_told(world):
    assert world.look(app=CHANGED, db=None) == "1 failed, 1 drifted"
    assert world.states() == {"app": "drifted", "db": "failed"}
    record = world.record()
    assert (record.execution, record.sha) == ("", HEAD)
    assert [each.summary for each in world.told] == ["1 failed, 1 drifted"]


def test_a_run_is_concluded_once(world):
    world.look(app=CHANGED)
    before = world.record()
    assert world.conclude() == "overtaken"
    assert world.conclude("run-9") == "overtaken"
    assert world.conclude(name="gone") == "overtaken"
    assert world.record() == before


def test_the_plans_of_the_run_before_are_removed(world):
    world.look(app=CHANGED)
    first = world.record().layers
    world.artifacts.put(CHANGED.file.key, b"plan")
    world.look("run-2", app=CHANGED)
    assert world.layers.many(first) == []
    assert CHANGED.file.key not in world.artifacts.objects
    assert len(world.layers.many(world.record().layers)) == 2
    assert world.record().former == ()


def test_an_issue_is_opened_kept_and_closed_once_the_drift_is_gone(world):
    world.look()
    assert world.issues.calls == 0
    world.look("run-2", app=CHANGED)
    assert world.issues.opened == {1}
    assert "| `app` | drifted" in world.issues.texts[1]
    world.look("run-3", app=CHANGED, db=CHANGED)
    assert list(world.issues.texts) == [1]
    assert "| `db` | drifted" in world.issues.texts[1]
    world.look("run-4")
    assert world.issues.opened == set()
    assert "**No drift**" in world.issues.texts[1]
    assert (world.record().issue, world.record().is_reported) == (1, False)
    world.look("run-5", app=CHANGED)
    assert world.issues.opened == {1}


def test_an_issue_that_was_opened_and_not_remembered_is_found(world):
    world.look(app=CHANGED)
    world.put(issue=0, is_reported=False)
    world.look("run-2", app=CHANGED)
    assert list(world.issues.texts) == [1]
    assert world.record().issue == 1


def test_an_issue_that_was_deleted_is_opened_anew(world):
    world.look(app=CHANGED)
    world.issues.gone.add(1)
    world.look("run-2", app=CHANGED)
    assert world.record().issue == 2


def test_an_issue_that_goes_while_it_is_looked_for_is_opened_anew(world):
    world.look(app=CHANGED)
    world.put(issue=0, is_reported=False)
    world.issues.hasty.add(1)
    world.look("run-2", app=CHANGED)
    assert world.record().issue == 2


def test_a_check_run_on_the_commit_shows_it_instead(world):
    world.look(app=CHANGED)
    world.align(CHECK)
    world.look("run-2", app=CHANGED)
    assert world.issues.opened == set()
    (shown,) = world.forge.check_runs.values()
    assert (shown.sha, shown.conclusion) == (HEAD, Conclusion.FAILURE)
    world.look("run-3")
    assert world.forge.updates[-1][1].conclusion is Conclusion.SUCCESS


def test_where_no_commit_was_looked_at_there_is_no_check_run(world):
    world.align(CHECK)
    world.forge.failures = [ForgeRefused(404, "no such repository")]
    world.discover()
    world.conclude()
    assert world.forge.check_runs == {}


def test_what_the_forge_refuses_to_show_is_said_on_the_page(world):
    world.issues.failures = [ForgeRefused(403, "no permission for issues")]
    world.look(app=CHANGED)
    assert "could not report the result" in world.record().notice
    assert world.states()["app"] == "drifted"


def test_while_the_forge_does_not_answer_the_page_tells_and_the_same_run_shows_it_later(world):
    world.issues.failures = [ForgeUnavailable("503")]
    with pytest.raises(ForgeUnavailable):
        world.look(app=CHANGED)
    assert world.states()["app"] == "drifted"
    assert world.conclude() == "1 drifted, 1 without drift"
    assert world.issues.opened == {1}


def test_a_run_in_which_tidegate_failed_says_so_and_leaves_what_was_known(world):
    world.look(app=CHANGED)
    world.discover("run-2")
    assert fail_drift(world.ports, REPOSITORY, "nightly", "run-2", "Lambda.Unknown", "") == "failed"
    record = world.record()
    assert record.notice.startswith("Drift detection stopped with an internal error: ")
    assert (record.execution, world.states()["app"]) == ("", "drifted")
    assert fail_drift(world.ports, REPOSITORY, "nightly", "run-2", "Lambda.Unknown", "") == "overtaken"


def test_the_file_may_change_a_schedule_while_a_run_goes_on(world):
    world.discover()
    world.align(NIGHTLY.replace("daily", "weekly"))
    world.conclude()
    assert world.record().entry.timetable.words.startswith("weekly")


def test_a_schedule_that_goes_while_it_is_shown_stays_away(world):
    world.discover()

    class TakingAway:
        def looked_for(self, _record):
            world.align("{}\n")

    world.ports = changed(world.ports, drift_events=TakingAway())
    world.conclude()
    with pytest.raises(NotFound):
        world.record()


def test_a_run_that_was_taken_over_while_it_was_shown_does_not_end_the_other(world):
    world.discover()

    class TakenOver:
        def looked_for(self, _record):
            world.put(execution="run-2")

    world.ports = changed(world.ports, drift_events=TakenOver())
    world.conclude()
    assert world.record().execution == "run-2"


def test_drift_is_undone_by_deployments_if_the_schedule_says_so(world):
    world.align(RECONCILE)
    world.look(app=CHANGED)
    assert world.deliver() == "Queued deployments to undo drift: app."
    (deployment,) = world.deployments.all()
    assert (deployment.request.trigger, deployment.revision.sha, deployment.request.by) == (
        Trigger.DRIFT,
        HEAD,
        "tidegate",
    )
    assert deployment.change.why == "The schedule nightly found drift."
    assert deployment.settings.review_rule.when is PlanReview.ALWAYS
    (drifted,) = world.record().drifted
    assert drifted.deployment == deployment.id
    assert world.deliveries.is_queued(world.events.sent[-1].id)


def test_without_drift_nothing_is_asked_for(world):
    world.align(RECONCILE)
    world.look()
    assert world.events.sent == []


def test_the_same_run_asks_once(world):
    world.align(RECONCILE)
    world.events.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.look(app=CHANGED)
    world.conclude()
    world.deliver()
    world.deliver()
    assert len(world.deployments.all()) == 1


def test_as_long_as_one_waits_no_other_is_asked_for(world):
    world.align(RECONCILE)
    world.look(app=CHANGED)
    world.deliver()
    world.look("run-2")
    assert world.states() == {"app": "skipped", "db": "none"}
    assert len(world.events.sent) == 1
    assert world.issues.opened == {1}


def test_what_somebody_rejected_is_not_asked_for_again_while_the_drift_lasts(world):
    world.align(RECONCILE)
    world.look(app=CHANGED)
    world.deliver()
    (deployment,) = world.deployments.all()
    head, waiting = world.queues.read(deployment.queue)
    world.queues.commit(head, head, take=waiting, deployment=replace(deployment, state=State.REJECTED))
    world.look("run-2", app=CHANGED)
    assert world.states()["app"] == "drifted"
    assert len(world.events.sent) == 1
    world.look("run-3")
    world.look("run-4", app=CHANGED)
    assert len(world.events.sent) == 2


def test_only_who_may_deploy_deploys_unseen(world):
    rule = "plan_review: never\naccess_control: {policies: [{tag_query: '', apply: [%s]}]}\n"
    for access, when in (("'user:ann'", PlanReview.ALWAYS), ("'*'", PlanReview.NEVER)):
        world = DriftWorld()
        world.align(RECONCILE + rule % access)
        world.look(app=CHANGED)
        world.deliver()
        (deployment,) = world.deployments.all()
        assert deployment.settings.review_rule.when is when


@pytest.mark.parametrize("broken", [{}, {"tidegate.yaml": "roots: 3\n"}])
def test_a_request_whose_commit_is_gone_or_unusable_says_so(world, broken):
    world.align(RECONCILE)
    world.look(app=CHANGED)
    world.trees = {HEAD: broken} if broken else {}
    assert world.deliver().endswith("No deployment was queued.")
    assert world.deployments.all() == []


def test_each_stack_of_a_root_is_undone_by_itself(world):
    names = "{a: {tag_query: 'dir:app'}, b: {tag_query: 'dir:app'}}"
    world.align(f"{RECONCILE}stacks: {{allow_workspace_in_multiple_stacks: true, names: {names}}}\n")
    world.look(a=SAME, b=CHANGED, by=lambda layer: layer.stack)
    world.deliver()
    (deployment,) = world.deployments.all()
    assert deployment.stack == "b"
    assert world.record().drifted[0].deployment == deployment.id
    assert world.record().repository == REPOSITORY
