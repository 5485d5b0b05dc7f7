"""The part of a deployment's page that asks for a decision, and its forms."""

from __future__ import annotations

import re

import pytest

from tests.api.scenario import Client
from tests.builders import NOW, any_deployment, any_review, deployment_in
from tidegate.deploys.rules.needs import Activity
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval, Gate
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.rules.access import Access


class TestReview:
    """What a page offers who looks at a plan that waits, and what it tells them."""

    def page(self, wires, client, **fields):
        one = wires.deployed(deployment_in(State.AWAITING_REVIEW, **fields))
        return client.get(f"/deployments/{one.id}")

    def offered(self, page):
        return [word for word in ("Approve", "Reject", "Retry") if f">{word}<" in page.body]

    def test_who_approved_before_is_told_so_and_may_still_reject(self, wires, browser):
        review = any_review(approvals=(Approval("Reviewer", NOW),))
        page = self.page(wires, browser, review=review, review_rule=ReviewRule(approvals=2))
        assert self.offered(page) == ["Reject"]
        assert "reviewer already approved this" in page.text
        assert "1 of 2 approvals so far: Reviewer" in page.text

    def test_who_is_excluded_is_named_and_told_so(self, wires, browser):
        rule = ReviewRule(exclude_authors=True)
        page = self.page(wires, browser, authors=("dev", "reviewer"), requested_by="reviewer", review_rule=rule)
        assert self.offered(page) == ["Reject"]
        assert "reviewer authored or requested" in page.text
        assert "Authors of the change may not approve it: dev, reviewer." in page.text
        assert "Some authors are unknown, so one" not in page.text

    def test_where_not_all_authors_are_known_it_is_told_that_one_more_approves(self, wires, browser):
        rule = ReviewRule(exclude_authors=True)
        page = self.page(wires, browser, authors_known=False, review_rule=rule)
        assert self.offered(page) == ["Approve", "Reject"]
        assert "Some authors are unknown, so one more person must approve." in page.text
        assert "0 of 2 approvals so far" in page.text

    def test_who_reviews_sees_what_policies_say_against_the_plan(self, wires, browser):
        told = "Policy set costs (user:reviewer can approve it): It costs <too> much."
        finding = PolicyFinding(Severity.DENY, "main.deny", "It costs <too> much.")
        refused = {
            "policy_sets": (PolicySetStatus("costs", owners=("user:reviewer",)),),
            "verdicts": (PolicyVerdict("costs", (finding,)),),
        }
        page = self.page(wires, browser, **refused)
        assert "Policies block this plan." in page.text
        assert told in page.text
        (one,) = wires.deployments.doing(Activity.NEEDING, 2)
        shown = Client(wires, "token-of-reviewer").get(f"/api/v1/deployments/{one}").json
        assert shown["policies_refuse"] == [told]

    def test_it_is_told_when_the_review_expires(self, wires, browser):
        page = self.page(wires, browser)
        assert re.search(r"It expires\s+<time datetime=\"2026-03-09T08:00:00.000000\+00:00\"", page.body)
        details = Client(wires, "token-of-reader").get(f"/api/v1/deployments/{any_deployment().id}").json
        assert details["review"]["expires_at"] == "2026-03-09T08:00:00.000000+00:00"

    def test_buttons_are_for_whom_access_control_names(self, wires, browser):
        page = self.page(wires, browser, access=Access(review=("team:sre",)), stack="prod")
        assert self.offered(page) == []
        assert "Only team:sre can review" in page.text
        wires.forge.teams["acme/sre"] = {"reader"}
        assert self.offered(Client(wires).sign_in("reader").get(f"/deployments/{any_deployment().id}")) == [
            "Approve",
            "Reject",
        ]

    def test_a_page_that_is_looked_at_again_asks_the_forge_for_nothing(self, wires, browser):
        self.page(wires, browser, access=Access(review=("team:sre",)))
        asked = len(wires.forge.people_asked), len(wires.forge.teams_asked)
        for _ in range(3):
            browser.get(f"/deployments/{any_deployment().id}")
        assert (len(wires.forge.people_asked), len(wires.forge.teams_asked)) == asked

    def test_a_gate_offers_a_retry_to_who_may_deploy_and_a_rejection_to_who_may_review(self, wires, browser):
        access = Access(apply=("user:reviewer",), review=("user:reader",))
        one = wires.deployed(deployment_in(State.BLOCKED, access=access))
        seen = [
            self.offered(client.get(f"/deployments/{one.id}")) for client in (browser, Client(wires).sign_in("reader"))
        ]
        assert seen == [["Retry"], ["Reject"]]

    @pytest.mark.parametrize("fields", [{"pull_request": 7}, {"gate": Gate("plan", NOW, cycle="They wait.")}])
    def test_where_nothing_can_be_run_again_no_retry_is_offered(self, wires, browser, fields):
        one = wires.deployed(deployment_in(State.BLOCKED, **fields))
        page = browser.get(f"/deployments/{one.id}")
        assert self.offered(page) == ["Reject"]
        assert "Retry" not in page.body
