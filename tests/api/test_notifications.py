"""Notifications of a repository on their page and by the API."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, REPOSITORY, deployment_in
from tidegate.deploys.rules.state import State
from tidegate.notifications.rules.delivery import DeliveryState, single
from tidegate.notifications.rules.notice import notice_of
from tidegate.notifications.rules.subscription import NotificationKind, Subscription, Subscriptions
from tidegate.rules.timestamp import timestamp_text

PAGE = f"/notifications?repository={REPOSITORY}"
SUBSCRIPTION = Subscription(("deploys",), (NotificationKind.REVIEW_WAITS,))
NEW = single(notice_of(deployment_in(State.AWAITING_REVIEW), NotificationKind.REVIEW_WAITS, NOW), SUBSCRIPTION).delivery


def test_the_newest_notifications_are_shown_with_what_became_of_them(wires, browser, reader):
    wires.notifications.save(NEW.failed("HTTP status <503>", NOW))
    wires.notifications.save(replace(NEW.delivered(NOW), id=f"{NEW.id}-later", destination="owners"))
    later, earlier = reader.get(f"/api/v1{PAGE}").json["notifications"]
    assert (later["destination"], later["state"], later["ended_at"]) == ("owners", "delivered", timestamp_text(NOW))
    assert (earlier["state"], earlier["attempts"], earlier["error"]) == ("sending", 1, "HTTP status <503>")
    assert earlier["kinds"] == ["review-waits"]
    page = browser.get(PAGE)
    for word in ("Delivered", "Being sent", "HTTP status <503>", "owners", "Review waits: network"):
        assert word in page.text
    assert "<503>" not in page.body
    assert '<a href="/repositories">Repositories</a>' in page.body


def test_each_state_has_a_word(wires, browser):
    for number, state in enumerate(DeliveryState):
        wires.notifications.save(replace(NEW, id=f"{NEW.id}-{number}", state=state))
    text = browser.get(PAGE).text
    assert all(word in text for word in ("In a digest", "Being sent", "Delivered", "Failed"))


def test_without_notifications_the_page_says_how_to_get_some(wires, browser):
    assert "Nobody is notified of anything" in browser.get(PAGE).text
    wires.notifications.keep_subscriptions(Subscriptions(REPOSITORY, (SUBSCRIPTION,)))
    assert "No notifications yet" in browser.get(PAGE).text


def test_the_page_names_destinations_that_the_installation_does_not_declare(wires, browser, reader):
    wires.notifications.keep_subscriptions(Subscriptions(REPOSITORY, (SUBSCRIPTION,)))
    assert "does not declare the destination 'deploys'" in browser.get(PAGE).text
    assert ["'deploys'" in each for each in reader.get(f"/api/v1{PAGE}").json["problems"]] == [True]
    wires.put({"TIDEGATE_DESTINATION_NAMES": '{"deploys": [], "owners": []}'})
    assert "nobody is notified" not in browser.get(PAGE).text
    assert reader.get(f"/api/v1{PAGE}").json["problems"] == []


def test_the_page_leads_to_the_users_of_slack_where_there_is_an_app(wires, browser):
    assert "/account/slack" not in browser.get(PAGE).body
    wires.slack_apps.secrets = {"slack": "signing secret"}
    assert 'href="/account/slack"' in browser.get(PAGE).body


def test_the_page_names_destinations_that_are_not_for_the_repository(wires, browser):
    wires.notifications.keep_subscriptions(Subscriptions(REPOSITORY, (SUBSCRIPTION,)))
    wires.put({"TIDEGATE_DESTINATION_NAMES": '{"deploys": ["other/*"]}'})
    assert "does not let the repository use the destination 'deploys'" in browser.get(PAGE).text
