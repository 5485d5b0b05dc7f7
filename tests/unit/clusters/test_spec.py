"""A cluster's file, the places of its bootstrap cluster, and the versions that it may have."""

from __future__ import annotations

import pytest

from tests.unit.clusters.clusters import SIMULATED, TERRAFORM, any_cluster, any_component, any_spec
from tidegate.clusters.adapters.source import read_spec
from tidegate.clusters.rules.kubernetes_version import KubernetesVersion, refuse_newer, refuse_skew, version_of
from tidegate.clusters.rules.provider import PROVIDERS, bootstrap_place, refuse_unsaid
from tidegate.clusters.rules.refusals import (
    BootstrapNotOffered,
    BootstrapNotSaid,
    Downgraded,
    FileMissing,
    InvalidSpec,
    NewerThanManagement,
    NoContainerEngine,
    VersionSkipped,
)
from tidegate.clusters.rules.spec import BootstrapPlace, GitOpsAgent, spec_of
from tidegate.clusters.rules.task import Capability
from tidegate.deploys.rules.cluster import ProviderName

_FILE = [("cluster.yaml", b"kubernetes: '1.33'")]


def _spec(document=None, declared=None, files=_FILE, components=()):
    return spec_of(document or {"kubernetes": "1.33"}, declared or any_cluster(), files, components)


def test_the_file_says_what_the_workflows_need():
    spec = _spec({"kubernetes": "1.33", "bootstrap": "host", "gitops": "argocd", "provider": {"any": "thing"}})
    assert (spec.kubernetes, spec.bootstrap, spec.gitops) == ("1.33", BootstrapPlace.HOST, GitOpsAgent.ARGO_CD)
    assert (_spec().bootstrap, _spec().gitops) == (None, GitOpsAgent.NONE)


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ([], "top"),
        ({"kubernets": "1.33"}, "kubernets"),
        ({"gitops": "flux"}, "kubernetes"),
        ({"kubernetes": 1.33}, "kubernetes"),
        ({"kubernetes": "latest"}, "latest"),
        ({"kubernetes": "1.33", "bootstrap": "moon"}, "moon"),
        ({"kubernetes": "1.33", "gitops": ["flux"]}, "gitops"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_key(document, key):
    with pytest.raises(InvalidSpec, match=key):
        spec_of(document, any_cluster(), _FILE)


def test_a_file_that_is_not_there_is_refused_with_the_cluster_that_names_it(tmp_path):
    cluster = any_cluster()
    with pytest.raises(FileMissing, match=f"{cluster.spec}.*{cluster.name}"):
        read_spec(tmp_path, cluster)


def test_the_hash_changes_with_the_cluster_and_with_its_components():
    plain, other_file = _spec(), _spec(files=[("cluster.yaml", b"other")])
    component = _spec(components=[("cilium/daemon.yaml", b"other")])
    version = _spec(declared=any_cluster(components=(any_component(version="3.0"),)))
    assert len({each.hash for each in (plain, other_file, component, version)}) == 4
    assert plain.cluster_hash == component.cluster_hash == version.cluster_hash != other_file.cluster_hash


def test_the_order_of_files_is_of_no_account():
    files = [("a", b"1"), ("b", b"2")]
    assert _spec(files=files).hash == _spec(files=files[::-1]).hash


def test_the_file_says_how_its_bootstrap_cluster_comes_about():
    def said(provider):
        return set(_spec({"kubernetes": "1.33", "provider": provider}).makes_bootstrap)

    assert said({"tasks": {"create-bootstrap-cluster": ["kind"]}}) == {"tasks"}
    assert said({"tasks": {"upgrade-cluster": ["kind"]}, "bootstrap": {"eks": "arn"}}) == {"bootstrap"}
    assert said({"tasks": ["kind"]}) == said("kind") == said(None) == set()


_EITHER = "provider.bootstrap or a command as provider.tasks.create-bootstrap-cluster"


@pytest.mark.parametrize(
    ("place", "allowed"),
    [(BootstrapPlace.EKS, _EITHER), (BootstrapPlace.EXISTING, _EITHER), (BootstrapPlace.HOST, "Add a command")],
)
def test_one_whose_file_does_not_say_so_is_refused_before_anything_runs(place, allowed):
    command = PROVIDERS[ProviderName.COMMAND]
    with pytest.raises(BootstrapNotSaid, match=allowed):
        refuse_unsaid(command, any_spec(), place)
    refuse_unsaid(command, any_spec(makes_bootstrap=frozenset({"tasks"})), place)
    refuse_unsaid(command, any_spec(), BootstrapPlace.NONE)
    refuse_unsaid(SIMULATED, any_spec(), place)


def test_a_bootstrap_cluster_lives_where_the_file_says_or_the_provider_has_it():
    assert bootstrap_place(SIMULATED, any_spec()) is BootstrapPlace.EXISTING
    assert bootstrap_place(SIMULATED, any_spec(bootstrap=BootstrapPlace.HOST)) is BootstrapPlace.HOST
    assert bootstrap_place(PROVIDERS[ProviderName.COMMAND], any_spec()) is BootstrapPlace.NONE
    assert bootstrap_place(TERRAFORM, any_spec()) is BootstrapPlace.NONE
    assert bootstrap_place(TERRAFORM, any_spec(bootstrap=BootstrapPlace.NONE)) is BootstrapPlace.NONE


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_a_bootstrap_cluster_that_needs_a_container_engine_is_refused(provider):
    with pytest.raises(NoContainerEngine):
        bootstrap_place(provider, any_spec(bootstrap=BootstrapPlace.CONTAINER))


def test_a_bootstrap_cluster_that_the_provider_does_not_work_with_is_refused():
    from dataclasses import replace

    with pytest.raises(BootstrapNotOffered, match="needs none"):
        bootstrap_place(TERRAFORM, any_spec(bootstrap=BootstrapPlace.EKS))
    with pytest.raises(BootstrapNotOffered, match="eks"):
        bootstrap_place(replace(SIMULATED, places=(BootstrapPlace.EKS,)), any_spec(bootstrap=BootstrapPlace.NONE))


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_who_pivots_has_a_bootstrap_cluster_and_the_other_way_round(provider):
    assert len({capability in provider.capabilities for capability in Capability}) == 1
    assert bool(provider.capabilities) == bool(provider.places)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.33", KubernetesVersion(1, 33)),
        ("v1.33.4", KubernetesVersion(1, 33, 4)),
        ("1.33.0-eks-1-33-10", KubernetesVersion(1, 33, 0)),
    ],
)
def test_a_version_is_read(text, version):
    assert version_of(text) == version


@pytest.mark.parametrize(
    ("before", "after"),
    [("1.32", "1.32"), ("1.32", "1.33"), ("1.32.4", "1.32.9"), ("1.32.4", "1.33.0"), ("1.32.4", "1.32")],
)
def test_an_upgrade_by_at_most_one_minor_version_is_allowed(before, after):
    refuse_skew(before, after)


@pytest.mark.parametrize(("before", "after"), [("1.31", "1.33"), ("1.33", "2.0"), ("1.9.3", "1.30.1")])
def test_an_upgrade_that_skips_a_version_is_refused_with_the_next_one(before, after):
    old = version_of(before)
    with pytest.raises(VersionSkipped, match=rf"{old.major}\.{old.minor + 1} first"):
        refuse_skew(before, after)


@pytest.mark.parametrize(("before", "after"), [("1.33", "1.32"), ("2.0", "1.99"), ("1.33.4", "1.33.3")])
def test_a_downgrade_is_refused(before, after):
    with pytest.raises(Downgraded):
        refuse_skew(before, after)


def test_a_management_cluster_manages_its_own_version_and_older_ones():
    refuse_newer("1.33.9", "hub", "1.33.0")
    refuse_newer("1.30", "hub", "1.33")
    with pytest.raises(NewerThanManagement, match="hub"):
        refuse_newer("1.34", "hub", "1.33")
