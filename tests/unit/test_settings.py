from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from tidegate.domain.review import ReviewPolicy
from tidegate.settings import ForgeSettings, LinkSettings, MissingSettingError, ReviewSettings, TableSettings


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
    assert ReviewSettings.from_env({}).policy is ReviewPolicy.ALWAYS
    assert ReviewSettings.from_env({"TIDEGATE_REVIEW_POLICY": "when_needed"}).policy is ReviewPolicy.WHEN_NEEDED
    with pytest.raises(ValueError, match="sometimes"):
        _ = ReviewSettings.from_env({"TIDEGATE_REVIEW_POLICY": "sometimes"}).policy
