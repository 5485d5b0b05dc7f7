"""Who may do what: over all routes, whatever they are."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from cachetools import TTLCache

from tests.api.calls import CALLS, call, client_for, prepare
from tests.api.scenario import URL, Client, WebScenario
from tests.builders import REPOSITORY, amended, any_lock
from tests.instants import utc
from tidegate.deploys.rules.state import State
from tidegate.ports import KnownRepository
from tidegate.rules.access import Access as RootAccess
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.web.authorization import LISTED_SECONDS
from tidegate.web.rules import RULES, About, Right

SECRET_REPOSITORY = "acme/secret"
ABOUT_SOMETHING = [route for route, rule in RULES.items() if rule.about is not About.NOTHING]
ACTING = [route for route, rule in RULES.items() if rule.right in {Right.ACT, Right.WRITE, Right.OPERATE}]
API = [route for route in RULES if " /api/" in route and RULES[route].right is not Right.PUBLIC]
PAGES = [route for route in RULES if " /api/" not in route and RULES[route].right is not Right.PUBLIC]


def test_every_route_has_a_rule_and_every_rule_a_route(wires):
    app = wires.web.app
    routes = {f"{route.method} {route.path}" for route in [*app._static_routes, *app._dynamic_routes]}
    assert routes == set(RULES) == set(CALLS)


def test_a_route_without_a_rule_answers_like_one_that_does_not_exist(wires, reviewer):
    wires.web.app.get("/api/v1/forgotten")(lambda: {"secret": 1})
    assert reviewer.get("/api/v1/forgotten").json == reviewer.get("/api/v1/nothing").json
    assert reviewer.get("/api/v1/forgotten").status == 404


@pytest.mark.parametrize("route", API)
def test_a_program_without_a_valid_token_is_told_that_it_needs_one(wires, route):
    names = prepare(wires)
    for client in (Client(wires), Client(wires, "nobodys")):
        answer = call(client, route, names)
        assert (answer.status, answer.json["error"]["code"]) == (401, "not_signed_in")
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("route", PAGES)
def test_a_browser_without_a_session_is_sent_to_sign_in_or_refused(wires, route):
    answer = call(Client(wires), route, prepare(wires))
    if route.startswith("GET ") and not route.endswith("/lines"):
        assert (answer.status, answer.headers["location"][:12]) == (303, "/login?next=")
    else:
        assert answer.status == 401


@pytest.mark.parametrize("route", ABOUT_SOMETHING)
def test_what_one_may_not_read_looks_like_what_does_not_exist(wires, route):
    wires.repository_index.remember(KnownRepository(SECRET_REPOSITORY, "main", "0" * 40, utc("2026-01-01")))
    names = prepare(wires, SECRET_REPOSITORY)
    client = client_for(wires, route, "visitor")
    hidden = call(client, route, names)
    missing = {
        "repository": "acme/none",
        "entry": "none",
        "id": "none",
        "job": "none-plan-1",
        "request": "none",
        "change": "none",
    }
    absent = call(client, route, missing)
    assert (hidden.status, hidden.body) == (404, absent.body)
    assert hidden.headers == absent.headers


@pytest.mark.parametrize("route", ACTING)
def test_who_may_only_read_may_not_act(wires, route):
    names = prepare(wires)
    answer = call(client_for(wires, route, "reader"), route, names)
    assert answer.status == 403
    assert "reader" in answer.body
    assert wires.deployments.get(names["id"]).state is State.AWAITING_REVIEW
    assert wires.events.sent == []


@pytest.mark.parametrize("route", sorted(set(ABOUT_SOMETHING) - set(ACTING)))
def test_who_may_read_is_shown_what_is_there(wires, route):
    answer = call(client_for(wires, route, "reader"), route, prepare(wires))
    assert answer.status == 200, answer.text


@pytest.mark.parametrize("route", ACTING)
def test_acting_asks_the_forge_anew(wires, route):
    names = prepare(wires)
    client = client_for(wires, route, "reviewer")
    assert client.get("/api/v1/queue?repository=acme/infra&root=network" if client.token else "/").status == 200
    wires.forge.writers.clear()
    assert call(client, route, names).status == 404


def questions(wires):
    """Let the forge of ``wires`` remember what it is asked; return the list."""
    asked, permission, member = [], wires.forge.permission, wires.forge.is_team_member

    def asks(ask):
        def answer(*arguments):
            asked.append(arguments)
            return ask(*arguments)

        return answer

    wires.put(forge=Overlay(wires.forge, permission=asks(permission), is_team_member=asks(member)))
    return asked


class Overlay:
    """Something with some of its methods replaced."""

    def __init__(self, under, **replaced):
        self._under = under
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(self._under, name)


@pytest.mark.parametrize("login", ["visitor", "reader"])
@pytest.mark.parametrize("route", ACTING)
def test_who_may_not_act_costs_no_more_than_a_few_questions_a_minute(wires, route, login):
    names, asked = prepare(wires), questions(wires)
    ticks = [0.0]
    client = client_for(wires, route, login)
    authorization = wires.web._authorization
    for cache in ("_permissions", "_refusals", "_refused"):
        setattr(authorization, cache, TTLCache(100, 60, lambda: ticks[0]))
    answers = {call(client, route, names).status for _ in range(30)}
    assert (answers, len(asked) <= 3) == ({403 if login == "reader" else 404}, True)
    wires.forge.writers.add(login)
    wires.forge.teams["acme/operators"] = {login}
    ticks[0] = 61
    assert call(client, route, names).status not in {401, 403, 404}


GUARDED = RootAccess(apply=("team:sre",), review=("team:sre",), unlock=("user:reader",))


def guard(wires, names, **fields):
    """Put a deployment under access control; return it."""
    return wires.deployments.save(amended(wires.deployments.get(names["id"]), access=GUARDED, **fields))


@pytest.mark.parametrize("route", [route for route in ACTING if "/review" in route])
def test_a_plan_is_decided_by_whom_access_control_names(wires, route):
    names = prepare(wires)
    guard(wires, names, stack="prod")
    refused = call(client_for(wires, route, "reviewer"), route, names)
    assert refused.status == 403
    told = "Only team:sre can review plans of stack prod, and reviewer is not among them."
    assert told in refused.body
    wires.forge.teams["acme/sre"] = {"reader"}
    assert call(client_for(wires, route, "reader"), route, names).status in {200, 303}
    assert wires.deployments.get(names["id"]).state is State.REJECTED


@pytest.mark.parametrize("route", [route for route in ACTING if "/unlock" in route])
def test_a_queue_is_unlocked_by_whom_the_access_control_of_what_locked_it_names(wires, route):
    names = prepare(wires)
    one = guard(wires, names)
    head, _ = wires.queues.read(one.queue)
    wires.queues.commit(head, replace(head, lock=any_lock(deployment=one.id)))
    refused = call(client_for(wires, route, "reviewer"), route, names)
    assert refused.status == 403
    assert "Only user:reader can unlock the queue of root network" in refused.body
    assert call(client_for(wires, route, "reader"), route, names).status in {200, 303}
    assert wires.queues.read(one.queue)[0].lock is None


def test_who_retries_at_a_gate_must_be_granted_a_deploy(wires):
    names = prepare(wires)
    wires.deployments.save(amended(wires.deployments.get(names["id"]), access=RootAccess(apply=("user:somebody",))))
    refused = Client(wires, "token-of-reviewer").post_json(
        f"/api/v1/deployments/{names['id']}/gate", {"decision": "retry"}
    )
    assert (refused.status, "can deploy root network" in refused.body) == (403, True)
    rejected = Client(wires, "token-of-reviewer").post_json(
        f"/api/v1/deployments/{names['id']}/gate", {"decision": "reject"}
    )
    assert rejected.status == 409


def test_who_is_refused_often_is_not_asked_about_each_time_and_is_asked_about_anew_before_they_may(wires):
    names = prepare(wires)
    guard(wires, names)
    path, client = f"/api/v1/deployments/{names['id']}/review", Client(wires, "token-of-reviewer")
    asked = questions(wires)
    for _ in range(10):
        assert client.post_json(path, {"decision": "reject"}).status == 403
    assert len(asked) <= 3
    wires.deployments.save(amended(wires.deployments.get(names["id"]), access=RootAccess(review=("role:write",))))
    wires.forge.writers.clear()
    wires.forge.readers.add("reviewer")
    assert client.post_json(path, {"decision": "reject"}).status == 403


def test_a_list_of_many_repositories_fills_up_without_using_up_the_calls_of_the_app(wires, reader):
    for number in range(149):
        wires.repository_index.remember(KnownRepository(f"acme/repo-{number:03}", "main", "0" * 40, utc("2026-01-01")))
    asked, ticks = questions(wires), [0.0]
    authorization = wires.web._authorization
    authorization._listed_permissions = TTLCache(200, LISTED_SECONDS, lambda: ticks[0])
    authorization._listed = TTLCache(100, 60, lambda: ticks[0])
    seen = []
    for minute in range(4):
        ticks[0] = minute * 61
        for _ in range(3):
            found = reader.get("/api/v1/repositories").json
        seen.append((len(found["repositories"]), found["unchecked"], len(asked)))
    assert seen == [(60, 90, 60), (120, 30, 120), (150, 0, 150), (150, 0, 150)]
    page = Client(wires).sign_in("visitor").get("/").text
    assert "90 more repositories" in page


def test_a_permission_that_was_taken_away_is_noticed_within_a_minute(wires, reader):
    ticks = [0.0]
    wires.web._authorization._permissions = TTLCache(100, 60, lambda: ticks[0])
    path = f"/api/v1/deployments?repository={REPOSITORY}"
    assert reader.get(path).status == 200
    wires.forge.readers.clear()
    ticks[0] = 59
    assert reader.get(path).status == 200
    ticks[0] = 61
    assert reader.get(path).status == 404


def test_only_members_of_the_operators_team_ask_for_deployments(wires, reviewer):
    body = {"repository": REPOSITORY, "roots": ["network"]}
    assert reviewer.post_json("/api/v1/deployments", body).status == 202
    assert reviewer.post_json("/api/v1/deployments", {**body, "force": True}).status == 202
    assert reviewer.post_json("/api/v1/deployments", {**body, "destroy": True}).status == 202
    by_query = {"repository": REPOSITORY, "query": "stack_name:prod"}
    assert reviewer.post_json("/api/v1/deployments", by_query).status == 202
    assert reviewer.post_json("/api/v1/deployments", {**by_query, "query": "a and"}).status == 400
    for wrong in ({"repository": REPOSITORY}, {**by_query, "destroy": True}):
        assert reviewer.post_json("/api/v1/deployments", wrong).status == 422
    assert [delivery.fields.get("force") for delivery in wires.events.sent] == [None, True, None, None]
    assert [delivery.fields.get("destroy") for delivery in wires.events.sent] == [None, None, True, None]
    wires.forge.teams["acme/operators"] = {"somebody-else"}
    refused = reviewer.post_json("/api/v1/deployments", body)
    assert (refused.status, refused.json["error"]["code"]) == (403, "not_allowed")
    assert "acme/operators" in refused.json["error"]["message"]


def test_without_an_operators_team_nobody_asks_for_deployments():
    wires = WebScenario()
    wires.put({"TIDEGATE_OPERATORS_TEAM": ""})
    answer = Client(wires, "token-of-reviewer").post_json(
        "/api/v1/deployments", {"repository": REPOSITORY, "roots": ["network"]}
    )
    assert answer.status == 403
    assert "no operators' team" in answer.json["error"]["message"]


def test_a_team_of_another_organization_has_no_rights_here(wires):
    wires.put({"TIDEGATE_OPERATORS_TEAM": "other/operators"})
    wires.forge.teams["other/operators"] = {"reviewer"}
    client = Client(wires, "token-of-reviewer")
    assert client.post_json("/api/v1/deployments", {"repository": REPOSITORY, "roots": ["network"]}).status == 403


def test_when_the_forge_does_not_answer_nobody_gets_in(wires, reader):
    wires.forge.failures.append(ForgeUnavailable("503", 17))
    answer = reader.get(f"/api/v1/deployments?repository={REPOSITORY}")
    assert (answer.status, answer.headers["retry-after"]) == (503, "17")
    wires.forge.failures.append(ForgeRefused(403, "the App is not installed"))
    assert reader.get(f"/api/v1/deployments?repository={REPOSITORY}").status == 404


def test_a_token_is_asked_for_once_and_never_kept_in_clear(wires, reader):
    for _ in range(3):
        assert reader.get("/api/v1/me").json == {"login": "reader"}
    assert wires.accounts.asked == 1
    assert "token-of-reader" not in repr(list(wires.web._authorization._logins.items()))


def test_a_token_that_is_nobodys_is_asked_for_again(wires):
    client = Client(wires, "new-token")
    assert client.get("/api/v1/me").status == 401
    wires.accounts.tokens["new-token"] = "reader"
    assert client.get("/api/v1/me").json == {"login": "reader"}


def test_a_form_of_another_site_does_nothing(wires, browser):
    names = prepare(wires)
    path, token = f"/deployments/{names['id']}/review", browser.form_token()
    foreign = browser.post_form(path, {"origin": "https://evil.example"}, csrf=token, decision="reject")
    guessed = browser.post_form(path, csrf="0" * 64, decision="reject")
    without = browser.post_form(path, decision="reject")
    assert [foreign.status, guessed.status, without.status] == [403, 403, 403]
    assert wires.deployments.get(names["id"]).state is State.AWAITING_REVIEW
    assert browser.post_form(path, {"origin": URL}, csrf=token, decision="reject").status == 303


def test_a_form_token_is_of_one_session(wires, browser):
    names = prepare(wires)
    other = Client(wires).sign_in("reviewer")
    answer = other.post_form(f"/deployments/{names['id']}/review", csrf=browser.form_token(), decision="reject")
    assert answer.status == 403


def test_a_form_of_very_many_fields_is_not_read(wires, browser):
    begun = time.process_time()
    answer = browser.send("POST", "/logout", "a&" * 2_000_000, {"content-type": "application/x-www-form-urlencoded"})
    assert (answer.status, "too many fields" in answer.text, time.process_time() - begun < 5) == (400, True, True)


def test_the_path_of_a_page_tells_its_repository_whatever_its_query_says(wires, browser):
    wires.repository_index.remember(KnownRepository("acme/other", "main", "0" * 40, utc("2026-01-01")))
    assert "acme/other" not in browser.get(f"/repositories/{REPOSITORY}?repository=acme/other").text


def test_a_session_gives_no_access_to_the_api(wires, browser):
    assert browser.get("/api/v1/me").status == 401
