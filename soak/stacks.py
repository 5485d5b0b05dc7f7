"""The soak's ``tidegate.yaml``, and what it says about who goes first, read without any code of Tidegate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import yaml

from soak.modules import FORBIDDEN

#: Stacks that promote one another, in this order.
TIERS = ("dev", "staging", "prod")
#: Roots that are in no tier.
_FREE = "free"
#: This one is applied when two people approved who did not make the change.
CAREFUL = f"{_FREE}-2"
_TWO = {"approvals": 2, "exclude_authors": True}
#: What pull requests are checked against, and where its rules are; nobody may approve what it refuses.
POLICY_SET, POLICY_FILE = "words", "policies/words.rego"
POLICY = f"""package main

import rego.v1

deny contains {{"msg": msg, "address": each.address}} if {{
  some each in input.resource_changes
  each.change.after.input == "{FORBIDDEN}"
  msg := sprintf("%s is forbidden", [each.address])
}}
"""
#: The drift schedule.
SCHEDULE = "all"
#: What a plan writes to its journal: ``$$`` is a ``$`` that the shell sees.
_JOURNAL = "echo $$TIDEGATE_ROOT $$TIDEGATE_JOB $$(date +%s.%N) >> {journal}"
_SCHEDULES = {"schedules": {SCHEDULE: {"tag_query": "", "schedule": "hourly", "report": "check"}}}


@dataclass(frozen=True, slots=True)
class Rules:
    """What the file says of tiers: which are applied after which, and which without a review."""

    after: Mapping[str, tuple[str, ...]]
    automatic: tuple[str, ...]


#: The first are those that the soak begins with.
RULES = (
    Rules({"staging": ("dev",), "prod": ("staging",)}, ("dev",)),
    Rules({"staging": ("dev",), "prod": ("staging",)}, ("dev", "staging")),
    Rules({"staging": ("dev",), "prod": ("dev", "staging")}, ()),
    Rules({"prod": ("dev",)}, ("dev", "staging")),
)


def names(count: int) -> list[str]:
    """Return the names of so many roots: one of each tier, one of none, and again."""
    kinds = (*TIERS, _FREE)
    return [f"{kind}-{number // len(kinds) + 1}" for number, kind in enumerate(islice(cycle(kinds), count))]


def tier_of(root: str) -> str:
    """Return the tier of a root, or what it is called in none."""
    return root.partition("-")[0]


def configuration(roots: Iterable[str], rules: Rules, journal: Path) -> str:
    """Return ``tidegate.yaml``: each root in a directory of its name, and the second of each tier after the first.

    Whoever plans writes that to the journal before.
    """
    dirs = {root: _directory(root) for root in roots}
    stacks = {tier: _stack(tier, rules) for tier in TIERS}
    policies = {POLICY_SET: {"paths": [POLICY_FILE.partition("/")[0]]}}
    file = {"dirs": dirs, "stacks": {"names": stacks}, "policy_sets": policies, "drift": _SCHEDULES}
    file["hooks"] = {"plan": {"pre": [{"type": "run", "cmd": ["sh", "-c", _JOURNAL.format(journal=journal)]}]}}
    text: str = yaml.safe_dump(file, sort_keys=False)
    return text


def _directory(root: str) -> dict[str, Any]:
    tier, _, number = root.partition("-")
    if tier not in TIERS:
        return {"plan_review": _TWO} if root == CAREFUL else {}
    tags = {"tags": [tier, root]}
    return {**tags, "when_modified": {"depends_on": f"{tier}-1"}} if number == "2" else tags


def _stack(tier: str, rules: Rules) -> dict[str, Any]:
    after = list(rules.after.get(tier, ()))
    return {"tag_query": tier, "rules": {"apply_after": after, "auto_apply": tier in rules.automatic}}


@dataclass(frozen=True, slots=True)
class Order:
    """What a file says: the stack of each root, what each depends on, what is applied before it, what needs no review.

    ``before`` has what the root depends on and the roots of the stacks that go first, over any number of steps.
    ``approvals`` has how many people must approve, where a root says it: none of them may be an author then.
    """

    stacks: Mapping[str, str]
    depends: Mapping[str, tuple[str, ...]]
    before: Mapping[str, tuple[str, ...]]
    unreviewed: tuple[str, ...]
    approvals: Mapping[str, int]


def order_of(text: str) -> Order:
    """Read a file that ``configuration`` wrote: each query there is one tag."""
    file = yaml.safe_load(text)
    dirs, sections = file["dirs"], file["stacks"]["names"]
    stack_of = {root: stack for stack in sections for root in _tagged(dirs, sections[stack]["tag_query"])}
    after = {stack: section["rules"]["apply_after"] for stack, section in sections.items()}
    depends = {root: tuple(_depended(dirs, root, stack_of)) for root in dirs}
    before = {}
    for root in dirs:
        earlier = _reached(after, stack_of[root]) if root in stack_of else set()
        before[root] = tuple(sorted(_reached(depends, root) | {one for one in stack_of if stack_of[one] in earlier}))
    unreviewed = tuple(root for root, stack in stack_of.items() if sections[stack]["rules"]["auto_apply"])
    approvals = {root: said["plan_review"]["approvals"] for root, said in dirs.items() if "plan_review" in said}
    return Order(stack_of, depends, before, unreviewed, approvals)


def _tagged(dirs: Mapping[str, Any], tag: str) -> list[str]:
    return [root for root, directory in dirs.items() if tag in directory.get("tags", ())]


def _depended(dirs: Mapping[str, Any], root: str, stack_of: Mapping[str, str]) -> list[str]:
    tag = dirs[root].get("when_modified", {}).get("depends_on", "")
    return [one for one in _tagged(dirs, tag) if one != root and stack_of.get(one) == stack_of.get(root)]


def _reached(follow: Mapping[str, Iterable[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = list(follow.get(start, ()))
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += follow.get(one, ())
    return found
