"""The picture of a change: whole, harmless, and the same for the same stacks."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import deployment_in
from tests.chance import examples
from tidegate.deploys.rules.overview import StackOverview
from tidegate.deploys.rules.state import State
from tidegate.web.picture import MOST_DRAWN, picture
from tidegate.web.picture_layout import HEIGHT, WIDTH, layout
from tidegate.web.rendering import STATES

SVG = "{http://www.w3.org/2000/svg}"


def drawing(text):
    return ET.fromstring(text)  # noqa: S314  # It is what is tested: no outsider's.


def stack(name, tier=1, state=State.QUEUED, **after):
    return StackOverview(name, tier, state, (deployment_in(state),), **after)


CHAIN = (
    stack("dev", state=State.APPLIED),
    stack("staging", 2, State.BLOCKED, apply_after=("dev",)),
    stack("prod", 3, plan_after=("staging",)),
)


def test_every_stack_is_a_box_with_its_name_its_state_in_words_and_a_link_to_its_group():
    drawn = drawing(picture(CHAIN, STATES))
    boxes = drawn.findall(f"{SVG}a")
    assert [box.get("href") for box in boxes] == ["#stack-1", "#stack-2", "#stack-3"]
    words = [[text.text for text in box.findall(f"{SVG}text")] for box in boxes]
    assert words[0] == ["dev", "Applied", "1 of 1 done"]
    assert [box.get("class") for box in boxes] == ["box good", "box bad", "box quiet"]


def test_arrows_tell_what_waits_with_its_plan_and_what_with_its_apply():
    drawn = drawing(picture(CHAIN, STATES))
    arrows = {path.find(f"{SVG}title").text: path.get("class") for path in drawn.findall(f"{SVG}path")}
    assert arrows == {"staging is applied after dev": "arrow apply", "prod is planned after staging": "arrow plan"}


def test_those_who_see_no_picture_are_told_what_it_shows():
    drawn = drawing(picture(CHAIN, STATES))
    assert drawn.find(f"{SVG}title").text == "Stacks of this change"
    assert "staging: blocked, 0 of 1 done, apply after dev." in drawn.find(f"{SVG}desc").text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b", 'x" onload="y', "{0}", "\u202eleft", "n" * 200])
def test_no_name_of_a_stack_changes_the_picture(name):
    drawn = drawing(picture((stack(name), stack("prod", 2, apply_after=(name,))), STATES))
    assert {element.tag.removeprefix(SVG) for element in drawn.iter()} <= {
        "svg", "title", "desc", "defs", "marker", "path", "a", "rect", "text", "circle",
    }  # fmt: skip
    assert "\u202e" not in picture((stack(name), stack("prod", 2)), STATES)


def test_one_stack_alone_and_more_than_anybody_can_read_are_not_drawn():
    assert picture(CHAIN[:1], STATES) is None
    assert picture([stack(f"s{number}") for number in range(MOST_DRAWN + 1)], STATES) is None


@st.composite
def graphs(draw):
    """Stacks, each of which may wait for earlier ones."""
    found = []
    for number in range(draw(st.integers(2, 12))):
        firsts = draw(st.lists(st.sampled_from(found), unique=True, max_size=3)) if found else []
        tier = 1 + max((one.tier for one in firsts), default=0)
        found.append(stack(f"s{number}", tier, apply_after=tuple(one.name for one in firsts)))
    return found


@examples(60)
@given(graphs())
def test_no_boxes_overlap_all_arrows_lead_to_the_right_and_nothing_is_outside(stacks):
    where = layout(stacks)
    corners = list(where.boxes.values())
    for number, (left, top) in enumerate(corners):
        assert 0 <= left <= where.width - WIDTH
        assert 0 <= top <= where.height - HEIGHT
        for right, below in corners[number + 1 :]:
            assert abs(left - right) >= WIDTH or abs(top - below) >= HEIGHT
    for arrow in where.arrows:
        across = [x for x, _ in arrow.points]
        assert across == sorted(across)
        assert where.boxes[arrow.first][0] + WIDTH == across[0]
        assert where.boxes[arrow.then][0] == across[-1]
        for x, y in arrow.points[1:-1]:
            assert not any(left < x < left + WIDTH and top < y < top + HEIGHT for left, top in corners)
    assert picture(stacks, STATES) == picture(stacks, STATES)
