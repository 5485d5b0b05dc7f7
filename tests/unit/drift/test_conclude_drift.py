"""What a run found is kept and shown, and undone if the repository wants that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import REPOSITORY
from tests.fakes.ports import changed
from tests.unit.drift.drift_scenario import CHANGED, HEAD, NIGHTLY, SAME, DriftScenario
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.state import State
from tidegate.drift.conclude_drift import fail_drift
from tidegate.rules.errors import CloudUnavailable, ForgeRefused, ForgeUnavailable, NotFound
from tidegate.vcs.rules.check_run import Conclusion

RECONCILE = NIGHTLY.replace("daily", "daily, reconcile: true")
CHECK = NIGHTLY.replace("daily", "daily, report: check")


@pytest.fixture
def scenario():
    scenario = DriftScenario()
    scenario.align()
    return scenario


def test_what_was_found_is_kept_and_told(scenario):
    assert scenario.look(app=CHANGED, db=None) == "1 failed, 1 drifted"
    assert scenario.states() == {"app": "drifted", "db": "failed"}
    record = scenario.record()
    assert (record.execution, record.sha) == ("", HEAD)
    assert [each.summary for each in scenario.told] == ["1 failed, 1 drifted"]


def test_a_run_is_concluded_once(scenario):
    scenario.look(app=CHANGED)
    before = scenario.record()
    assert scenario.conclude() == "overtaken"
    assert scenario.conclude("run-9") == "overtaken"
    assert scenario.conclude(name="gone") == "overtaken"
    assert scenario.record() == before


def test_the_plans_of_the_run_before_are_removed(scenario):
    scenario.look(app=CHANGED)
    first = scenario.record().layers
    scenario.artifacts.put(CHANGED.file.key, b"plan")
    scenario.look("run-2", app=CHANGED)
    assert scenario.layers.many(first) == []
    assert CHANGED.file.key not in scenario.artifacts.objects
    assert len(scenario.layers.many(scenario.record().layers)) == 2
    assert scenario.record().former == ()


def test_an_issue_is_opened_kept_and_closed_once_the_drift_is_gone(scenario):
    scenario.look()
    assert scenario.issues.calls == 0
    scenario.look("run-2", app=CHANGED)
    assert scenario.issues.opened == {1}
    assert "| `app` | drifted" in scenario.issues.texts[1]
    scenario.look("run-3", app=CHANGED, db=CHANGED)
    assert list(scenario.issues.texts) == [1]
    assert "| `db` | drifted" in scenario.issues.texts[1]
    scenario.look("run-4")
    assert scenario.issues.opened == set()
    assert "**No drift**" in scenario.issues.texts[1]
    assert (scenario.record().issue, scenario.record().is_reported) == (1, False)
    scenario.look("run-5", app=CHANGED)
    assert scenario.issues.opened == {1}


def test_an_issue_that_was_opened_and_not_remembered_is_found(scenario):
    scenario.look(app=CHANGED)
    scenario.put(issue=0, is_reported=False)
    scenario.look("run-2", app=CHANGED)
    assert list(scenario.issues.texts) == [1]
    assert scenario.record().issue == 1


def test_an_issue_that_was_deleted_is_opened_anew(scenario):
    scenario.look(app=CHANGED)
    scenario.issues.gone.add(1)
    scenario.look("run-2", app=CHANGED)
    assert scenario.record().issue == 2


def test_an_issue_that_goes_while_it_is_looked_for_is_opened_anew(scenario):
    scenario.look(app=CHANGED)
    scenario.put(issue=0, is_reported=False)
    scenario.issues.hasty.add(1)
    scenario.look("run-2", app=CHANGED)
    assert scenario.record().issue == 2


def test_a_check_run_on_the_commit_shows_it_instead(scenario):
    scenario.look(app=CHANGED)
    scenario.align(CHECK)
    scenario.look("run-2", app=CHANGED)
    assert scenario.issues.opened == set()
    (shown,) = scenario.forge.check_runs.values()
    assert (shown.sha, shown.conclusion) == (HEAD, Conclusion.FAILURE)
    scenario.look("run-3")
    assert scenario.forge.updates[-1][1].conclusion is Conclusion.SUCCESS


def test_where_no_commit_was_looked_at_there_is_no_check_run(scenario):
    scenario.align(CHECK)
    scenario.forge.failures = [ForgeRefused(404, "no such repository")]
    scenario.discover()
    scenario.conclude()
    assert scenario.forge.check_runs == {}


def test_what_the_forge_refuses_to_show_is_said_on_the_page(scenario):
    scenario.issues.failures = [ForgeRefused(403, "no permission for issues")]
    scenario.look(app=CHANGED)
    assert "could not report the result" in scenario.record().notice
    assert scenario.states()["app"] == "drifted"


def test_while_the_forge_does_not_answer_the_page_tells_and_the_same_run_shows_it_later(scenario):
    scenario.issues.failures = [ForgeUnavailable("503")]
    with pytest.raises(ForgeUnavailable):
        scenario.look(app=CHANGED)
    assert scenario.states()["app"] == "drifted"
    assert scenario.conclude() == "1 drifted, 1 without drift"
    assert scenario.issues.opened == {1}


def test_a_run_in_which_tidegate_failed_says_so_and_leaves_what_was_known(scenario):
    scenario.look(app=CHANGED)
    scenario.discover("run-2")
    assert fail_drift(scenario.ports, REPOSITORY, "nightly", "run-2", "Lambda.Unknown", "") == "failed"
    record = scenario.record()
    assert record.notice.startswith("Drift detection stopped with an internal error: ")
    assert (record.execution, scenario.states()["app"]) == ("", "drifted")
    assert fail_drift(scenario.ports, REPOSITORY, "nightly", "run-2", "Lambda.Unknown", "") == "overtaken"


def test_the_file_may_change_a_schedule_while_a_run_goes_on(scenario):
    scenario.discover()
    scenario.align(NIGHTLY.replace("daily", "weekly"))
    scenario.conclude()
    assert scenario.record().entry.timetable.words.startswith("weekly")


def test_a_schedule_that_goes_while_it_is_shown_stays_away(scenario):
    scenario.discover()

    class TakingAway:
        def looked_for(self, _record):
            scenario.align("{}\n")

    scenario.ports = changed(scenario.ports, drift_events=TakingAway())
    scenario.conclude()
    with pytest.raises(NotFound):
        scenario.record()


def test_a_run_that_was_taken_over_while_it_was_shown_does_not_end_the_other(scenario):
    scenario.discover()

    class TakenOver:
        def looked_for(self, _record):
            scenario.put(execution="run-2")

    scenario.ports = changed(scenario.ports, drift_events=TakenOver())
    scenario.conclude()
    assert scenario.record().execution == "run-2"


def test_drift_is_undone_by_deployments_if_the_schedule_says_so(scenario):
    scenario.align(RECONCILE)
    scenario.look(app=CHANGED)
    assert scenario.deliver() == "Queued deployments to undo drift: app."
    (deployment,) = scenario.deployments.all()
    assert (deployment.request.trigger, deployment.revision.sha, deployment.request.by) == (
        Trigger.DRIFT,
        HEAD,
        "tidegate",
    )
    assert deployment.change.why == "The schedule nightly found drift."
    assert deployment.settings.review_rule.when is PlanReview.ALWAYS
    (drifted,) = scenario.record().drifted
    assert drifted.deployment == deployment.id
    assert scenario.deliveries.is_queued(scenario.events.sent[-1].id)


def test_without_drift_nothing_is_asked_for(scenario):
    scenario.align(RECONCILE)
    scenario.look()
    assert scenario.events.sent == []


def test_the_same_run_asks_once(scenario):
    scenario.align(RECONCILE)
    scenario.events.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.look(app=CHANGED)
    scenario.conclude()
    scenario.deliver()
    scenario.deliver()
    assert len(scenario.deployments.all()) == 1


def test_as_long_as_one_waits_no_other_is_asked_for(scenario):
    scenario.align(RECONCILE)
    scenario.look(app=CHANGED)
    scenario.deliver()
    scenario.look("run-2")
    assert scenario.states() == {"app": "skipped", "db": "none"}
    assert len(scenario.events.sent) == 1
    assert scenario.issues.opened == {1}


def test_what_somebody_rejected_is_not_asked_for_again_while_the_drift_lasts(scenario):
    scenario.align(RECONCILE)
    scenario.look(app=CHANGED)
    scenario.deliver()
    (deployment,) = scenario.deployments.all()
    head, waiting = scenario.queues.read(deployment.queue)
    scenario.queues.commit(head, head, take=waiting, deployment=replace(deployment, state=State.REJECTED))
    scenario.look("run-2", app=CHANGED)
    assert scenario.states()["app"] == "drifted"
    assert len(scenario.events.sent) == 1
    scenario.look("run-3")
    scenario.look("run-4", app=CHANGED)
    assert len(scenario.events.sent) == 2


def test_only_who_may_deploy_deploys_unseen(scenario):
    rule = "plan_review: never\naccess_control: {policies: [{tag_query: '', apply: [%s]}]}\n"
    for access, when in (("'user:ann'", PlanReview.ALWAYS), ("'*'", PlanReview.NEVER)):
        scenario = DriftScenario()
        scenario.align(RECONCILE + rule % access)
        scenario.look(app=CHANGED)
        scenario.deliver()
        (deployment,) = scenario.deployments.all()
        assert deployment.settings.review_rule.when is when


@pytest.mark.parametrize("broken", [{}, {"tidegate.yaml": "roots: 3\n"}])
def test_a_request_whose_commit_is_gone_or_unusable_says_so(scenario, broken):
    scenario.align(RECONCILE)
    scenario.look(app=CHANGED)
    scenario.trees = {HEAD: broken} if broken else {}
    assert scenario.deliver().endswith("No deployment was queued.")
    assert scenario.deployments.all() == []


def test_each_stack_of_a_root_is_undone_by_itself(scenario):
    names = "{a: {tag_query: 'dir:app'}, b: {tag_query: 'dir:app'}}"
    scenario.align(f"{RECONCILE}stacks: {{allow_workspace_in_multiple_stacks: true, names: {names}}}\n")
    scenario.look(a=SAME, b=CHANGED, by=lambda layer: layer.stack)
    scenario.deliver()
    (deployment,) = scenario.deployments.all()
    assert deployment.stack == "b"
    assert scenario.record().drifted[0].deployment == deployment.id
    assert scenario.record().repository == REPOSITORY
