"""The pages, without a browser: what they show, what they refuse, and that texts from outside stay texts."""

from __future__ import annotations

import http.client
import re
import urllib.parse

import pytest

from tests.forge.pages import HOSTILE, ask, csrf, tags_of
from tidegate_local.forge.client import ForgeAnswered
from tidegate_local.forge.pages import markdown

IN = "/repos/acme/infra"


@pytest.fixture
def run(api, sha):
    actions = [{"label": "Confirm", "description": "Apply this plan", "identifier": "Confirm"}]
    output = {"title": f"Plan {HOSTILE}", "summary": f"Plan {HOSTILE}", "text": "```diff\n+ new\n- old\n```"}
    body = {"name": f"deploy {HOSTILE}", "head_sha": sha, "actions": actions, "output": output}
    token = api.installation_token()
    return api.call("POST", f"{IN}/check-runs", {**body, "conclusion": "action_required"}, token=token)["id"]


def test_every_page_answers_and_loads_nothing_from_elsewhere(forge, maintainer, sha, run, receiver):
    maintainer.push(
        "acme/infra", {f"{HOSTILE.replace('/', '|')}.tf": HOSTILE}, f"Add {HOSTILE}", branch="more", base="main"
    )
    number = maintainer.open_pull_request("acme/infra", "more", title=HOSTILE, body=HOSTILE)
    (came,) = receiver.wait_for("pull_request", "opened")
    assert came["signed"]
    for path in (
        *("/", "/acme/infra", f"/acme/infra/commit/{sha}", f"/acme/infra/runs/{run}", "/acme/infra/pulls"),
        *(f"/acme/infra/pull/{number}", "/acme/infra/compare/main...more"),
        "/acme/infra/tree/more",
    ):
        status, headers, page = ask(forge, "GET", path)
        assert status == 200, path
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        for tag, attributes in tags_of(page):
            assert tag != "script" or attributes == {"src": "/static/forge.js", "defer": None}, path
            assert not [name for name in attributes if name.startswith("on") or name == "style"], path
            for name in ("src", "href", "action"):
                assert re.match(r"/(?!/)|[#?]|$", attributes.get(name) or ""), (path, tag, attributes)


def test_a_first_visit_says_how_to_push(forge):
    page = ask(forge, "GET", "/")[2]
    assert "No repositories yet" in page
    assert f"git remote add forge http://maintainer:maintainer@localhost:{forge.port}/acme/infrastructure.git" in page


def test_a_button_needs_the_pages_own_secret(forge, run, receiver):
    click = f"/acme/infra/runs/{run}/click"
    assert ask(forge, "POST", click, {"identifier": "Confirm"})[0] == 403
    assert ask(forge, "POST", click, {"identifier": "Confirm", "csrf": "0" * 64})[0] == 403
    others = csrf(ask(forge, "GET", f"/acme/infra/runs/{run}", user="visitor")[2])
    assert ask(forge, "POST", click, {"identifier": "Confirm", "csrf": others})[0] == 403
    own = csrf(ask(forge, "GET", f"/acme/infra/runs/{run}")[2])
    status, headers, _ = ask(forge, "POST", click, {"identifier": "Confirm", "csrf": own})
    assert (status, headers["Location"]) == (303, f"{forge.url}/acme/infra/runs/{run}?clicked=Confirm")
    assert len(receiver.wait_for("check_run", "requested_action")) == 1


def test_a_button_that_the_run_does_not_have_is_refused(maintainer, run):
    assert maintainer.buttons("acme/infra", run) == ["Confirm"]
    with pytest.raises(ForgeAnswered, match="422"):
        maintainer.click("acme/infra", run, "Destroy")


def test_a_visitor_cannot_merge(forge, maintainer, sha):
    maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second", branch="more", base="main")
    number = maintainer.open_pull_request("acme/infra", "more", title="More")
    page = ask(forge, "GET", f"/acme/infra/pull/{number}", user="visitor")[2]
    assert "Merge pull request" not in page
    form = {"csrf": csrf(page), "method": "merge"}
    assert ask(forge, "POST", f"/acme/infra/pull/{number}/merge", form, user="visitor")[0] == 403


def test_everybody_comments_on_a_pull_request(forge, maintainer, sha):
    maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second", branch="more", base="main")
    number = maintainer.open_pull_request("acme/infra", "more", title="More")
    secret = csrf(ask(forge, "GET", f"/acme/infra/pull/{number}", user="visitor")[2])
    form = {"csrf": secret, "body": "Looks **good**"}
    assert ask(forge, "POST", f"/acme/infra/pull/{number}/comments", form, user="visitor")[0] == 303
    assert "Looks <strong>good</strong>" in ask(forge, "GET", f"/acme/infra/pull/{number}")[2]


def test_switching_users_leads_back_to_this_site_only(forge, sha):
    secret = csrf(ask(forge, "GET", "/acme/infra")[2])
    form = {"csrf": secret, "login": "visitor", "back": "/acme/infra"}
    status, headers, _ = ask(forge, "POST", "/login/switch", form)
    assert (status, headers["Location"]) == (303, f"{forge.url}/acme/infra")
    assert "forge_user=visitor" in headers["Set-Cookie"]
    for elsewhere in ("//evil.invalid", "/\\evil.invalid", "https://evil.invalid"):
        _, headers, _ = ask(forge, "POST", "/login/switch", {**form, "back": elsewhere})
        assert headers["Location"] == f"{forge.url}/"


def test_an_outdated_run_points_to_the_newest_one(forge, api, sha):
    token = api.installation_token()
    old, new = (
        api.call("POST", f"{IN}/check-runs", {"name": "x", "head_sha": sha}, token=token)["id"] for _ in range(2)
    )
    assert f"/acme/infra/runs/{new}" in ask(forge, "GET", f"/acme/infra/runs/{old}")[2]
    assert "A newer run" in ask(forge, "GET", f"/acme/infra/runs/{old}")[2]
    assert "A newer run" not in ask(forge, "GET", f"/acme/infra/runs/{new}")[2]


def test_a_page_that_may_change_reloads_without_javascript(forge, run):
    assert '<noscript><meta http-equiv="refresh"' in ask(forge, "GET", f"/acme/infra/runs/{run}")[2]


@pytest.mark.parametrize(
    "path", ["/acme/absent", "/acme/infra/runs/1", "/acme/infra/pull/9", "/a/b/c/d", "/static/x.css"]
)
def test_what_does_not_exist_is_said_on_a_page(forge, sha, path):
    status, _, page = ask(forge, "GET", path)
    assert status == 404
    assert "All repositories" in page


def test_a_connection_serves_many_requests(forge, sha):
    connection = http.client.HTTPConnection("127.0.0.1", forge.port, timeout=60)
    connection.request("GET", "/acme/infra")
    connection.getresponse().read()
    first = connection.sock
    connection.request("POST", "/api/v3/repos/acme/infra/check-runs", b"x" * 100_000, {"Authorization": "Bearer no"})
    assert connection.getresponse().read()
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    assert first is not None
    connection.close()


def test_signing_in_elsewhere_gives_a_token_for_the_person(forge, api):
    settings = forge.settings
    callback = "http://localhost:1/back"
    query = urllib.parse.urlencode({"client_id": settings.client_id, "redirect_uri": callback, "state": "s"})
    page = ask(forge, "GET", f"/login/oauth/authorize?{query}", user="reviewer")[2]
    form = {"csrf": csrf(page), "client_id": settings.client_id, "redirect_uri": callback, "state": "s"}
    status, headers, _ = ask(forge, "POST", "/login/oauth/authorize", form, user="reviewer")
    answer = urllib.parse.parse_qs(urllib.parse.urlsplit(headers["Location"]).query)
    assert (status, answer["state"]) == (303, ["s"])
    exchange = {"client_id": settings.client_id, "client_secret": settings.client_secret, "code": answer["code"][0]}
    wrong = ask(forge, "POST", "/login/oauth/access_token", {**exchange, "client_secret": "guess"})[2]
    assert "incorrect_client_credentials" in wrong
    status, headers, text = ask(forge, "POST", "/login/oauth/access_token", exchange)
    assert (status, headers["Content-Type"].partition(";")[0]) == (200, "application/x-www-form-urlencoded")
    (token,) = urllib.parse.parse_qs(text)["access_token"]
    assert api.call("GET", "/user", token=token)["login"] == "reviewer"
    assert "bad_verification_code" in ask(forge, "POST", "/login/oauth/access_token", exchange)[2]


def test_signing_in_never_leads_to_another_machine(forge):
    query = urllib.parse.urlencode({"client_id": forge.settings.client_id, "redirect_uri": "https://evil.invalid/"})
    assert ask(forge, "GET", f"/login/oauth/authorize?{query}")[0] == 422
    assert ask(forge, "GET", "/login/oauth/authorize?client_id=other")[0] == 404


class TestMarkdown:
    def test_a_diff_is_coloured_by_its_first_characters(self):
        html = str(markdown.render("```diff\n+ a<b\n- c\n! d\n  e\n```"))
        assert '<span class="added">+ a&lt;b\n</span><span class="removed">- c\n</span>' in html
        assert '<span class="changed">! d\n</span>  e\n' in html

    def test_a_warning_is_marked_as_one(self):
        html = str(markdown.render("> [!WARNING]\n> Careful\n\n> [!OTHER]\n> Plain"))
        assert '<blockquote class="alert warning">\n<p>Careful</p>' in html
        assert "[!OTHER]" in html

    def test_details_tables_and_links_work(self):
        text = "<details open><summary>Plan</summary>\n\n**bold**\n\n</details>\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\nhttps://example.org"
        html = str(markdown.render(text))
        assert '<details open=""><summary>Plan</summary>' in html
        assert "<strong>bold</strong>" in html
        assert "<table>" in html
        assert '<a href="https://example.org" rel="noopener noreferrer nofollow">' in html

    @pytest.mark.parametrize(
        "text",
        [
            HOSTILE,
            "<iframe src=//evil.invalid></iframe>",
            "<style>*{}</style>",
            '<a href="data:text/html,x">x</a>',
            "[x](<javascript:alert(1)>)",
            '<details ontoggle="alert(1)" open>x</details>',
            "```diff\n</code></pre><script>x</script>\n```",
            '<span class="menu" style="position:fixed">x</span>',
            "<svg><script>x</script></svg>",
            "<input autofocus onfocus=x>",
        ],
    )
    def test_nothing_runs_loads_or_submits(self, text):
        for tag, attributes in tags_of(str(markdown.render(text))):
            assert tag not in {"script", "iframe", "form", "input", "svg", "style", "img"}
            assert attributes.keys() <= {"href", "rel", "title", "open", "class"}
            assert attributes.get("class") in {None, "", "diff"}
            assert attributes.get("href", "https:").startswith(("http:", "https:", "mailto:"))


def test_a_person_of_the_forge_is_known_by_cookie_only_when_it_names_one(forge, sha):
    assert "visitor ▾" in ask(forge, "GET", "/", user="visitor")[2]
    assert "maintainer ▾" in ask(forge, "GET", "/", user="stranger")[2]


class TestRunningAgain:
    def test_the_page_of_a_check_says_that_it_was_asked_for_again(self, forge, maintainer, run, receiver):
        page = f"/acme/infra/runs/{run}"
        secret = csrf(ask(forge, "GET", page)[2])
        status, headers, _ = ask(forge, "POST", f"{page}/rerun", {"csrf": secret})
        assert (status, headers["Location"]) == (303, f"{forge.url}{page}?clicked=re-run")
        assert "<strong>Re-run</strong> was sent to Tidegate" in ask(forge, "GET", f"{page}?clicked=re-run")[2]
        assert receiver.wait_for("check_run", "rerequested")

    def test_the_page_of_a_commit_offers_what_can_be_run_again(self, forge, api, sha):
        page, token = f"/acme/infra/commit/{sha}", api.installation_token()
        assert "Re-run" not in ask(forge, "GET", page)[2]
        body = {"name": "x", "head_sha": sha, "conclusion": "success"}
        made = api.call("POST", f"{IN}/check-runs", body, token=token)["id"]
        assert "Re-run all checks" in ask(forge, "GET", page)[2]
        assert "Re-run failed checks" not in ask(forge, "GET", page)[2]
        api.call("PATCH", f"{IN}/check-runs/{made}", {"conclusion": "failure"}, token=token)
        text = ask(forge, "GET", page)[2]
        assert "Re-run failed checks" in text
        status, headers, _ = ask(forge, "POST", f"{page}/rerun-failed", {"csrf": csrf(text)})
        assert (status, headers["Location"]) == (303, f"{forge.url}{page}?clicked=failed-1")
        assert "Requested a rerun of one failed check." in ask(forge, "GET", f"{page}?clicked=failed-1")[2]

    def test_where_a_check_waits_for_somebody_and_none_failed_no_failed_ones_are_offered(self, forge, sha, run):
        text = ask(forge, "GET", f"/acme/infra/commit/{sha}")[2]
        assert "Re-run all checks" in text
        assert "Re-run failed checks" not in text

    @pytest.mark.parametrize("button", ["rerun-failed", "rerun-all"])
    def test_a_page_of_another_site_runs_nothing_again(self, forge, sha, run, button):
        assert ask(forge, "POST", f"/acme/infra/commit/{sha}/{button}", {"csrf": "0" * 64})[0] == 403
