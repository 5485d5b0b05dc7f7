from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from tidegate.domain.queue import ROUNDS_PER_EXECUTION
from tidegate.domain.review_rule import PlanReview
from tidegate.settings import (
    ForgeSettings,
    LinkSettings,
    MachineSettings,
    MissingSettingError,
    ReviewSettings,
    TableSettings,
)


def test_a_group_is_read_from_its_variables():
    assert TableSettings.from_env({"TIDEGATE_TABLE": "table"}).table == "table"


@pytest.mark.parametrize("environ", [{}, {"TIDEGATE_TABLE": ""}])
def test_a_missing_variable_is_named(environ):
    with pytest.raises(MissingSettingError, match="TIDEGATE_TABLE") as refusal:
        TableSettings.from_env(environ)
    assert refusal.value.variable == "TIDEGATE_TABLE"


def test_what_has_a_default_may_be_left_out():
    settings = ForgeSettings.from_env({"TIDEGATE_APP_SECRET_NAME": "tidegate/github-app"})
    assert (settings.url, settings.api_url) == ("https://github.com", "https://api.github.com")
    assert LinkSettings.from_env({}) == LinkSettings("", "")


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        TableSettings.from_env({"TIDEGATE_TABLE": "table"}).table = "other"


def test_every_plan_is_reviewed_unless_said_otherwise():
    assert ReviewSettings.from_env({}).plan_review is PlanReview.ALWAYS
    assert ReviewSettings.from_env({"TIDEGATE_PLAN_REVIEW": "manual"}).plan_review is PlanReview.MANUAL
    with pytest.raises(ValueError, match="sometimes"):
        _ = ReviewSettings.from_env({"TIDEGATE_PLAN_REVIEW": "sometimes"}).plan_review


def test_an_execution_works_for_two_hundred_rounds_unless_said_otherwise():
    assert MachineSettings.from_env({}).rounds == ROUNDS_PER_EXECUTION
    assert MachineSettings.from_env({"TIDEGATE_ROUNDS_PER_EXECUTION": "2"}).rounds == 2
    for wrong in ("0", "many"):
        with pytest.raises(ValueError, match=wrong):
            _ = MachineSettings.from_env({"TIDEGATE_ROUNDS_PER_EXECUTION": wrong}).rounds
