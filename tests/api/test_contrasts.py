"""Whether what people must see stands out from what is behind it (WCAG 2.2: 1.4.3 and 1.4.11), by computation."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

CSS = files("tidegate.web").joinpath("static/app.css").read_text()
_LIGHT, _DARK = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
#: Text, and what it is written on.
TEXTS = [
    *(
        (name, on)
        for name in ("text", "quiet", "link", "good", "bad", "attention", "busy")
        for on in ("canvas", "inset")
    ),
    *((name, f"{name}-soft") for name in ("good", "bad", "attention", "busy", "quiet")),
    ("on-primary", "primary"),
]
#: Borders of buttons and fields, and other parts that people must find.
PARTS = [(name, on) for name in ("edge", "bad", "link", "primary") for on in ("canvas", "inset", "attention-soft")]


@pytest.mark.parametrize("theme", [_LIGHT, _DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("pairs", "least"), [(TEXTS, 4.5), (PARTS, 3.0)], ids=["text", "parts"])
def test_every_colour_stands_out_enough(theme, pairs, least):
    colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", theme))
    low = {pair: ratio for pair in pairs if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < least}
    assert low == {}


@pytest.mark.parametrize("selector", [r"\.text", r"button, \.button", r'\.filter input\[type="search"\]'])
def test_what_people_press_or_fill_in_has_such_a_border(selector):
    rule = re.search(rf"(?:^|[\n}}] ?){selector} \{{([^}}]*)\}}", CSS)
    assert "border: 1px solid var(--edge)" in rule[1]


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
