"""``tidegate smoke`` passes in a local cloud, calls what its policy allows, and leaves nothing behind."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from tidegate_cli.main import app
from tidegate_cli.smoke import checks, plan, report
from tidegate_cli.smoke.command import local_scene
from tidegate_cli.smoke.course import run
from tidegate_cli.smoke.names import Names
from tidegate_cli.smoke.permissions import ACTIONS
from tidegate_cli.smoke.places import LocalPlace
from tidegate_cli.smoke.remembered import remembered

#: What IAM calls otherwise, or the check alone calls.
_OTHERWISE = {
    "s3:DeleteObjects": "s3:DeleteObjectVersion",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
}
_OF_THE_CHECK = {"iam:SimulatePrincipalPolicy", "sts:GetCallerIdentity"}
_SERVICES = {"monitoring": "cloudwatch"}


class Watched:
    """A local cloud that remembers what the smoke test called."""

    def __init__(self, place):
        self._place, self.called = place, set()

    def __getattr__(self, name):
        return getattr(self._place, name)

    def client(self, service):
        client = self._place.client(service)
        client.meta.events.register("before-call.*.*", self._remember)
        return client

    def _remember(self, model, **_):
        prefix = model.service_model.signing_name
        name = f"{_SERVICES.get(prefix, prefix)}:{model.name}"
        self.called.add(_OTHERWISE.get(name, name))


@pytest.mark.nightly
def test_a_smoke_test_passes_and_is_cleaned_by_who_knows_its_prefix_alone():
    place = LocalPlace(Names("smoke-00000000"))
    try:
        watched = Watched(place)
        scene = local_scene(watched, {})
        arn = checks.identify(scene)
        checks.refuse_taken(scene)
        scene.scratch.examine()
        trials = run(plan.trial_steps(scene, arn), [], place.pause, lambda *_: None)
        assert [each for each in trials if each.verdict != "passed"] == []
        # As after a crash: all that is known is the prefix.
        left = remembered(scene.names, watched, lambda: "maintainer")
        cleaned = run([], plan.cleaning_steps(left), place.pause, lambda *_: None)
        assert [each for each in cleaned if each.verdict != "passed"] == []
        checks.refuse_taken(left)
        assert report.document(left, cleaned, 0.0)["passed"]
        assert {"cloudwatch:SetAlarmState", "dynamodb:DeleteTable", "ecs:StopTask", "sns:Subscribe"} <= watched.called
        assert watched.called <= {each for actions in ACTIONS.values() for each in actions} | _OF_THE_CHECK
    finally:
        place.close()


@pytest.mark.nightly
def test_a_smoke_test_with_plans_on_lambda_passes_and_says_where_they_ran():
    result = CliRunner().invoke(app, ["smoke", "--local", "-c", "plan_runner=lambda"])
    assert result.exit_code == 0, result.output
    assert result.output.count("plan ran on Lambda") == result.output.count("was planned on Lambda") == 1
