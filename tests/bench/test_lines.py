"""What ``make bench`` prints: its form, never its times."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.lines import Line, medians, noise

TOP = Path(__file__).parents[2]
NAMES = {
    "configuration_loaded",
    "webhook_cold_start",
    "webhook_warm_cpu",
    "webhook_warm_cpu_ignored",
    "discovery_warm",
    "discovery_cold",
    "discovery_warm_grows",
    "discovery_cold_grows",
    "deploy_terraform_data",
    "deploy_aws_provider",
    "runner_memory",
    "deploy_cost",
    "deploy_queue_calls",
    "pull_request_first_sign",
    "pull_request_calls_per_root",
    "pull_request_many_roots",
    "log_line_seen",
    "page_of_deployments",
    "queue_one_root",
    "queue_many_roots",
    "update_announced_to_auto",
    "update_green_to_landed",
    "update_landing_calls",
    "update_dynamodb_calls",
    "update_while_checks_run",
    "update_queue_stacked",
    "update_queue_rebuilt",
    "fleet_history_events",
    "fleet_dynamodb_calls",
    "fleet_own_seconds",
    "cluster_workflow_built",
    "cluster_workflow_rendered",
    "cluster_task",
    "cluster_resumed",
    "cluster_fleet_history_events",
    "cluster_fleet_dynamodb_calls",
    "cluster_fleet_own_seconds",
    "modelled_push_to_plan",
    "modelled_approve_to_applied",
    "cold_path",
}


def test_a_ratio_at_its_target_meets_it_and_one_above_does_not() -> None:
    assert Line("deploy", median=1.15, baseline=1.0, target=1.15).met is True
    assert Line("deploy", median=1.16, baseline=1.0, target=1.15).met is False


def test_a_difference_is_compared_whatever_the_ratio_is() -> None:
    line = Line("deploy", median=1.2, baseline=0.3, target=1.0, compared="difference")
    assert (line.met, line.fields()["ratio"]) == (True, 4.0)


def test_a_line_without_a_target_neither_meets_nor_misses_it() -> None:
    assert Line("cost", median=2.0, baseline=1.0, target=None).met is None


def test_each_side_has_its_own_median_and_the_noise_is_that_of_the_pairs() -> None:
    pairs = [(2.0, 1.0), (9.0, 3.0), (4.0, 4.0)]
    assert medians(pairs) == (4.0, 3.0)
    assert noise(pairs) == {"runs": 3, "ratio_of_pairs": [1.0, 3.0]}


@pytest.mark.nightly
@pytest.mark.cloud
def test_a_quick_run_prints_a_line_of_json_for_every_benchmark() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick"], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["name"] for line in lines} == NAMES
    for line in lines:
        assert {"ratio", "median", "baseline_median", "target", "met", "unit"} <= line.keys()
        # Of so few roots, how often their progress is shown counts for more than how many they are; and nothing runs
        # while checks do.
        assert line["median"] > 0 or line["name"] in {"pull_request_calls_per_root", "update_while_checks_run"}
        assert line["baseline_median"] > 0
    cost = next(line for line in lines if line["name"] == "deploy_cost")
    assert cost["billed"]["state_transitions"]["units"] > 0 < cost["dynamodb_calls"]["PutItem"]
