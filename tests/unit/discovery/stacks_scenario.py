"""A repository with two stacks, and what its commits discover."""

from __future__ import annotations

from tests.unit.discovery.trees import Trees
from tidegate.config.resolution import configure
from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots
from tidegate.discovery.root_index import Configure

REPOSITORY = "acme/infra"
PLACES = ("network/dev", "network/prod", "app/dev", "app/prod")
MODULES = {f"{place}/main.tf": "" for place in PLACES}

ENVIRONMENTS = """
dirs:
  network/dev: {tags: [dev, network]}
  network/prod: {tags: [prod, network]}
  app/dev: {tags: [dev], when_modified: {depends_on: network}}
  app/prod: {tags: [prod], when_modified: {depends_on: network}}
stacks:
  names:
    dev:
      tag_query: dev
      variables: {region: eu}
    prod:
      tag_query: prod
      on_change:
        can_apply_after: [dev]
"""


def with_file(text: str, **contents: str) -> dict[str, str]:
    """Return the modules and the file; ``network_dev="x"`` gives the module in network/dev another content."""
    changed = {f"{place.replace('_', '/')}/main.tf": content for place, content in contents.items()}
    return {**MODULES, "tidegate.yaml": text, **changed}


def discover(
    old: dict[str, str], new: dict[str, str], configuring: Configure = configure, **options: object
) -> Discovery:
    return discover_roots(Trees(old, new), Reading(REPOSITORY, configuring=configuring), **options)


def members(discovery: Discovery) -> list[str]:
    return ["@".join(each.member.key) for each in discovery.members]


def changing(text: str, **options: object) -> Discovery:
    """Return what a change of the module in network/dev discovers."""
    return discover(with_file(text), with_file(text, network_dev="# new"), **options)
