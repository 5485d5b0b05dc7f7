"""A config repository in memory, for tests of verbs."""

from __future__ import annotations

from tests.fakes.config_updates import MemoryConfigBranches
from tests.fakes.ports import memory_ports
from tests.instants import utc
from tidegate.config.model.file import FILE
from tidegate.ports import KnownRepository

REPOSITORY, HEAD = "acme/config", "a" * 40
CONFIGURATION = """\
config_updates:
  required_checks: [{name: build, app: github-actions}]
  sets:
    - name: shop
      app: {repository: acme/shop, refs: [main, release/*]}
      environments:
        - {name: staging, file: images/staging.json, targets: [{name: staging-eu}]}
        - name: production
          file: images/production.json
          targets: [{name: production-eu}, {name: production-us}]
          promote: manual
    - name: blog
      app: {repository: acme/blog}
      environments:
        - {name: live, file: images/blog.json, targets: [{name: live}]}
"""


def updates_ports(configuration=CONFIGURATION, **given):
    """Return ports with a config repository whose default branch has this file, as one that is known."""
    branches = MemoryConfigBranches(heads={"main": HEAD})
    if configuration is not None:
        branches.files[HEAD, FILE] = configuration.encode()
    ports = memory_ports(config_branches=branches, **given)
    ports.repository_index.remember(KnownRepository(REPOSITORY, "main", HEAD, utc("2026-03-02T08:00")))
    return ports
