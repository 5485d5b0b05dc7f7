"""By which names ECS tells that it has too much to do, and that each is tried again."""

from __future__ import annotations

import json
from typing import Any

from tests.aws.contract import Template, states

#: What a start of a task fails with in a burst, and who has seen it.
NAMES = {
    "ECS.AmazonECSException": "throttling, and no capacity: CloudSnorkel/cdk-github-runners#341",
    "ECS.ClientException": "ECS has no exception for throttling: aws/aws-sdk#821, dask/dask-cloudprovider#56",
    "ECS.InvalidParameterException": "EC2 throttles ECS: cdklabs/construct-hub#415, dagster-io/dagster#33439",
    "ECS.ServerException": "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html",
    "AmazonECS.Unknown": "failures: https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html",
}


def test_a_start_that_is_refused_in_a_burst_is_tried_again(template: dict[str, Any]):
    machines = [
        each for each in Template(template).resources.values() if "DefinitionString" in each.get("Properties", {})
    ]
    every = [states(json.loads(machine["Properties"]["DefinitionString"])) for machine in machines]
    starts = [each for found in every for each in found if ":::ecs:runTask" in each[1].get("Resource", "")]
    assert len(starts) == 6
    for name, state in starts:
        assert set(NAMES) <= {error for retry in state["Retry"] for error in retry["ErrorEquals"]}, name
