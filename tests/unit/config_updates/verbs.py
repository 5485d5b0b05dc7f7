"""A config repository in memory, for tests of verbs."""

from __future__ import annotations

from tests.fakes.config_updates import MemoryConfigBranches
from tests.fakes.ports import memory_ports
from tests.instants import utc
from tidegate.config.model.file import FILE
from tidegate.config_updates.announce import announce_images
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.moves import Observed, Refs
from tidegate.ports import KnownRepository

REPOSITORY, HEAD = "acme/config", "a" * 40
APP_SHA, OTHER_SHA = "c" * 40, "d" * 40
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


def images_of(app_sha, digest="a"):
    """Return the body that announces one service of a commit."""
    name = "registry.example/web"
    return {"web": {"Tag": f"{name}:{app_sha}", "Digest": f"{name}@sha256:{digest * 64}"}}


def announce(ports, app_sha=APP_SHA, *, image_set="shop", body=None, sequence=1, by="developer", run_url=""):
    """Announce images of a commit."""
    body = images_of(app_sha) if body is None else body
    return announce_images(ports, REPOSITORY, image_set, app_sha, body, sequence=sequence, by=by, run_url=run_url)


def any_seen(entries, default=HEAD, auto=HEAD, **verdicts):
    """Return what a worker sees: the branches, the configuration, and entries."""
    updates = current_updates(updates_ports(), REPOSITORY).updates
    return Observed(Refs(default, auto), updates, entries, verdicts, utc("2026-03-02T09:00"), "job")
