"""``tidegate status`` and ``tidegate queue``: what people and scripts see."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import LOCK, NOW, SHA, brief, details, refused, root


def with_roots(api, *roots):
    api.answers |= {
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live", "default_branch": "main", "url": ""}]},
        "GET /api/v1/repositories/acme/live/roots": {"repository": "acme/live", "roots": list(roots)},
    }


def test_the_list_of_repositories_counts_what_runs_waits_and_is_locked(api, tidegate):
    with_roots(api, root(running=brief(), waiting=3, lock=LOCK), root(name="network"))
    line = next(line for line in tidegate("status").stdout.splitlines() if line.startswith("acme/live"))
    assert line.split() == ["acme/live", "2", "-", "1", "-", "-", "3", "1"]


def test_the_list_of_repositories_counts_what_failed_or_is_blocked(api, tidegate):
    failed = root(name="network", last=brief(state="plan_failed"))
    again = root(name="app", last=brief(state="plan_failed"), running=brief(state="blocked"))
    planned = [root(name=name, running=brief(state=name)) for name in ("planning", "applying", "gated")]
    with_roots(api, failed, again, *planned)
    head, line = (
        line for line in tidegate("status").stdout.splitlines() if "REVIEW" in line or line.startswith("acme/live")
    )
    counts = dict(zip(head.split()[1:], line.split()[1:], strict=True))
    assert (counts["FAILED"], counts["BLOCKED"], counts["REVIEW"], counts["RUNNING"]) == ("1", "1", "-", "2")


@pytest.mark.parametrize(("roots", "named"), [(root(running=brief()), "acme/live"), (root(), "OWNER/NAME")])
def test_the_list_of_repositories_says_where_somebody_is_needed(api, tidegate, roots, named):
    with_roots(api, roots)
    assert tidegate("status").stdout.rstrip().endswith(f"→ tidegate status {named}")


def test_roots_show_their_state_in_words_and_what_to_type_next(api, tidegate):
    with_roots(api, root(running=brief()), root(name="network", last=brief(state="apply_failed"), lock=LOCK))
    shown = tidegate("status", "acme/live").stdout
    assert "◆ waiting for review" in shown
    assert "✘ apply failed" in shown
    assert "tidegate approve orders-0123456-0a1b2c3d4e5f" in shown
    assert "3 to add, 1 to change, 2 to destroy" in shown
    assert "tidegate unlock acme/live network" in shown
    assert "0123456 was deployed by hand." in shown


def test_roots_are_searched_and_shown_with_their_stacks_and_tags(api, tidegate):
    with_roots(api, root(stacks=["prod"], tags=["team:sre"]))
    shown = tidegate("status", "acme/live", "--query", "team:sre").stdout
    assert api.asked[-1].query == {"query": "team:sre"}
    assert "prod" in shown
    assert "team:sre" in shown
    api.answers["GET /api/v1/repositories/acme/live/roots"] = {"repository": "acme/live", "roots": [], "hint": "None."}
    assert "matches. None." in tidegate("status", "acme/live", "--query", "team:web").stdout
    assert tidegate("status", "--query", "team:sre").exit_code == 2


def test_status_as_json_is_one_document_with_all_that_the_api_gives(api, tidegate):
    with_roots(api, root(running=brief(surprise="from a newer server")))
    document = json.loads(tidegate("status", "acme/live", "--json").stdout)
    assert document["repository"] == "acme/live"
    assert document["roots"][0]["running"]["state"] == "awaiting_review"
    assert document["roots"][0]["running"]["surprise"] == "from a newer server"


def test_a_state_that_is_not_known_yet_is_shown_as_it_is(api, tidegate):
    with_roots(api, root(running=brief(state="waiting_for_the_moon")))
    assert "waiting for the moon" in tidegate("status", "acme/live").stdout


def test_a_deployment_shows_everything_that_is_known_of_it(api, tidegate):
    api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details()
    shown = tidegate("status", "orders-0123456-0a1b2c3d4e5f").stdout
    for text in (SHA, "merge by developer", "2 to destroy", "0 of 1 approvals", "https://forge.example.com/acme/live"):
        assert text in shown


def test_a_plan_that_policies_block_says_so_while_it_waits_for_its_review(api, tidegate):
    said = "Policy set costs (user:ann can approve it): It costs too much."
    for state, told in (("awaiting_review", True), ("applied", False)):
        api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details(
            state=state, policies_refuse=[said]
        )
        assert (said in tidegate("status", "orders-0123456-0a1b2c3d4e5f").stdout) is told


def test_a_deployment_that_failed_names_the_revision_that_is_deployed_in_its_place(api, tidegate):
    newer = {"deployment": "orders-newer", "revision": "16505ba" + "0" * 33, "url": ""}
    api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details(
        state="apply_failed", replaced_by=newer
    )
    shown = " ".join(tidegate("status", "orders-0123456-0a1b2c3d4e5f").stdout.split())
    assert "✘ apply failed" in shown
    assert "superseded by 16505ba, which is" in shown
    assert "tidegate rerun" not in shown


def test_what_failed_says_how_to_run_it_again(api, tidegate):
    again = "→ tidegate rerun orders-0123456-0a1b2c3d4e5f"
    api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details(state="apply_failed")
    assert again in tidegate("status", "orders-0123456-0a1b2c3d4e5f").stdout
    with_roots(api, root(last=brief(state="apply_failed")))
    assert again in tidegate("status", "acme/live").stdout
    with_roots(api, root(last=brief(state="apply_failed", trigger="manual", pull_request=7)))
    of_head = tidegate("status", "acme/live").stdout
    assert "tidegate rerun" not in of_head
    assert "the same command" in of_head


def test_a_deployment_is_found_by_the_address_of_its_page(api, tidegate):
    api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details()
    result = tidegate("status", "https://tidegate.example.com/deployments/orders-0123456-0a1b2c3d4e5f", "--json")
    assert json.loads(result.stdout)["id"] == "orders-0123456-0a1b2c3d4e5f"


def test_a_deployment_is_found_by_the_beginning_or_the_end_of_its_id(api, tidegate):
    with_roots(api)
    api.answers["GET /api/v1/deployments"] = {"deployments": [brief()], "next": None}
    api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details()
    for short in ("orders-01", "4e5f"):
        assert json.loads(tidegate("status", short, "--json").stdout)["id"] == "orders-0123456-0a1b2c3d4e5f"


def test_a_beginning_that_several_ids_have_is_refused_with_those_ids_and_their_states(api, tidegate):
    with_roots(api)
    api.answers["GET /api/v1/deployments"] = {
        "deployments": [brief(state="applying"), brief(id="orders-9999999-x", state="applied")],
        "next": None,
    }
    result = tidegate("status", "orders")
    assert result.exit_code == 2
    assert "orders-0123456-0a1b2c3d4e5f  ◕ applying" in result.stderr
    assert "orders-9999999-x  ✔ applied" in result.stderr


def test_who_gives_a_job_for_a_deployment_is_told_what_shows_it(api, tidegate):
    job = "orders-0123456-0a1b2c3d4e5f-apply-2"
    refused = tidegate("status", job)
    assert refused.exit_code == 3
    assert f"{job} is a job's id, not a deployment's" in refused.stderr
    assert f"→ tidegate logs {job} shows its log." in refused.stderr
    assert "→ tidegate status orders-0123456-0a1b2c3d4e5f shows its deployment." in refused.stderr
    planned = tidegate("status", "network-1-speculate-1").stderr
    assert "tidegate logs network-1-speculate-1" in planned
    assert "shows its deployment" not in planned


def test_an_unknown_deployment_is_not_found(api, tidegate):
    with_roots(api)
    api.answers["GET /api/v1/deployments"] = {"deployments": [brief()], "next": None}
    assert tidegate("status", "payments-0123456").exit_code == 3


def waiting(count):
    return [
        {"place": number, "id": f"orders-{number:07}-0a1b2c3d4e5f", "revision": SHA, "trigger": "merge",
         "requested_at": NOW, "requested_by": "developer", "url": ""}
        for number in range(1, count + 1)
    ]  # fmt: skip


def queue(**fields):
    return {"repository": "acme/live", "root": "orders", "lock": None, "deployed_revision": SHA, "running": None,
            "waiting": []} | fields  # fmt: skip


@pytest.mark.parametrize(
    ("scope", "what", "how"), [("prod", "stack prod", "--stack prod"), ("*", "all roots", "--all")]
)
def test_a_lock_of_many_roots_says_what_it_is_of_until_when_and_how_it_is_unlocked(api, tidegate, scope, what, how):
    lock = {**LOCK, "scope": scope, "expires_at": "2026-03-02T10:05:00.000000+00:00"}
    api.answers["GET /api/v1/queue"] = queue(lock=lock)
    with_roots(api, root(lock=lock))
    for words in (("queue", "acme/live", "orders"), ("status", "acme/live")):
        shown = " ".join(tidegate(*words).stdout.split())
        for told in (what, "2026-03-02 10:05", f"tidegate unlock acme/live {how}"):
            assert told in shown.replace("Stack", "stack").replace("All", "all")


def test_what_destroys_is_said_to_and_what_is_destroyed_is_not_deployed(api, tidegate):
    line = [{**waiting(1)[0], "destroy": True}]
    api.answers["GET /api/v1/queue"] = queue(running=brief(destroy=True), waiting=line, destroyed=True)
    shown = tidegate("queue", "acme/live", "orders").stdout
    assert shown.count(", to destroy") == 2
    assert "Destroyed" in shown
    assert "Deployed" not in shown


def test_a_queue_shows_its_lock_what_runs_and_what_waits(api, tidegate):
    api.answers["GET /api/v1/queue"] = queue(lock=LOCK, running=brief(), waiting=waiting(2))
    shown = tidegate("queue", "acme/live", "orders").stdout
    assert api.asked[-1].query == {"repository": "acme/live", "root": "orders"}
    for text in (
        "by maintainer",
        "tidegate unlock acme/live orders",
        "waiting for review",
        "orders-0000002-0a1b2c3d4e5f",
    ):
        assert text in shown


def test_a_queue_shows_what_each_deployment_is(api, tidegate):
    titles = [
        {"title": title, "author": "developer", "avatar": "", "pull_request": None, "pull_request_title": ""}
        for title in ("Grow it", "Shrink it")
    ]
    one = {**waiting(1)[0], "headline": titles[1]}
    api.answers["GET /api/v1/queue"] = queue(running=brief(headline=titles[0]), waiting=[one])
    shown = tidegate("queue", "acme/live", "orders").stdout
    assert "Grow it" in shown
    assert "Shrink it" in shown
    with_roots(api, root(running=brief(headline=titles[0])))
    assert "Grow it" in tidegate("status", "acme/live", COLUMNS="120").stdout


def test_of_a_long_queue_the_first_are_shown_unless_all_are_asked_for(api, tidegate):
    api.answers["GET /api/v1/queue"] = queue(waiting=waiting(200))
    short, everything = (
        tidegate("queue", "acme/live", "orders").stdout,
        tidegate("queue", "acme/live", "orders", "--all").stdout,
    )
    assert "180 more" in short
    assert "orders-0000200-" not in short
    assert "orders-0000200-" in everything


def test_a_mistyped_root_is_answered_with_the_one_that_was_meant(api, tidegate):
    with_roots(api, root(), root(name="network"))
    api.answers["GET /api/v1/queue"] = refused(404, "not_found", "There is no such thing here.")
    result = tidegate("queue", "acme/live", "oders")
    assert result.exit_code == 3
    assert "Did you mean orders?" in result.stderr


def test_a_queue_that_was_never_used_is_looked_for_among_the_known_roots(api, tidegate):
    with_roots(api, root())
    api.answers["GET /api/v1/queue"] = queue(deployed_revision=None)
    assert "Nothing waits." in tidegate("queue", "acme/live", "orders").stdout
    result = tidegate("queue", "acme/live", "order")
    assert result.exit_code == 3
    assert "Did you mean orders?" in result.stderr


def test_a_mistyped_repository_is_answered_with_the_one_that_was_meant(api, tidegate):
    with_roots(api)
    result = tidegate("status", "acme/life")
    assert result.exit_code == 3
    assert "Did you mean acme/live?" in result.stderr


def test_what_is_no_repository_name_is_a_mistake_in_the_usage(api, tidegate):
    assert tidegate("queue", "live", "orders").exit_code == 2


def test_names_and_reasons_from_outside_cannot_drive_the_terminal(api, tidegate):
    hostile = "\x1b]0;gotcha\x07\x1b[2Jnothing\u202e\x9b2J [bold]markup[/bold]"
    with_roots(api, root(running=brief(requested_by=hostile), lock=LOCK | {"reason": hostile}))
    api.answers["GET /api/v1/queue"] = queue(lock=LOCK | {"reason": hostile}, running=brief(requested_by=hostile))
    for words in (("status", "acme/live"), ("queue", "acme/live", "orders"), ("status", "acme/live", "--json")):
        shown = tidegate(*words).stdout
        assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e"}
        assert "[bold]markup[/bold]" in shown.replace("\n", "").replace("  ", "") or "--json" in words


def test_a_root_that_is_blocked_by_others_of_its_change_needs_a_person(api, tidegate):
    blocked = brief(state="blocked", reason="network (dev) failed to apply.", change_set="c-1")
    api.answers["GET /api/v1/repositories/acme/live/roots"] = {
        "repository": "acme/live",
        "roots": [root(running=blocked)],
    }
    output = tidegate("status", "acme/live").output
    assert "orders is blocked: network (dev) failed to apply." in output
    assert "tidegate stacks c-1" in output


def test_a_root_whose_newest_deployment_failed_says_why_and_what_to_do(api, tidegate):
    failed = brief(state="plan_failed", reason="TerraformClientError\nand more")
    with_roots(api, root(last=failed))
    shown = " ".join(tidegate("status", "acme/live").stdout.split())
    assert "orders: ✘ plan failed TerraformClientError Correct the configuration and merge the fix" in shown
    assert "→ tidegate status orders-0123456-0a1b2c3d4e5f" in shown
    policies = brief(state="plan_failed", error="PoliciesRefused", reason="Policy set app refuses the plan.")
    with_roots(api, root(last=policies))
    shown = " ".join(tidegate("status", "acme/live").stdout.split())
    assert "Policy set app refuses the plan. → tidegate status orders" in shown
    with_roots(api, root(last=failed, running=brief(state="planning")), root(last=brief(state="applied")))
    assert "Correct" not in tidegate("status", "acme/live").stdout


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"destroyed": True}, ("destroyed",)),
        (
            {"orphaned": {"revision": SHA, "at": NOW, "resources": 1}},
            ("gone", "1 resource remains", "tidegate destroy acme/"),
        ),
        ({"orphaned": {"revision": SHA, "at": NOW}}, ("gone", "the number of resources that remain")),
    ],
)
def test_a_root_that_is_gone_says_what_stays_behind(api, tidegate, fields, told):
    with_roots(api, root(last=brief(state="applied"), **fields))
    output = tidegate("status", "acme/live").stdout
    assert all(each in output for each in told)
    assert "applied" not in output


def test_names_in_a_table_are_whole_on_a_narrow_terminal(api, tidegate, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    name = "live/production/eu-west-1/network"
    with_roots(api, root(name=name, stacks=["production-eu"], tags=["a-long-tag"], running=brief()))
    assert name in tidegate("status", "acme/live").stdout


@pytest.mark.parametrize("state", ["apply_failed", "outcome_unknown"])
def test_what_failed_is_no_deployed_revision(api, tidegate, state):
    api.answers["GET /api/v1/queue"] = queue(deployed_state=state)
    shown = tidegate("queue", "acme/live", "orders").stdout
    assert "Attempted" in shown
    assert "Deployed" not in shown
