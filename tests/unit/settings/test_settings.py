from __future__ import annotations

import pytest
from pydantic import ValidationError

from tidegate.deploys.rules.queue import ROUNDS_PER_EXECUTION
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.settings import (
    CiTokenSettings,
    ForgeSettings,
    InvalidSecretError,
    InvalidSettingError,
    LinkSettings,
    MachineSettings,
    MissingSettingError,
    PlanSlotSettings,
    ReviewSettings,
    TableSettings,
    gitlab_secret_fields,
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
    assert (LinkSettings.from_env({}).execution, LinkSettings.from_env({}).web) == ("", "")


def test_settings_do_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        TableSettings.from_env({"TIDEGATE_TABLE": "table"}).table = "other"


def test_every_plan_is_reviewed_unless_said_otherwise():
    assert ReviewSettings.from_env({}).plan_review is PlanReview.ALWAYS
    assert ReviewSettings.from_env({"TIDEGATE_PLAN_REVIEW": "manual"}).plan_review is PlanReview.MANUAL
    with pytest.raises(InvalidSettingError, match="TIDEGATE_PLAN_REVIEW is 'sometimes'"):
        _ = ReviewSettings.from_env({"TIDEGATE_PLAN_REVIEW": "sometimes"}).plan_review


def test_a_repository_has_as_many_places_for_plans_as_the_installation_says():
    assert PlanSlotSettings.from_env({"TIDEGATE_PULL_REQUEST_PLANS": "3"}).limit == 3
    with pytest.raises(MissingSettingError):
        PlanSlotSettings.from_env({})
    for wrong in ("0", "-1", "many"):
        with pytest.raises(InvalidSettingError, match=f"TIDEGATE_PULL_REQUEST_PLANS is '{wrong}'"):
            _ = PlanSlotSettings.from_env({"TIDEGATE_PULL_REQUEST_PLANS": wrong}).limit


def test_an_execution_works_for_a_hundred_rounds_unless_less_is_said():
    assert MachineSettings.from_env({}).rounds == ROUNDS_PER_EXECUTION
    assert MachineSettings.from_env({"TIDEGATE_ROUNDS_PER_EXECUTION": "2"}).rounds == 2
    for wrong in ("0", "101", "many"):
        with pytest.raises(InvalidSettingError, match=f"TIDEGATE_ROUNDS_PER_EXECUTION is '{wrong}'"):
            _ = MachineSettings.from_env({"TIDEGATE_ROUNDS_PER_EXECUTION": wrong}).rounds


SECRET = {"TIDEGATE_APP_SECRET_NAME": "tidegate/gitlab"}


def test_gitlab_is_where_it_usually_is():
    settings = ForgeSettings.from_env({**SECRET, "TIDEGATE_FORGE": "gitlab"})
    assert settings.is_gitlab
    assert (settings.url, settings.api_url) == ("https://gitlab.com", "https://gitlab.com/api/v4")


@pytest.mark.parametrize("name", ["TIDEGATE_FORGE_URL", "BURRITO_CONTROLLER_GITLABCONFIG_URL"])
def test_gitlab_may_be_elsewhere_by_either_name(name):
    settings = ForgeSettings.from_env({**SECRET, "TIDEGATE_FORGE": "gitlab", name: "https://git.example/"})
    assert (settings.url, settings.api_url) == ("https://git.example", "https://git.example/api/v4")


def test_gitlabs_address_is_none_of_githubs():
    settings = ForgeSettings.from_env({**SECRET, "BURRITO_CONTROLLER_GITLABCONFIG_URL": "https://git.example"})
    assert (settings.is_gitlab, settings.url) == (False, "https://github.com")


def test_the_names_of_the_design_give_tokens():
    given = {"BURRITO_CONTROLLER_GITLABCONFIG_APITOKEN": "lab", "BURRITO_CONTROLLER_GITHUBCONFIG_APITOKEN": "hub"}
    settings = ForgeSettings.from_env({**SECRET, **given})
    assert (settings.gitlab_token, settings.github_token) == ("lab", "hub")


def test_another_forge_is_refused():
    with pytest.raises(InvalidSettingError, match=r"TIDEGATE_FORGE is 'sourcehut'.*'github' or 'gitlab'"):
        _ = ForgeSettings.from_env({**SECRET, "TIDEGATE_FORGE": "sourcehut"}).url


def test_the_secret_of_gitlabs_user_has_two_tokens():
    fields = gitlab_secret_fields("tidegate/gitlab", '{"token": "a", "clone_token": "b", "client_id": "c"}')
    assert fields == {"token": "a", "clone_token": "b", "client_id": "c"}


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"token": "a"}', '{"clone_token": "b"}', '{"token": "", "clone_token": "b"}']
)
def test_another_form_of_the_secret_is_refused(text):
    with pytest.raises(InvalidSecretError, match="tidegate/gitlab"):
        gitlab_secret_fields("tidegate/gitlab", text)


@pytest.mark.parametrize(
    ("given", "issuer", "keys"),
    [
        ({}, "https://token.actions.githubusercontent.com", "/.well-known/jwks"),
        ({"TIDEGATE_FORGE_URL": "https://git.acme/"}, "https://git.acme/_services/token", "/.well-known/jwks"),
        ({"TIDEGATE_FORGE": "gitlab"}, "https://gitlab.com", "/oauth/discovery/keys"),
        ({"TIDEGATE_CI_ISSUER": "https://ci.acme/x/"}, "https://ci.acme/x", "/.well-known/jwks"),
    ],
)
def test_tokens_of_ci_are_issued_where_the_provider_documents_it(given, issuer, keys):
    settings = CiTokenSettings.from_env(given)
    assert (settings.issuer, settings.keys_url, settings.audience) == (issuer, issuer + keys, "")
