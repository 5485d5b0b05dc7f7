"""Who made a change, by what commits say of it."""

from __future__ import annotations

import pytest

from tidegate.vcs.rules.authors import co_authors, private_login


def test_a_message_names_who_made_a_commit_besides():
    trailers = "Co-Authored-By: Ann <Ann@Example.com>", "  co-authored-by: <ben@example.com>", "Signed-off-by: C <c@x>"
    message = "\n".join(("Grow", "", *trailers))
    assert co_authors(message) == ("ann@example.com", "ben@example.com")
    assert co_authors("Grow") == ()


@pytest.mark.parametrize("message", ["Co-authored-by: Ann", "Co-authored-by:", "Co-authored-by: <"])
def test_whom_a_message_names_without_an_address_is_somebody(message):
    assert co_authors(message) == ("",)


@pytest.mark.parametrize(
    ("address", "separator", "alone", "login"),
    [
        ("7+ann@users.noreply.github.com", "+", True, "ann"),
        ("ann@USERS.noreply.github.com", "+", True, "ann"),
        ("7-ann-b@users.noreply.gitlab.com", "-", False, "ann-b"),
        ("ann@users.noreply.gitlab.com", "-", False, ""),
        ("my-ann@users.noreply.gitlab.com", "-", False, ""),
        ("7+ann@example.com", "+", True, ""),
        ("ann", "+", True, ""),
    ],
)
def test_private_addresses_of_forges_tell_whose_they_are(address, separator, alone, login):
    assert private_login(address, separator, alone=alone) == login
