"""Workload identity: what the file says of AWS by tokens, of Google Cloud and of Azure, and what is refused where."""

from __future__ import annotations

import pytest

from tests.configuration import load, mistakes
from tests.resolving import only, refusal, resolve
from tidegate.config.configured import how_changed
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import rule_changes
from tidegate.config.trust import proposed
from tidegate.deploys.rules.targets import AzureTarget, GoogleTarget
from tidegate.roots.rules.root import Root

AWS = "{account: '111111111111', plan_role: plan, apply_role: deploy, identity: web_identity}"
PROVIDER = "projects/1234/locations/global/workloadIdentityPools/tidegate/providers/tidegate"
OF = "acme-prod.iam.gserviceaccount.com"
GOOGLE = f"{{provider: {PROVIDER}, plan_service_account: plan-infra@{OF}, apply_service_account: apply-infra@{OF}}}"
ID = "01234567-89ab-cdef-0123-456789abcde"
AZURE = f"{{tenant_id: {ID}0, plan_client_id: {ID}1, apply_client_id: {ID}2}}"
APP = Root("app", "app")


def file(top: str = "", root: str = "", stack: str = "", group: str = "") -> str:
    return f"""
{top}
dirs: {{app: {{{root}}}}}
stacks: {{names: {{live: {{tag_query: '', {stack}}}, all: {{stacks: [live], {group}}}}}}}
"""


@pytest.mark.parametrize("where", ["top", "root", "stack", "group"])
def test_each_cloud_may_be_said_of_a_root_a_stack_a_stack_group_and_the_file(where: str) -> None:
    for key, text in (("aws", AWS), ("google", GOOGLE), ("azure", AZURE)):
        one = only(file(**{where: f"{key}: {text}"}))
        assert {name: bool(who) for name, who in one.accounts.items() if who} == {key: True}
        assert file(**{where: f"{key}: x"}).splitlines()[one.sources[key] - 1].count(f"{key}:") == 1


def test_what_a_root_leaves_open_is_as_around_it() -> None:
    one = only(
        file(
            f"google: {GOOGLE}\nazure: {AZURE}",
            root=f"google: {{plan_service_account: 'reader@{OF}'}}",
            stack=f"azure: {{subscription_id: {ID}3}}",
        )
    )
    assert one.run.google == GoogleTarget(PROVIDER, f"reader@{OF}", f"apply-infra@{OF}")
    assert one.run.azure == AzureTarget(f"{ID}0", f"{ID}1", f"{ID}2", f"{ID}3")


def test_roles_are_chained_unless_the_file_says_otherwise() -> None:
    target = only(file(f"aws: {AWS}", root="aws: {identity: role_chaining}")).run.aws
    assert target is not None
    assert not target.web_identity


def test_a_list_of_roots_and_workspaces_say_it_as_well() -> None:
    assert only(f"roots: [{{dir: app, google: {GOOGLE}}}]").run.google is not None
    workspaces = f"dirs: {{app: {{azure: {AZURE}, workspaces: {{a: {{azure: {{subscription_id: {ID}3}}}}}}}}}}"
    (one,) = resolve(workspaces).roots
    assert one.run.azure == AzureTarget(f"{ID}0", f"{ID}1", f"{ID}2", f"{ID}3")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("aws: {identity: saml}", "identity"),
        ("google: {provider: pool}", "projects/NUMBER/locations/global"),
        ("google: {plan_service_account: me@example.com}", "iam.gserviceaccount.com"),
        ("azure: {tenant_id: mine}", "01234567-89ab"),
        ("azure: {client_id: x}", "client_id"),
    ],
)
def test_what_no_cloud_knows_is_refused_with_its_line(text: str, told: str) -> None:
    (said, *_) = mistakes(text)
    assert told in str(said)
    assert "tidegate.yaml:1" in str(said)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("aws: {identity: web_identity}", "but no role"),
        (f"google: {{provider: {PROVIDER}}}", "google has no plan_service_account"),
        (f"azure: {{tenant_id: {ID}0, plan_client_id: {ID}1, apply_client_id: {ID}1}}", "are both"),
    ],
)
def test_what_is_incomplete_is_refused_for_its_roots(text: str, told: str) -> None:
    assert told in refusal(file(text))


@pytest.mark.parametrize(("key", "text"), [("aws", AWS), ("google", GOOGLE), ("azure", AZURE)])
def test_only_the_default_branch_grants_it(key: str, text: str) -> None:
    mine, theirs = load("dirs: {app: }"), load(f"{key}: {text}\ndirs: {{app: }}")
    told = proposed(mine, [APP], theirs, [APP]).configured.refused["app"]
    assert f"Its roles ({key}) differ from the default branch" in told
    assert not proposed(theirs, [APP], theirs, [APP]).configured.refused
    assert not proposed(theirs, [APP], mine, [APP]).configured.refused


def test_the_way_to_a_role_is_granted_by_the_default_branch_too() -> None:
    chained = AWS.replace("web_identity", "role_chaining")
    mine, theirs = load(f"aws: {chained}\ndirs: {{app: }}"), load(f"aws: {AWS}\ndirs: {{app: }}")
    assert "app" in proposed(mine, [APP], theirs, [APP]).configured.refused


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [("google", GOOGLE, "service accounts (google)"), ("azure", AZURE, "applications (azure)")],
)
def test_another_account_is_a_change_of_rules_and_of_how_the_root_is_deployed(key: str, text: str, words: str) -> None:
    before, after = load("dirs: {app: }"), load(f"{key}: {text}\ndirs: {{app: , new: }}")
    then, now = configure(before, [APP]), configure(after, [APP, Root("new", "new")])
    assert rule_changes((before, then), (after, now), []) == (f"{key} of app and new",)
    assert how_changed(then.roots[0], now.roots[0]) == words
