"""A worker that has worked long enough hands its queue over to a fresh execution, and nothing is lost in between."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.installation import Installation
from tests.e2e.modules import thing
from tests.e2e.project import Project, title
from tidegate.roots.rules.root import queue_id, worker_name
from tidegate_local.client import LocalCloud

pytestmark = pytest.mark.nightly

VALUES = ("one", "two", "three", "four", "five", "six")


@pytest.fixture(scope="module")
def short_lived(tmp_path_factory):
    """An installation whose deploy executions take two deployments each."""
    log = tmp_path_factory.mktemp("hand-over") / "cloud.log"
    with LocalCloud(context={"rounds_per_execution": "2"}, clock=False, log=log) as cloud:
        yield Installation(cloud)


def test_six_deployments_pass_through_three_executions_in_order_and_one_at_a_time(short_lived):
    project = Project(short_lived, "acme/handed-over")
    first = project.push({"app": thing(VALUES[0])})
    asked = project.reviewed(first, "app")
    no_review = {"tidegate.yaml": "version: 1\nplan_review: never\n"}
    others = [project.push({"app": thing(value)}, **no_review) for value in VALUES[1:]]
    for sha in others:  # The place of those far behind is brought up to date rarely.
        project.wait(sha, "app", "Queued")
    project.click(asked, "Approve")
    project.click(project.reviewed(others[0], "app"), "Approve")  # It changes who reviews plans, so people look at it.

    ended = [project.ended(sha, "app") for sha in (first, *others)]
    assert all(title(run).startswith("Applied") for run in ended)
    told = [(message["deployment"], message["state"]) for message in short_lived.cloud.audit()]
    assert told == [(run["external_id"], state) for run in ended for state in ("RUNNING", "SUCCESS")]
    assert project.value("app") == VALUES[-1]
    names = [worker_name(queue_id(project.name, "app"), generation) for generation in (1, 2, 3)]
    executions = {item["name"]: item for item in short_lived.executions("deploy", "handed-over")}
    assert set(executions) == set(names)
    eventually(lambda: [_status(short_lived, name) for name in names] == 3 * ["SUCCEEDED"])


def _status(tidegate, execution):
    [item] = tidegate.executions("deploy", execution)
    return item["status"]
