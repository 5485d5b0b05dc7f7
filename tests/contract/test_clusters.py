"""What every store of clusters does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_artifact
from tests.fakes.clusters import MemoryClusters
from tidegate.clusters.adapters.store import DynamoClusters
from tidegate.clusters.rules.record import (
    Checkpoint,
    ClusterRecord,
    ClusterRun,
    FirstError,
    Held,
    Identity,
    Lock,
    Phase,
    PhaseState,
    Place,
)
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, ProviderName
from tidegate.rules.errors import Conflict

REPOSITORY, OTHER = "acme/clusters", "acme/others"
PLACE = Place("install-networking", "notify", "repository")


@pytest.fixture
def store(request, kind):
    if kind == "memory":
        return MemoryClusters()
    return DynamoClusters(request.getfixturevalue("client"), request.getfixturevalue("table"))


def record(name="prod", repository=REPOSITORY, **fields):
    return ClusterRecord(repository, name, ClusterKind.WORKLOAD, ProviderName.SIMULATED, **fields)


def test_a_record_is_kept_whole(store):
    assert store.cluster(REPOSITORY, "prod") is None
    phase = Phase(PLACE, PhaseState.DONE, NOW, NOW, 2, "x-task-3", "Done.")
    run = ClusterRun(
        "deployment",
        "execution",
        "workload-create",
        any_artifact(),
        Identity(Operation.CREATE, "hash", "1", "steps"),
        NOW,
        NOW,
        (phase,),
        3,
        FirstError("ClusterUnreachable", "It does not answer.", NOW),
        ("A warning.",),
        gives_up=True,
    )
    (saved,) = store.save(
        record(
            management="fleet",
            current=CurrentCluster("1.31", "hash", ProviderName.SIMULATED, "1", (("cni", "1.2"),), ("a",), "hash"),
            exists=True,
            fence=4,
            epoch=2,
            lock=Lock("deployment", "execution", 4, NOW),
            run=run,
            held=(Held("pause", "pause-gitops-agent", NOW),),
        )
    )
    assert saved.version == 1
    assert store.cluster(REPOSITORY, "prod") == saved


def test_only_one_of_two_writers_succeeds(store):
    (before,) = store.save(record())
    store.save(replace(before, fence=1))
    for late in (record(), replace(before, fence=2)):
        with pytest.raises(Conflict):
            store.save(late)
    assert store.cluster(REPOSITORY, "prod").fence == 1


def test_records_are_saved_together_or_not_at_all(store):
    prod, fleet = store.save(record(), record("fleet"))
    store.save(fleet)
    with pytest.raises(Conflict):
        store.save(replace(prod, fence=7), fleet)
    assert store.cluster(REPOSITORY, "prod") == prod


def test_clusters_are_those_of_a_repository_by_name(store):
    store.save(record("b"), record("a"))
    store.save(record("c", OTHER))
    store.keep_values(REPOSITORY, "a", "deployment", {"management-cluster": "fleet"})
    assert [each.name for each in store.clusters(REPOSITORY)] == ["a", "b"]


def test_a_context_has_the_newest_values_of_one_deployment(store):
    assert store.context(REPOSITORY, "prod", "one") == {}
    store.keep_values(REPOSITORY, "prod", "one", {"backup": "first", "diff": "[]"})
    store.keep_values(REPOSITORY, "prod", "one", {"backup": "second"})
    store.keep_values(REPOSITORY, "prod", "one-more", {"backup": "other"})
    assert store.context(REPOSITORY, "prod", "one") == {"backup": "second", "diff": "[]"}


def test_a_checkpoint_is_there_until_it_is_dropped(store):
    assert store.checkpoint(REPOSITORY, "prod", "key") is None
    made = Checkpoint(PLACE, "deployment", NOW, (("backup", "bundle"),))
    store.keep_checkpoint(REPOSITORY, "prod", "key", made)
    assert store.checkpoint(REPOSITORY, "prod", "key") == made
    assert store.checkpoint(REPOSITORY, "dev", "key") is None
    store.drop_checkpoints(REPOSITORY, "prod", ["key", "unknown"])
    assert store.checkpoint(REPOSITORY, "prod", "key") is None
