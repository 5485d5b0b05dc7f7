"""Issues on the local forge, and the product's adapter that writes its own."""

from __future__ import annotations

import pytest

from tests.forge.pages import ask
from tests.forge.published import DESCRIPTION, validate
from tidegate.rules.errors import NotFound
from tidegate.vcs.github.forge import AppCredentials, GitHubForge

IN, MARKER = "/repos/acme/infra", "<!-- ours"


@pytest.fixture
def token(api, sha):
    return api.installation_token()


@pytest.fixture
def adapter(forge):
    app = AppCredentials(str(forge.settings.app_id), forge.app_private_key)
    return GitHubForge(lambda: app, url=forge.url, api_url=forge.api_url)


def opened(api, token, **fields):
    body = {"title": "Drift", **fields}
    validate(DESCRIPTION["operations"]["POST /repos/{owner}/{repo}/issues"]["request"], body)
    return api.call("POST", f"{IN}/issues", body, token=token)


def test_an_issue_is_opened_read_changed_and_closed(api, token):
    made = opened(api, token, body="text")
    assert (made["state"], made["user"]["login"]) == ("open", "tidegate-local[bot]")
    path = f"{IN}/issues/{made['number']}"
    changed = api.call("PATCH", path, {"title": "Other", "body": "more", "state": "closed"}, token=token)
    assert (changed["title"], changed["body"], changed["state"]) == ("Other", "more", "closed")
    assert changed["closed_at"]
    assert api.call("GET", path, token=token) == changed
    again = api.call("PATCH", path, {"state": "open"}, token=token)
    assert (again["state"], again["closed_at"]) == ("open", None)


def test_issues_and_pull_requests_share_their_numbers_and_their_list(api, token, maintainer):
    first = opened(api, token)["number"]
    maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second", branch="more", base="main")
    pull = maintainer.open_pull_request("acme/infra", "more", title="More")
    assert (pull, opened(api, token)["number"]) == (first + 1, first + 2)
    listed = api.call("GET", f"{IN}/issues", token=token)
    assert [("pull_request" in one, one["number"]) for one in listed] == [
        (False, first + 2),
        (True, pull),
        (False, first),
    ]
    api.call("PATCH", f"{IN}/issues/{first}", {"state": "closed"}, token=token)
    bot = "creator=tidegate-local[bot]"
    assert [one["number"] for one in api.call("GET", f"{IN}/issues?{bot}", token=token)] == [first + 2]
    assert [one["number"] for one in api.call("GET", f"{IN}/issues?state=closed", token=token)] == [first]
    assert len(api.call("GET", f"{IN}/issues?state=all", token=token)) == 3


@pytest.mark.parametrize(
    "wrong", [{"title": ""}, {"title": 3}, {"title": "x" * 257}, {"body": 3}, {"body": "x" * 65_537}, {"state": "gone"}]
)
def test_what_an_issue_cannot_be_is_refused(api, token, wrong):
    number = opened(api, token)["number"]
    assert api.ask("PATCH", f"{IN}/issues/{number}", wrong, token=token)[0] == 422
    if "state" not in wrong:
        assert api.ask("POST", f"{IN}/issues", {"title": "x", **wrong}, token=token)[0] == 422


def test_what_is_not_there_is_not_found(api, token):
    assert api.ask("GET", f"{IN}/issues/9", token=token)[0] == 404
    assert api.ask("PATCH", f"{IN}/issues/9", {"state": "closed"}, token=token)[0] == 404


def test_who_only_reads_opens_issues_and_changes_none_of_others(api, token):
    mine = opened(api, token)["number"]
    theirs = opened(api, "visitor")["number"]
    assert api.ask("PATCH", f"{IN}/issues/{theirs}", {"state": "closed"}, token="visitor")[0] == 200
    assert api.ask("PATCH", f"{IN}/issues/{mine}", {"state": "closed"}, token="visitor")[0] == 403


def test_the_products_adapter_keeps_an_issue_of_its_own(forge, api, adapter, sha):
    repository = "acme/infra"
    opened(api, "developer", body=f"{MARKER} -->")
    number = adapter.open_issue(repository, "Drift", f"{MARKER} -->\nfirst")
    assert adapter.our_issues(repository, MARKER) == [number]
    adapter.write_issue(repository, number, f"{MARKER} -->\nsecond", is_open=False)
    assert adapter.our_issues(repository, MARKER) == []
    adapter.write_issue(repository, number, f"{MARKER} -->\nthird", is_open=True)
    assert adapter.our_issues(repository, MARKER) == [number]
    with pytest.raises(NotFound):
        adapter.write_issue(repository, 99, "text", is_open=True)


def test_people_see_issues_on_pages(api, token, forge):
    number = opened(api, token, body="**bold** <script>")["number"]
    (_, _, listed), (_, _, shown) = (ask(forge, "GET", f"/acme/infra/issues{path}") for path in ("", f"/{number}"))
    assert "Drift" in listed
    assert "No closed issues" in ask(forge, "GET", "/acme/infra/issues?state=closed")[2]
    assert ask(forge, "GET", "/acme/infra/issues/99")[0] == 404
    assert "<strong>bold</strong>" in shown
    assert "<script>" not in shown.partition("markdown pad")[2].partition("</section>")[0]
