"""What was probably meant by a name that nothing has."""

from __future__ import annotations

import pytest

from tidegate.roots.rules.nearest import nearest


@pytest.mark.parametrize("word", ["netwrok", "Network", "NETWORK"])
def test_a_mistyped_word_means_the_nearest_in_whatever_case(word):
    assert nearest(word, ["database", "network"]) == "network"


def test_nothing_is_meant_that_is_not_near():
    assert nearest("network", ["database"]) is None
    assert nearest("network", []) is None


def test_of_very_many_words_the_nearest_is_found_wherever_it_stands():
    many = [f"a-root-with-a-rather-long-name-{number}" for number in range(10_000)]
    assert nearest("netwrok", iter([*many, "network"])) == "network"
