"""Where symbolic links of a repository lead, and by which paths a file is reached."""

from __future__ import annotations

import pytest

from tidegate.roots.rules.links import Links
from tidegate.rules.errors import InvalidConfiguration


@pytest.mark.parametrize(
    ("texts", "path", "place"),
    [
        ({}, "a/b", "a/b"),
        ({"a/main.tf": "../shared/main.tf"}, "a/main.tf", "shared/main.tf"),
        ({"a/m": "../modules"}, "a/m/net/main.tf", "modules/net/main.tf"),
        ({"a/m": "../n", "n": "./modules//net"}, "a/m/main.tf", "modules/net/main.tf"),
        ({"a": "."}, "a/b", "b"),
        ({"a": "."}, "a", "."),
        ({"a": "b", "b": "a"}, "a", None),
        ({"a": "a"}, "a/x", None),
        ({"a": "../etc"}, "a", None),
        ({"a/b": "../../etc"}, "a/b/c", None),
        ({"a": "/etc"}, "a", None),
        ({"a": "x\0y"}, "a", None),
    ],
)
def test_a_path_leads_where_the_system_would_take_it(texts: dict[str, str], path: str, place: str | None) -> None:
    assert Links(texts).place(path) == place


def test_links_that_lead_out_are_told_apart_from_cycles() -> None:
    links = Links({"a": "/etc", "b": "../x", "c": "c", "d": "a/x", "e": "f"})
    assert links.outside == {"a", "b", "d"}
    assert "e" in links
    assert links
    assert not Links()


def test_a_file_is_reached_by_links_to_it_to_its_directories_and_to_links() -> None:
    links = Links({"a/main.tf": "../b/main.tf", "b/main.tf": "../c/main.tf", "m": "c", "n/deep": "../m", "o": "gone"})
    assert set(links.seen_as("c/main.tf")) == {"a/main.tf", "b/main.tf", "m/main.tf", "n/deep/main.tf"}
    assert set(links.seen_as("b/main.tf")) == {"a/main.tf"}
    assert set(links.seen_as("gone")) == {"o"}
    assert set(links.seen_as("x")) == set()
    assert set(Links().seen_as("x")) == set()
    assert sorted(links.to("c/main.tf")) == ["a/main.tf", "b/main.tf"]


def test_directories_that_hold_links_to_themselves_or_each_other_are_followed_once() -> None:
    links = Links({"a/self": ".", "a/up": "..", "a/b": "../b", "b/a": "../a"})
    assert set(links.seen_as("a/main.tf")) == {"b/a/main.tf", "a/b/a/main.tf"}


def test_links_that_take_too_long_to_follow_are_refused() -> None:
    chain = {f"chain{number}": f"{'a/../' * 800}chain{number + 1}" for number in range(39)}
    with pytest.raises(InvalidConfiguration, match="too many symbolic links"):
        Links(chain | {f"link{number}": "chain0" for number in range(10_000)})


def test_a_link_that_no_system_could_make_leads_nowhere() -> None:
    assert Links({"a": "x/" * 2_048}).outside == {"a"}
