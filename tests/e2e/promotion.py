"""Three tiers of which each waits for the one before."""

from __future__ import annotations

from tests.e2e.modules import thing
from tests.e2e.project import title

BROKEN = 'resource "nothing_of_this_kind" "x" {}\n'

STACKS = """
dirs:
  dev/app: {tags: [dev]}
  staging/app: {tags: [staging]}
  prod/app: {tags: [prod]}
stacks:
  names:
    dev:
      tag_query: dev
    staging:
      tag_query: staging
      rules: {apply_after: [dev], auto_apply: true}
    prod:
      tag_query: prod
      on_change:
        can_apply_after: [staging]
"""

TIERS = ("dev/app", "staging/app", "prod/app")


def change(value: str, *roots: str) -> dict[str, str]:
    return {root: thing(value) for root in roots or TIERS}


def waits_for(stack: str):
    return lambda run: title(run).startswith(f"Waiting for stack {stack}")


def is_blocked(run) -> bool:
    return title(run).startswith("Blocked")
