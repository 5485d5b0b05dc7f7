"""``tidegate notifications``: what people and scripts see of messages and what became of them."""

from __future__ import annotations

import json

from tests.cli.conftest import NOW

SENT = {"destination": "deploys", "state": "delivered", "text": "Applied: [red]network", "made_at": NOW, "attempts": 1}
FAILING = {**SENT, "state": "sending", "error": "HTTP status 503", "attempts": 3}
OTHER = {**SENT, "state": "unheard of"}


def test_each_message_is_a_line_with_what_became_of_it(api, tidegate):
    api.answers["GET /api/v1/notifications"] = {"notifications": [SENT, FAILING, OTHER]}
    shown = " ".join(tidegate("notifications", "acme/live").stdout.split())
    assert "deploys: Applied: [red]network" in shown
    assert "HTTP status 503, 3 attempts" in shown
    assert "unheard of" in shown
    assert api.asked[-1].query == {"repository": "acme/live"}


def test_destinations_that_get_nothing_are_warned_of_first(api, tidegate):
    problems = ["this installation does not declare the destination 'ownres'. Did you mean 'owners'?"]
    for listed in ([], [SENT]):
        api.answers["GET /api/v1/notifications"] = {"notifications": listed, "problems": problems}
        shown = " ".join(tidegate("notifications", "acme/live").stdout.split())
        assert shown.startswith("! this installation does not declare the destination 'ownres'.")
        assert ("Applied" in shown) == bool(listed)


def test_without_messages_it_says_so(api, tidegate):
    api.answers["GET /api/v1/notifications"] = {"notifications": []}
    assert "no notifications" in tidegate("notifications", "acme/live").stdout


def test_programs_get_all_of_it(api, tidegate):
    api.answers["GET /api/v1/notifications"] = {"notifications": [FAILING]}
    shown = json.loads(tidegate("notifications", "acme/live", "--json").stdout)
    assert shown["notifications"][0]["error"] == "HTTP status 503"


def test_a_repository_that_one_may_not_read_is_not_found(api, tidegate):
    assert tidegate("notifications", "acme/none").exit_code == 3
