"""Whatever is written in place of a part of a file, it is loaded or refused in words, soon."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.configuration import REPOSITORY
from tidegate.config.loader import LoadedConfiguration, examine_configuration
from tidegate.config.model.file import SECTIONS
from tidegate.config.refusals import MOST_LISTED

EVERYTHING = (Path(__file__).parents[2] / "data/configuration/everything.yaml").read_text(encoding="utf-8")
WHOLE = yaml.load(EVERYTHING, yaml.BaseLoader)  # noqa: S506  # It makes nothing but text, lists and mappings.

Place = tuple[str | int, ...]


def places(value: Any, here: Place = ()) -> list[Place]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for part, inner in parts for place in places(inner, (*here, part)))]


ALL_PLAN_SLOTS = [place for place in places(WHOLE) if place]
KEYS = sorted({key for section in SECTIONS.values() for key in section.model_fields})
ODD = [
    *(
        "",
        "x",
        "5",
        "true",
        "init",
        "**",
        "../..",
        "live/*",
        "a b or (",
        "a/*.tf",
        "user:a",
        "role:x",
        "^(",
        "prod",
        "ß",
    ),
    *("${STACK_VAR_", "${STACK_VAR_x}", "$STACK_VAR_REGION", "-out=x", "-var", "[key]", "9" * 30, "a" * 9000, "\x85"),
]
leaves = st.sampled_from(ODD) | st.none() | st.text(max_size=8)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS + ODD), inner, max_size=3),
    max_leaves=5,
)


def with_another(place: Place, key: str | None, value: Any) -> bytes:
    """Return the file with another value at a place, and there another key if one is given."""
    whole = copy.deepcopy(WHOLE)
    holder = whole
    for part in place[:-1]:
        holder = holder[part]
    if isinstance(holder, dict) and key is not None:
        del holder[place[-1]]
        holder[key] = value
    else:
        holder[place[-1]] = value
    return yaml.safe_dump(whole, allow_unicode=True, sort_keys=False).encode("utf-8", "surrogatepass")


@given(st.sampled_from(ALL_PLAN_SLOTS), st.none() | st.sampled_from(KEYS + ODD), values)
@example(("workflows", 0, "plan"), None, None)
@example(("workflows", 0, "plan", 0), None, [])
@example(("stacks", "names", "prod", "rules", "apply_after"), None, ["prod", ["x"]])
def test_another_value_or_key_anywhere_is_loaded_or_refused_in_words(place, key, value):
    found = examine_configuration(with_another(place, key, value), REPOSITORY)
    if isinstance(found, LoadedConfiguration):
        return
    for refusal in found:
        assert refusal.line
        assert refusal.problem
        assert not any(word in str(refusal).lower() for word in ("pydantic", "tuple", "dictionary", "validation"))


def test_the_file_that_has_everything_is_in_order():
    found = examine_configuration(EVERYTHING.encode(), REPOSITORY)
    assert isinstance(found, LoadedConfiguration)
    assert found.warnings == ()
    used = {part for place in ALL_PLAN_SLOTS for part in place}
    assert set(KEYS) <= used, "a key is missing in the file"


@pytest.mark.large
@pytest.mark.parametrize(
    "line",
    ["k{}:", "when_modifie{}:", "'$({})': x"],
)
def test_a_file_of_nothing_but_mistakes_is_answered_soon_with_the_first_hundred(line):
    started = time.process_time()
    found = examine_configuration("\n".join(line.format(number) for number in range(50_000)).encode(), REPOSITORY)
    assert isinstance(found, list)
    assert [each.line for each in found] == [*range(1, MOST_LISTED + 1)]
    assert time.process_time() - started < 15
