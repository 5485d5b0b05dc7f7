"""Whatever a pull request is, its comment fits and stays what it is."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_plan
from tests.chance import examples
from tests.pull_request_layers import comment_of, failed, planned, unchanged
from tests.unit.comments.comment_text import in_state, is_whole, with_plan
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.plans.rules.cost import PlanCost, ResourceCost, unknown_cost
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict, Severity
from tidegate.pull_requests.rules.blocks import LayerView
from tidegate.pull_requests.rules.comment import MAXIMUM_COMMENT, render_comment

HOSTILE_CHARACTERS = st.sampled_from("a`~|<>@#*_-[]()!\\&\n\r\t \x1b\u202eü💥") | st.characters(codec="utf-8")
HOSTILE = st.text(HOSTILE_CHARACTERS, max_size=120)


@st.composite
def layers(draw):
    text = draw(HOSTILE) * draw(st.sampled_from([1, 1, 10, 600]))
    fields = {
        "why": draw(HOSTILE),
        "tier": draw(st.integers(1, 3)),
        "tiers": 3,
        "verdicts": tuple(
            PolicyVerdict(
                draw(HOSTILE), (PolicyFinding(Severity.DENY, draw(HOSTILE), draw(HOSTILE) * 5, draw(HOSTILE)),)
            )
            for _ in range(draw(st.integers(0, 3)))
        ),
        "waits": Waits((draw(HOSTILE),), apply_after=(draw(HOSTILE),)),
    }
    name = draw(HOSTILE)
    match draw(st.sampled_from(["planned", "failed", "unchanged", "refused"])):
        case "planned":
            addresses = tuple(draw(st.lists(HOSTILE, max_size=3)) * 10)
            changes = PlannedChanges(destroy=len(addresses) + 3, destroyed=addresses)
            costs = tuple(ResourceCost(draw(HOSTILE), 10**14) for _ in range(draw(st.integers(0, 10))))
            cost = PlanCost("USD", 10**14, -(10**14), costs, 10**9, 10**9)
            return planned(name, text, changes, draw(st.sampled_from([None, cost, unknown_cost(name)])), **fields)
        case "failed":
            return failed(name, draw(HOSTILE) * draw(st.sampled_from([1, 30])), text, **fields)
        case "refused":
            return LayerView(in_state(failed(name, text, "", **fields).layer, LayerState.REFUSED))
    return unchanged(name, **fields)


@examples(40)
@given(st.lists(layers(), min_size=1, max_size=8), st.sampled_from([1, 1, 5, 40]), HOSTILE, HOSTILE)
def test_every_comment_fits_and_stays_what_it_is(found, times, base, fault):
    views = [
        replace(each, layer=replace(each.layer, id=f"{number}-{copy}"))
        for number, each in enumerate(found)
        for copy in range(times)
    ]
    text = render_comment(comment_of(*views, base=base, fault=fault))
    assert len(text.encode()) <= MAXIMUM_COMMENT
    outside = is_whole(text)
    prose = re.sub(r"\\.|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "", outside)
    bad = re.search(r"<(?!/?details|/?summary|/?code|!-- tidegate)", prose)
    assert not bad, repr(prose[bad.start() - 300 : bad.end() + 80])
    assert f"**{len(views)} root" in text


@examples(25)
@given(st.integers(1, 130), st.integers(0, 200_000), st.integers(0, 30))
def test_every_number_and_size_fits_and_nothing_is_silently_missing(roots, length, bad):
    body = ("+ line of a plan\n" * (length // 17 + 1))[:65_000]
    plan = any_plan(changes=PlannedChanges(add=1))
    views = [
        LayerView(with_plan(planned(f"root-{n:03}").layer, plan), body, length, "https://x.example/log")
        for n in range(roots)
    ]
    text = render_comment(comment_of(*views, *(failed(f"bad-{n:02}", last_lines=body) for n in range(bad))))
    assert len(text.encode()) <= MAXIMUM_COMMENT
    is_whole(text)
    more = re.search(r"… and (\d+) more\. See all", text)
    named = len(re.findall(r"^(?:\| `|<details[^>]*><summary><code>)root-|^\| `bad-", text, re.MULTILINE))
    shown = named + (int(more.group(1)) if more else 0)
    assert shown == roots + (bad if "| Root | Plan |" in text else 0)
    assert length <= len(body) or "bytes omitted …" in text or "| Root | Plan |" in text
