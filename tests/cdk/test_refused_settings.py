"""What the app, and a local cloud that runs it, say of settings that cannot be used."""

from __future__ import annotations

import pytest

from tidegate_cdk.runner_settings import InvalidContext
from tidegate_cdk.sources import ROOT
from tidegate_cdk.synthesis import UnknownContext, refuse_unknown_keys
from tidegate_local.stack.synth import SynthFailed, synthesize


def test_a_setting_that_cannot_be_used_is_told_in_one_line():
    with pytest.raises(
        SynthFailed, match=r"^Synthesis failed: Context key operators_team is 'foo', but must be a team"
    ):
        synthesize(ROOT, {"operators_team": "foo"})


@pytest.mark.parametrize(
    ("key", "advice"),
    [("apply_policiez", "Did you mean apply_policies?"), ("colour", "tidegate_cdk/README.md lists all keys.")],
)
def test_a_key_that_is_none_is_refused(key: str, advice: str):
    with pytest.raises(UnknownContext) as refused:
        refuse_unknown_keys({"prefix": "acme", key: "red"})
    assert str(refused.value).startswith(f"Unknown context key {key}. {advice} ")


def test_keys_of_the_cdk_itself_are_left_alone():
    refuse_unknown_keys({"aws:cdk:bundling-stacks": [], "@aws-cdk/core:x": True, "acknowledged-issue-numbers": [1]})


def test_half_of_two_that_go_together_is_named_as_missing():
    told = str(InvalidContext("subnets", "", "set: vpc and subnets belong together"))
    assert told.startswith("Context key subnets is not set, but must be set: vpc and subnets belong together. ")


def test_the_hint_names_what_the_command_line_takes():
    assert "-c apply_target_roles=…" in str(InvalidContext("apply_target_roles[0].role", "x", "the ARN of a role"))
