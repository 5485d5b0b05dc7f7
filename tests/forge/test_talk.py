"""Comments, reactions and reviews: written over REST and on the page, told to the App, shown as texts."""

from __future__ import annotations

import pytest

from tests.forge.pages import HOSTILE, ask, csrf, tags_of
from tests.forge.published import DESCRIPTION, hold_against_github, validate
from tidegate_local.forge.client import ForgeAnswered, ForgeClient

REPOSITORY, IN = "acme/infra", "/repos/acme/infra"


@pytest.fixture
def people(forge):
    return {
        login: ForgeClient(forge.url, login) for login in ("maintainer", "reviewer", "developer", "visitor", "outsider")
    }


@pytest.fixture
def number(people, sha):
    """A pull request of the developer."""
    people["developer"].push(REPOSITORY, {"b.tf": "# b\n"}, "Second", branch="more", base="main")
    return people["developer"].open_pull_request(REPOSITORY, "more", title="More")


class TestComments:
    def test_everybody_who_sees_a_pull_request_may_comment_on_it(self, people, number):
        for login in ("developer", "visitor"):
            people[login].comment(REPOSITORY, number, f"from {login}")
        assert [(one["user"]["login"], one["body"]) for one in people["reviewer"].comments(REPOSITORY, number)] == [
            ("developer", "from developer"),
            ("visitor", "from visitor"),
        ]
        with pytest.raises(ForgeAnswered, match="404"):
            people["outsider"].comment(REPOSITORY, number, "hello")

    def test_a_comment_is_told_with_its_pull_request_and_author(self, people, number, receiver):
        people["visitor"].comment(REPOSITORY, number, "hello")
        (came,) = receiver.wait_for("issue_comment", "created")
        hold_against_github(came, "issue_comment", "created")
        comment = came["payload"]["comment"]
        assert (comment["user"]["login"], comment["user"]["type"]) == ("visitor", "User")
        assert comment["performed_via_github_app"] is None
        assert came["payload"]["issue"]["pull_request"]["url"].endswith(f"{IN}/pulls/{number}")

    def test_the_apps_comment_is_a_bots(self, api, number, receiver):
        made = api.call("POST", f"{IN}/issues/{number}/comments", {"body": "Plan"}, token=api.installation_token())
        (came,) = receiver.wait_for("issue_comment", "created")
        comment = came["payload"]["comment"]
        assert comment["user"] == made["user"]
        assert (comment["user"]["login"], comment["user"]["type"]) == ("tidegate-local[bot]", "Bot")
        assert comment["performed_via_github_app"]["slug"] == "tidegate-local"

    def test_what_the_app_writes_for_a_person_is_the_persons_and_names_the_app(self, api, people, number):
        token = people["visitor"].user_token()
        made = api.call("POST", f"{IN}/issues/{number}/comments", {"body": "Hello"}, token=token)
        assert (made["user"]["login"], made["user"]["type"]) == ("visitor", "User")
        assert made["performed_via_github_app"]["slug"] == "tidegate-local"

    def test_an_edited_comment_is_told(self, api, people, number, receiver):
        made = people["visitor"].comment(REPOSITORY, number, "helo")
        status, _, _ = api.ask("PATCH", f"{IN}/issues/comments/{made}", {"body": "mine"}, token="outsider")
        assert status == 404
        api.call("PATCH", f"{IN}/issues/comments/{made}", {"body": "hello"}, token="visitor")
        (edited,) = receiver.wait_for("issue_comment", "edited")
        hold_against_github(edited, "issue_comment", "edited")
        assert edited["payload"]["comment"]["body"] == "hello"
        assert edited["payload"]["changes"] == {"body": {"from": "helo"}}

    @pytest.mark.parametrize("body", ["", "  \n", None, 7, "x" * 65_537])
    def test_a_text_that_github_does_not_take_is_refused(self, api, number, body):
        assert api.ask("POST", f"{IN}/issues/{number}/comments", {"body": body}, token="visitor")[0] == 422

    def test_the_longest_text_is_taken(self, api, number):
        body = {"body": "ü" * 65_536}
        assert api.call("POST", f"{IN}/issues/{number}/comments", body, token="visitor")["body"] == body["body"]

    def test_a_reaction_is_kept_once_and_counted(self, api, people, number):
        comment = people["developer"].comment(REPOSITORY, number, "tidegate plan")
        path, token = f"{IN}/issues/comments/{comment}/reactions", api.installation_token()
        api.call("POST", path, {"content": "eyes"}, token=token)
        assert api.ask("POST", path, {"content": "eyes"}, token=token)[0] == 200
        api.call("POST", path, {"content": "rocket"}, token="visitor")
        assert api.ask("POST", path, {"content": "shrug"}, token=token)[0] == 422
        counts = people["developer"].comments(REPOSITORY, number)[0]["reactions"]
        assert counts == {"total_count": 2, "eyes": 1, "rocket": 1}


class TestReviews:
    def test_reviews_are_written_listed_and_told(self, api, people, number, receiver):
        people["reviewer"].review(REPOSITORY, number, "REQUEST_CHANGES", "Why?")
        people["reviewer"].review(REPOSITORY, number, "APPROVE")
        people["developer"].review(REPOSITORY, number, "COMMENT", "Because")
        listed = api.call("GET", f"{IN}/pulls/{number}/reviews", token=api.installation_token())
        assert [(one["user"]["login"], one["state"]) for one in listed] == [
            ("reviewer", "CHANGES_REQUESTED"),
            ("reviewer", "APPROVED"),
            ("developer", "COMMENTED"),
        ]
        came = receiver.wait_for("pull_request_review", "submitted", count=3)
        for one in came:
            hold_against_github(one, "pull_request_review", "submitted")
        assert {one["payload"]["review"]["state"] for one in came} == {"changes_requested", "approved", "commented"}
        assert {one["payload"]["pull_request"]["number"] for one in came} == {number}

    def test_a_dismissed_review_is_told_and_counts_no_more(self, api, people, number, receiver):
        people["maintainer"].protect(REPOSITORY, approvals=1)
        review = people["reviewer"].review(REPOSITORY, number)
        assert api.call("GET", f"{IN}/pulls/{number}", token="visitor")["mergeable_state"] == "clean"
        path = f"{IN}/pulls/{number}/reviews/{review}/dismissals"
        assert api.ask("PUT", path, {"message": "no"}, token="visitor")[0] == 403
        assert api.ask("PUT", path, {}, token="maintainer")[0] == 422
        assert api.call("PUT", path, {"message": "too early"}, token="maintainer")["state"] == "DISMISSED"
        (came,) = receiver.wait_for("pull_request_review", "dismissed")
        hold_against_github(came, "pull_request_review", "dismissed")
        assert api.call("GET", f"{IN}/pulls/{number}", token="visitor")["mergeable_state"] == "blocked"
        assert api.ask("PUT", path, {"message": "again"}, token="maintainer")[0] == 422
        assert (
            api.ask("PUT", f"{IN}/pulls/{number}/reviews/1/dismissals", {"message": "x"}, token="maintainer")[0] == 404
        )

    @pytest.mark.parametrize(
        ("login", "body"),
        [
            ("developer", {"event": "APPROVE"}),
            ("developer", {"event": "REQUEST_CHANGES", "body": "no"}),
            ("reviewer", {"event": "REQUEST_CHANGES"}),
            ("reviewer", {"event": "COMMENT", "body": " "}),
            ("reviewer", {"event": "PRAISE"}),
            ("reviewer", {"event": "COMMENT", "body": 7}),
        ],
    )
    def test_a_review_that_github_does_not_take_is_refused(self, api, number, login, body):
        assert api.ask("POST", f"{IN}/pulls/{number}/reviews", body, token=login)[0] == 422


class TestPage:
    def post(self, forge, number, action, login, **form):
        page = f"/acme/infra/pull/{number}"
        secret = csrf(ask(forge, "GET", page, user=login)[2])
        return ask(forge, "POST", f"{page}/{action}", {"csrf": secret, **form}, user=login)[0]

    def test_reviews_are_given_on_the_page(self, forge, api, number):
        assert self.post(forge, number, "reviews", "reviewer", event="APPROVE") == 303
        assert self.post(forge, number, "reviews", "visitor", event="REQUEST_CHANGES", body="Why?") == 303
        assert self.post(forge, number, "reviews", "reviewer", event="COMMENT", body="") == 422
        listed = api.call("GET", f"{IN}/pulls/{number}/reviews", token="visitor")
        assert [one["state"] for one in listed] == ["APPROVED", "CHANGES_REQUESTED"]
        page = ask(forge, "GET", f"/acme/infra/pull/{number}")[2]
        assert page.count("approved these changes") == 2
        assert page.count("requested changes") == 1  # the visitor's verdict does not count

    def test_authors_are_not_offered_to_approve_their_own_work(self, forge, number):
        page = f"/acme/infra/pull/{number}"
        assert 'value="APPROVE"' not in ask(forge, "GET", page, user="developer")[2]
        assert 'value="APPROVE"' in ask(forge, "GET", page, user="reviewer")[2]

    def test_a_pull_request_is_closed_and_reopened_by_its_author_or_who_may_write(self, forge, api, number):
        def state():
            return api.call("GET", f"{IN}/pulls/{number}", token="visitor")["state"]

        assert self.post(forge, number, "state", "visitor", do="close") == 403
        assert self.post(forge, number, "state", "developer", do="close") == 303
        assert state() == "closed"
        assert self.post(forge, number, "state", "reviewer", do="reopen") == 303
        assert state() == "open"

    def test_what_people_write_stays_text(self, forge, people, number):
        comment = people["visitor"].comment(REPOSITORY, number, HOSTILE)
        people["reviewer"].review(REPOSITORY, number, "COMMENT", HOSTILE)
        people["reviewer"].call("POST", f"{IN}/issues/comments/{comment}/reactions", {"content": "heart"})
        page = ask(forge, "GET", f"/acme/infra/pull/{number}")[2]
        for tag, attributes in tags_of(page):
            assert tag != "script" or attributes == {"src": "/static/forge.js", "defer": None}
            assert not [name for name in attributes if name.startswith("on")]
            assert "evil" not in (attributes.get("action") or "")
        assert "❤ 1" in page

    def test_a_page_on_which_somebody_writes_does_not_reload_by_itself(self, forge, number):
        assert 'http-equiv="refresh"' not in ask(forge, "GET", f"/acme/infra/pull/{number}")[2]


def test_a_draft_is_not_merged_until_it_is_ready(forge, api, people, sha, receiver):
    people["developer"].push(REPOSITORY, {"b.tf": "# b\n"}, "Second", branch="more", base="main")
    number = people["developer"].open_pull_request(REPOSITORY, "more", title="More", draft=True)
    one = api.call("GET", f"{IN}/pulls/{number}", token="visitor")
    assert (one["draft"], one["mergeable_state"]) == (True, "draft")
    with pytest.raises(ForgeAnswered, match="405"):
        people["maintainer"].merge_pull_request(REPOSITORY, number)
    assert TestPage().post(forge, number, "state", "developer", do="ready") == 303
    (came,) = receiver.wait_for("pull_request", "ready_for_review")
    validate(DESCRIPTION["webhooks"]["pull-request-ready-for-review"], came["payload"])
    assert people["maintainer"].merge_pull_request(REPOSITORY, number)
