"""What holds for every comment's text, and layers as comments show them."""

from __future__ import annotations

import re
from dataclasses import replace


def lines_outside_fences(text):
    """Return the lines that are Markdown, and hold that each fence is closed."""
    outside, fence = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            assert not fence or line == "```", "what is in a fence cannot end it"
            fence = not fence
        elif not fence:
            outside.append(line)
    assert not fence, "a fence is not closed"
    return outside


def is_whole(text):
    outside = "\n".join(lines_outside_fences(text))
    assert len(re.findall(r"^<details", outside, re.MULTILINE)) == outside.count("\n</details>")
    return outside


def in_state(layer, state):
    return replace(layer, state=state)


def with_plan(layer, plan):
    return replace(layer, plan=plan)
