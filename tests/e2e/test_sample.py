"""The sample fills a local cloud with everything that its pages can show, by the product's own ways."""

from __future__ import annotations

import pytest

from tidegate_local.sample.files import ANALYTICS, CLUSTERS, PLATFORM
from tidegate_local.sample.organization import Organization
from tidegate_local.updates_client import ask


@pytest.mark.nightly
def test_the_sample_has_reviews_a_failure_drift_a_lock_and_pull_requests(tidegate):
    steps = []
    Organization(tidegate.cloud, steps.append).fill()
    api = f"{tidegate.cloud.info['api_url']}/api/v1"

    def states(repository):
        roots = ask("GET", f"{api}/repositories/{repository}/roots", "maintainer")["roots"]
        return {root["name"]: (root["running"] or root["last"])["state"] for root in roots}

    assert states(CLUSTERS) == {"hub": "applied", "shop": "awaiting_review"}
    assert states(ANALYTICS) == {"reports": "applied", "warehouse": "apply_failed"}
    platform = states(PLATFORM)
    assert len(platform) == 10
    assert (platform["dev/shop"], platform["staging/shop"], platform["prod/shop"]) == (
        "applied",
        "awaiting_review",
        "gated",
    )
    pulls = ask("GET", f"{api}/pulls?repository={PLATFORM}", "maintainer")["pull_requests"]
    assert [each["verdict"]["kind"] for each in pulls] == ["failed", "held_up", "passed"]
    (schedule,) = ask("GET", f"{api}/drift?repository={PLATFORM}", "maintainer")["schedules"]
    assert "prod/network" in str(schedule)
    lock = ask("GET", f"{api}/queue?repository={PLATFORM}&root=prod/database", "maintainer")["lock"]
    assert lock["by"] == "maintainer"
    assert steps
