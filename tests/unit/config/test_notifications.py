"""The key ``notifications``: who is notified of what, by destinations that the installation declares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.configuration import REPOSITORY, load
from tidegate.config.loader import load_configuration
from tidegate.config.matchless import matchless
from tidegate.config.organization import Organization
from tidegate.config.resolution import configure
from tidegate.notifications.rules.destination import DeclaredDestinations
from tidegate.notifications.rules.subscription import NotificationKind, Subscription
from tidegate.rules.errors import InvalidConfiguration

TOLD = "notifications: [{destinations: [deploys], events: [failed, drift], tag_query: prod, digest: 5m, plan: true}]\n"


def test_a_file_says_who_is_told_of_what():
    [one] = load(TOLD).notifications
    kinds = (NotificationKind.FAILED, NotificationKind.DRIFT)
    assert one == Subscription(("deploys",), kinds, "prod", 300, plan=True)
    [other] = load("notifications: [{destinations: [a, b], events: [applied]}]\n").notifications
    assert (other.query, other.digest, other.plan) == ("", 60, False)
    [off] = load("notifications: [{destinations: [a], events: [applied], digest: off}]\n").notifications
    assert off.digest == 0
    assert load("notifications: []\n").notifications == ()


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{events: [applied]}", "destinations"),
        ("{destinations: [a]}", "events"),
        ("{destinations: [], events: [applied]}", "at least 1"),
        ("{destinations: [a], events: [aplied]}", "applied"),
        ("{destinations: [a], events: applied}", "list"),
        ("{destinations: [a], events: [applied], digest: 16m}", "too long"),
        ("{destinations: [a], events: [applied], digest: soon}", "not a duration"),
        ("{destinations: [a], events: [applied], tag_query: 'branch:release'}", "branch tag"),
        ("{destinations: [a], events: [applied], url: 'https://example.com'}", "url"),
    ],
)
def test_what_cannot_be_meant_is_refused(section, problem):
    with pytest.raises(InvalidConfiguration, match=problem):
        load(f"notifications: [{section}]\n")


def warnings(text, *names, **limited):
    """Return the warnings about a file in an installation that declares these destinations."""
    declared = DeclaredDestinations({**dict.fromkeys(names, ()), **limited})
    around = replace(Organization(), destinations=declared)
    loaded = load_configuration(text.encode(), REPOSITORY, around)
    return matchless(loaded, configure(loaded, ()), ())


def test_a_destination_that_the_installation_does_not_declare_is_a_warning_and_no_reason_to_stop_deploys():
    text = "version: 1\nnotifications:\n  - {destinations: [owners, deploy], events: [failed]}\n"
    [warning] = warnings(text, "deploys", "owners")
    assert warning.startswith("tidegate.yaml:3: ")
    assert "'deploy'" in warning
    assert "'deploys'" in warning
    assert "none" in warnings(TOLD)[0]
    assert warnings(text, "deploy", "owners") == ()


def test_a_destination_that_is_not_for_the_repository_is_a_warning_and_proposed_to_nobody():
    text = "version: 1\nnotifications:\n  - {destinations: [deploys], events: [failed]}\n"
    assert warnings(text, deploys=("other/*", REPOSITORY)) == ()
    [warning] = warnings(text, deploys=("other/*", f"{REPOSITORY}-2"))
    assert warning.startswith("tidegate.yaml:3: ")
    assert "'deploys'" in warning
    assert "repositories" in warning
    [other] = warnings(text.replace("deploys", "deploy"), deploys=("other/*",))
    assert "deploys" not in other


def test_where_the_installation_is_not_known_any_name_is_accepted():
    loaded = load(TOLD)
    assert matchless(loaded, configure(loaded, ()), ()) == ()
