"""Every kind of page by axe's rules of WCAG 2.2 AA: with something on it, and empty; light and dark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.api.calls import CALLS, prepare
from tests.api.plans import planned, pull
from tests.browser.site import CHROMIUM
from tests.builders import REPOSITORY, any_deployed, any_lock, any_queue, any_root, deployment_in
from tests.unit.notifications.interactions import USER
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.deploys.rules.state import State
from tidegate.insights.count import count_deployment
from tidegate.notifications.link_slack import link_slack

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's package chromium is not installed"),
]
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
ALL, COLOURS = {"type": "tag", "values": LEVELS}, {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
NO_PAGES = (
    "/api/",
    "/.well-known/",
    "/static/",
    "/login",
    "/insights/csv",
    "/jobs/{job}/lines",
    "/jobs/{job}/raw",
    "/setup/created",
)
PAGES = sorted(path for route, path in CALLS.items() if route.startswith("GET ") and not path.startswith(NO_PAGES))
#: Of a repository in which nothing has happened. The stand-in of config repositories needs an announcement.
NAMES = {"{id}", "{job}", "{change}", "fleet", "5"}
EMPTY = [path for path in PAGES if not path.startswith(("/config", "/queue")) and not NAMES & {*path.split("/")}]
STATES = (
    *(State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.REJECTED, State.APPLIED),
    *(State.BLOCKED, State.APPLYING, State.AWAITING_REQUIREMENTS),
)


def violations(page, rules):
    found = Axe().run(page, options={"runOnly": rules, "resultTypes": ["violations"]}).response["violations"]
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


@pytest.fixture
def check(site, visit):
    """Check pages of an installation with an app in Slack; only colours depend on the scheme."""
    site.wires.slack_apps.secrets = {"slack": "signing secret"}

    def checked(paths):
        page, found = visit("/"), {}
        for path in paths:
            assert page.goto(f"{site.url}{path}").ok, path
            for scheme, rules in (("light", ALL), ("dark", COLOURS)):
                page.emulate_media(color_scheme=scheme)
                found |= dict.fromkeys(violations(page, rules), f"{path}, {scheme}")
        assert found == {}

    return checked


def test_pages_with_something_on_them_have_no_violation(site, check):
    names = prepare(site.wires)
    head, _ = site.wires.queues.read(any_queue())
    site.wires.queues.commit(head, replace(head, lock=any_lock(by="operator"), deployed=any_deployed(9)))
    applied = deployment_in(State.APPLIED, 8, providers=(ProviderTime("hashicorp/aws", 3, 120, 86),))
    count_deployment(site.wires.ports, site.wires.deployed(applied))
    check([path.format(**names) for path in PAGES])


def test_pages_of_deployments_have_no_violation(site, check):
    made = [planned(site.wires, number=2, root=any_root(name="rows"))]
    for number, state in enumerate(STATES, 3):
        one = deployment_in(state, number, id=f"other-{number}", root=any_root(name=f"root-{number}"))
        made.append(site.wires.deployed(one))
    check([f"/deployments/{one.id}" for one in made] + [f"/jobs/{made[0].planned.plan.job}/plan", "/", "/deployments"])


def test_the_page_that_links_a_user_of_slack_has_no_violation(site, check):
    token = site.wires.sessions.slack_link(USER, "reviewer.at.work", "acme")
    check([f"/account/slack?request={token}"])
    link_slack(site.wires.ports, token, site.wires.sessions.slack_code(token), "reviewer")
    check([f"/account/slack?request={token}"])


def test_the_page_of_a_pull_request_with_plans_has_no_violation(site, check):
    pull(site.wires, 4)
    check([f"/pulls/{REPOSITORY}/5"])


def test_empty_pages_have_no_violation(check):
    check([path.format(repository=REPOSITORY) for path in EMPTY])
