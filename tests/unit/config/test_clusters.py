"""Clusters of a file: each is a root, and what is refused."""

from __future__ import annotations

import pytest

from tests.configuration import load, mistakes
from tests.unit.discovery.trees import Trees
from tidegate.config.resolution import configure
from tidegate.deploys.rules.cluster import (
    ComponentForm,
    ComponentRole,
    DeclaredComponent,
    DeclaredHook,
    HookFailure,
    HookPoint,
)
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots

PLATFORM = "name: platform, kind: management, provider: existing, spec: clusters/platform.yaml"
TEAM = "name: team, kind: workload, provider: existing, spec: clusters/team.yaml"


def file(*clusters: str) -> str:
    return "clusters:\n" + "".join(f"  - {{{each}}}\n" for each in clusters)


def said(*clusters: str) -> str:
    return "\n".join(map(str, mistakes(file(*clusters))))


def discover(old: dict[str, str], new: dict[str, str]) -> Discovery:
    return discover_roots(Trees(old, new, bare=True), Reading("acme/infra"))


def changed(text: str, path: str, more: dict[str, str] | None = None) -> list[str]:
    """Return the roots that a change of a file deploys."""
    base = {"tidegate.yaml": text, **(more or {}), path: "old"}
    return [each.member.root.name for each in discover(base, {**base, path: "new"}).members]


def made(text: str) -> Discovery:
    """Return what a commit deploys that adds a file."""
    return discover({}, {"tidegate.yaml": text, "clusters/platform.yaml": "", "clusters/team.yaml": ""})


class TestAClusterIsARoot:
    def test_it_is_one_with_its_name_in_the_directory_of_its_file(self):
        found = discover({}, {"tidegate.yaml": file(PLATFORM), "clusters/platform.yaml": ""})
        (root,) = found.roots
        assert (root.name, root.dir) == ("platform", "clusters")

    def test_its_settings_say_what_it_is(self):
        loaded = load(file(PLATFORM, f"{TEAM}, management: platform"))
        platform, team = configure(loaded, [each.root for each in loaded.clusters]).roots
        assert platform.run.cluster is not None
        assert team.run.cluster is not None
        assert (team.run.cluster.management, team.run.cluster.kind) == ("platform", "workload")
        assert (platform.run.cluster.management_spec, team.run.cluster.management_spec) == (
            "",
            "clusters/platform.yaml",
        )

    def test_one_whose_management_cluster_is_to_be_destroyed_has_none_that_stays(self):
        loaded = load(file(f"{PLATFORM}, destroy: true", f"{TEAM}, management: platform"))
        team = configure(loaded, [each.root for each in loaded.clusters]).roots[1].run.cluster
        assert team is not None
        assert team.management_spec == ""

    def test_root_modules_are_discovered_beside_it(self):
        files = {"tidegate.yaml": file(PLATFORM), "app/main.tf": 'provider "aws" {}\n', "clusters/platform.yaml": ""}
        assert [each.name for each in discover({}, files).roots] == ["app", "platform"]

    def test_several_have_their_files_in_one_directory(self):
        files = {"tidegate.yaml": file(PLATFORM, TEAM)}
        assert len(discover({}, files).roots) == 2

    def test_that_of_a_root_module_is_that_root_and_no_other(self):
        text = file("name: eks, kind: workload, provider: terraform, spec: eks/cluster.yaml")
        files = {"tidegate.yaml": text, "eks/main.tf": 'provider "aws" {}\n', "eks/cluster.yaml": ""}
        assert [each.name for each in discover({}, files).roots] == ["eks"]
        assert discover({}, {"tidegate.yaml": text, "eks/cluster.yaml": ""}).roots == ()

    def test_its_file_and_its_components_change_it(self):
        text = file(
            f"{PLATFORM}, components: [{{name: cni, role: networking, chart: charts/cni, values: values.yaml}}]", TEAM
        )
        assert changed(text, "clusters/platform.yaml") == ["platform"]
        assert changed(text, "clusters/team.yaml") == ["team"]
        assert changed(text, "charts/cni/templates/a.yaml") == ["platform"]
        assert changed(text, "values.yaml") == ["platform"]
        assert changed(text, "clusters/other.yaml") == []

    def test_the_modules_of_its_root_module_change_it(self):
        text = file("name: eks, kind: workload, provider: terraform, spec: eks/cluster.yaml")
        more = {"eks/main.tf": 'module "a" {\n  source = "../modules/a"\n}\nprovider "aws" {}\n'}
        assert changed(text, "modules/a/main.tf", more) == ["eks"]

    def test_a_change_of_its_section_deploys_it(self):
        before = {"tidegate.yaml": file(PLATFORM), "clusters/platform.yaml": ""}
        after = {**before, "tidegate.yaml": file(f"{PLATFORM}, hooks: [{{name: a, when: always, run: [b]}}]")}
        (member,) = discover(before, after).members
        assert "the cluster" in member.member.why

    def test_it_is_made_after_its_management_cluster_which_is_deleted_after_it(self):
        text = file(f"{TEAM}, management: platform", PLATFORM)
        waits = {each.member.root.name: each.member.waits.roots for each in made(text).members}
        assert waits == {"platform": (), "team": ("platform",)}
        gone = file(f"{TEAM}, management: platform, destroy: true", f"{PLATFORM}, destroy: true")
        waits = {each.member.root.name: each.member.waits.roots for each in made(gone).members}
        assert waits == {"platform": ("team",), "team": ()}

    def test_its_deletion_always_needs_a_review(self):
        loaded = load("plan_review: never\n" + file(f"{PLATFORM}, destroy: true"))
        (one,) = configure(loaded, [each.root for each in loaded.clusters]).roots
        assert one.destroy
        assert one.review_rule.when is PlanReview.ALWAYS


class TestComponentsAndHooks:
    def test_components_are_in_the_order_of_the_file(self):
        text = file(
            f"{PLATFORM}, components: ["
            "{name: cni, role: networking, chart: charts/cni/, values: v.yaml, version: 1.2, namespace: kube-system, "
            "ready_within: 90s}, {name: capi, role: management, manifests: capi.yaml}, "
            "{name: agent, role: package, kustomization: agent}]"
        )
        cluster = load(text).declarations["platform"].cluster
        assert cluster is not None
        assert cluster.components == (
            DeclaredComponent(
                "cni", ComponentRole.NETWORKING, ComponentForm.CHART, "charts/cni", "1.2", "kube-system", "v.yaml", 90
            ),
            DeclaredComponent("capi", ComponentRole.MANAGEMENT, ComponentForm.MANIFESTS, "capi.yaml"),
            DeclaredComponent("agent", ComponentRole.PACKAGE, ComponentForm.KUSTOMIZATION, "agent"),
        )

    def test_hooks_have_a_place_and_a_program(self):
        text = file(
            f"{PLATFORM}, hooks: [{{name: a, before: install-networking, run: [./a, b], on_error: warn}}, "
            "{name: b, after: workflow, function: tell, time_limit: 2m}, {name: c, when: on-error, run: [./c]}]"
        )
        cluster = load(text).declarations["platform"].cluster
        assert cluster is not None
        assert cluster.hooks == (
            DeclaredHook("a", HookPoint.BEFORE, "install-networking", ("./a", "b"), on_error=HookFailure.WARN),
            DeclaredHook("b", HookPoint.AFTER, function="tell", seconds=120),
            DeclaredHook("c", HookPoint.ON_ERROR, command=("./c",)),
        )


class TestRefusals:
    @pytest.mark.parametrize(
        ("section", "problem"),
        [
            ("name: A, kind: workload, provider: existing, spec: a.yaml", "'A' is not a valid name"),
            ("name: a, kind: edge, provider: existing, spec: a.yaml", "management"),
            ("name: a, kind: workload, provider: kind, spec: a.yaml", "existing"),
            ("name: a, kind: workload, provider: existing, spec: ../a.yaml", "is not a path"),
            ("name: a, kind: workload, provider: existing, spec: /a.yaml", "is not a path"),
            (f"{TEAM}, components: [{{name: a, role: networking}}]", "has no content"),
            (f"{TEAM}, components: [{{name: a, role: networking, chart: a, manifests: b}}]", "manifests and chart"),
            (f"{TEAM}, components: [{{name: a, role: networking, manifests: b, values: c}}]", "without a chart"),
            (f"{TEAM}, components: [{{name: a, role: storage, chart: b}}]", "networking"),
            (f"{TEAM}, components: [{{name: a, role: package, chart: b, ready_within: 2h}}]", "is not a time limit"),
            (f"{TEAM}, components: [{{name: a, role: package, chart: b, ready_within: 51m}}]", "is not a time limit"),
            (f"{TEAM}, components: [{{name: a, role: package, chart: b, version: 'a b'}}]", "is not a version"),
            (f"{TEAM}, components: [{{name: kubernetes, role: package, chart: b}}]", "the version of Kubernetes"),
            (f"{TEAM}, hooks: [{{name: a, run: [b]}}]", "no position"),
            (f"{TEAM}, hooks: [{{name: a, before: workflow, when: always, run: [b]}}]", "several"),
            (f"{TEAM}, hooks: [{{name: a, before: workflow}}]", "runs nothing"),
            (f"{TEAM}, hooks: [{{name: a, before: workflow, run: [b], function: c}}]", "two things"),
            (f"{TEAM}, hooks: [{{name: a, before: Networking, run: [b]}}]", "is not a task"),
            (f"{TEAM}, hooks: [{{name: a, when: always, run: [b]}}, {{name: a, when: always, run: [b]}}]", "'a'"),
            (f"{TEAM}, management: platform", "no management cluster of this file"),
        ],
    )
    def test_what_cannot_be_is_refused_with_its_reason(self, section, problem):
        assert problem in said(section)

    def test_a_management_cluster_has_none_above_it(self):
        assert "have none above them" in said(PLATFORM, f"{PLATFORM}, management: platform".replace("platform", "p", 2))

    def test_a_misspelled_management_cluster_names_the_nearest(self):
        assert "Did you mean 'platform'" in said(PLATFORM, f"{TEAM}, management: platfrom")

    @pytest.mark.parametrize("place", ["before", "after"])
    def test_a_hook_at_an_unknown_task_names_the_nearest_and_all(self, place):
        text = said(f"{TEAM}, hooks: [{{name: a, {place}: instal-networking, run: [b]}}]")
        assert "'instal-networking' is no task" in text
        assert "Did you mean 'install-networking'" in text
        assert "upgrade-cluster" in text

    def test_a_hook_at_a_task_that_only_other_kinds_and_providers_have_is_refused(self):
        hook = "hooks: [{name: a, before: pivot-to-management, run: [b]}]"
        assert "is no task of a workload cluster" in said(f"{TEAM}, {hook}")
        assert "with the provider existing" in said(f"{PLATFORM}, {hook}")
        load(file(f"{PLATFORM.replace('existing', 'simulated')}, {hook}"))

    def test_a_workload_cluster_manages_none(self):
        assert "no management cluster" in said(TEAM, f"{TEAM}, management: team".replace("name: team", "name: other"))

    def test_names_and_files_are_those_of_one_root(self):
        assert "duplicate root name 'team'" in said(TEAM, TEAM)
        assert "clusters/team.yaml" in said(TEAM, TEAM.replace("name: team", "name: other"))
        both = "roots: [{dir: app, name: team}]\n" + file(TEAM)
        assert "duplicate root name 'team'" in "\n".join(map(str, mistakes(both)))
