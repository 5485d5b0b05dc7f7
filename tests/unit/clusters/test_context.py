"""Tasks and hooks read typed values from the context of their workflow."""

from __future__ import annotations

import pytest

from tidegate.clusters.rules.context import (
    Access,
    ClusterReference,
    Key,
    ManagementUpgrade,
    diff_text,
    names_text,
    reference_text,
)
from tidegate.clusters.rules.plan import VersionChange
from tidegate.clusters.rules.refusals import NotInContext

_HUB = ClusterReference("hub", Access.EKS, "arn:aws:eks:eu-west-1:123456789012:cluster/hub")


def test_values_are_read_as_they_were_stored():
    change = VersionChange("controller", "1.0", "2.0")
    context = ManagementUpgrade(
        {
            Key.MANAGEMENT: reference_text(_HUB),
            Key.PAUSED_CLUSTERS: names_text(("shop",)),
            Key.PAUSED_GITOPS: "flux",
            Key.BACKUP: "backups/1",
            Key.DIFF: diff_text((change,)),
        }
    )
    assert context.management_cluster == _HUB
    assert context.paused_clusters == ("shop",)
    assert context.paused_gitops == "flux"
    assert context.backup == "backups/1"
    assert context.diff == (change,)


def test_what_nothing_has_produced_is_refused_with_what_there_is():
    context = ManagementUpgrade({"my-key": "1"})
    assert context.has("my-key")
    assert not context.has(Key.BACKUP)
    with pytest.raises(NotInContext, match="my-key"):
        _ = context.backup
