"""How long providers took, from the engine's own lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.plan_json import read_plan
from runner.provider_times import provider_times, provider_times_of
from tidegate.deploys.rules.provider_time import MOST_PROVIDERS, ProviderTime

AWS = "registry.terraform.io/hashicorp/aws"
KEYED = r'module.a["x\"]: Creation complete after 9h0m0s [id=\n"].aws_x.y["c: d"]'
PROVIDERS = {"aws_x.y": AWS, KEYED: AWS, "aws_x.größe[0]": AWS, "time_sleep.w": "example.com/acme/time"}


def gone(seconds: int) -> str:
    """Return a duration as Go's time.Duration prints whole seconds."""
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{seconds % 60}s"


def seconds_of(*lines: str) -> dict[str, int]:
    return {each.provider: each.seconds for each in provider_times(lines, PROVIDERS)}


def test_changes_are_summed_by_provider_the_slowest_first():
    lines = [
        "aws_x.y: Destroying... [id=1]",
        "aws_x.y: Still destroying... [id=1, 10s elapsed]",
        "aws_x.y: Destruction complete after 12s",
        "aws_x.y: Creating...",
        "aws_x.y: Provisioning with 'local-exec'...",
        "aws_x.y (local-exec): aws_x.y: Creation complete after 3h0m0s",
        "aws_x.y: Still creating... [00m10s elapsed]",
        "aws_x.y: Creation complete after 1m26s [id=i-1]\r\n",
        "time_sleep.w: Modifications complete after 1h0m5s [id=2026]",
        "data.aws_x.q: Read complete after 5s",
        "ephemeral.aws_x.q: Opening complete after 5s",
        "Apply complete! Resources: 1 added, 1 changed, 1 destroyed.",
    ]
    assert provider_times(lines, PROVIDERS) == (
        ProviderTime("example.com/acme/time", 1, 3605, 3605),
        ProviderTime("hashicorp/aws", 2, 98, 86),
    )


def test_a_key_that_looks_like_the_rest_of_a_line_confuses_nothing():
    assert seconds_of(f"{KEYED}: Creation complete after 7s [id=x: Creation complete after 8s]") == {"hashicorp/aws": 7}


def test_deposed_objects_and_names_in_any_script_count():
    assert seconds_of("aws_x.größe[0] (deposed object 0a1b2c3d): Destruction complete after 1m0s") == {
        "hashicorp/aws": 60
    }


@pytest.mark.parametrize(
    "line",
    [
        "aws_x.unknown: Creation complete after 5s",
        "  aws_x.y: Creation complete after 5s",
        "aws_x.y: Creation complete after 5s, more or less",
        "aws_x.y: Creation complete after -1s",
        "aws_x.y: Creation complete after 1.5s",
        "aws_x.y: Creation complete after 500ms",
        "aws_x.y: Creation complete after 123456789h0m0s",
        "aws_x.y: Creation complete after 5s [id=" + "x" * 5000,
    ],
)
def test_other_lines_do_not_count(line):
    assert seconds_of(line) == {}


@given(st.integers(0, 99 * 3600 + 3599), st.sampled_from(["Creation", "Modifications", "Destruction"]))
def test_each_duration_is_read_as_it_was_printed(seconds, what):
    assert seconds_of(f"aws_x.y: {what} complete after {gone(seconds)}") == {"hashicorp/aws": seconds}


@given(st.lists(st.text(max_size=60)), st.dictionaries(st.text(max_size=20), st.text(max_size=300)))
def test_whatever_is_printed_the_result_is_small(lines, providers):
    found = provider_times([*lines, *(f"{each}: Creation complete after 3s" for each in providers)], providers)
    assert len(found) <= MOST_PROVIDERS
    assert all(len(each.provider) <= 100 for each in found)


def test_addresses_are_those_of_the_plan(tmp_path: Path):
    change = {"address": KEYED, "provider_name": AWS, "change": {"actions": ["create"]}}
    plan, log = tmp_path / "plan.json", tmp_path / "log"
    plan.write_text(json.dumps({"format_version": "1.2", "resource_changes": [change]}))
    log.write_text(f"aws_x.y: Creation complete after 9s\n{KEYED}: Creation complete after 7s\n")
    (one,) = provider_times_of(log, 10, read_plan(plan).providers)
    assert (one.provider, one.seconds) == ("hashicorp/aws", 7)


def test_a_deleted_log_tells_nothing(tmp_path: Path):
    assert provider_times_of(tmp_path / "log", 0, PROVIDERS) == ()
