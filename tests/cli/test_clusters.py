"""``tidegate cluster``: plans and graphs of a checkout's clusters, and those of an installation."""

from __future__ import annotations

import json
import subprocess

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import NOW, refused
from tidegate_cli.main import app

FILE = """\
version: 1
roots: []
clusters:
  - name: hub
    kind: management
    provider: simulated
    spec: hub.yaml
    components: [{name: cni, role: networking, manifests: cni.yaml, version: "1.2"}]
    hooks: [{name: tell, after: install-networking, run: [./tell], on_error: warn}]
  - {name: shop, kind: workload, management: hub, provider: simulated, spec: shop.yaml}
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with a management cluster and a workload cluster, in which commands run."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    files = {"tidegate.yaml": FILE, "cni.yaml": "kind: DaemonSet\n"}
    for name, text in {**files, "hub.yaml": 'kubernetes: "1.33"\n', "shop.yaml": 'kubernetes: "1.33"\n'}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(words))


class TestAPlanOfACheckout:
    def test_it_is_that_of_the_creation_unless_another_operation_is_named(self, checkout):
        created, upgraded = run("cluster", "plan", "hub"), run("cluster", "plan", "hub", "--operation", "upgrade")
        assert "hub will be created" in created.output
        assert "hub will be upgraded" in upgraded.output
        assert "hook tell of repository" in created.output

    def test_an_upgrade_can_be_from_an_earlier_version(self, checkout):
        result = run("cluster", "plan", "hub", "--operation", "upgrade", "--from", "1.32")
        assert "1.32 -> 1.33" in result.output
        assert "It manages shop." in result.output

    def test_scripts_get_every_step_and_the_input_of_the_execution(self, checkout):
        plan = json.loads(run("cluster", "plan", "shop", "--json").stdout)
        assert (plan["workflow"]["operation"], plan["cluster"]["name"]) == ("create", "shop")
        assert [each["task"] for each in plan["steps"]] == list(plan["execution_input"]["due"])

    def test_only_components_change_if_that_is_asked_for(self, checkout):
        result = run("cluster", "graph", "hub", "--operation", "upgrade-components")
        assert "management-upgrade-components" in result.output
        assert "upgrade-cluster" not in result.output

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("hub", "--operation", "delete"), "hub still manages shop"),
            (("hub", "--operation", "upgrade", "--from", "1.30"), "one minor version at a time"),
            (("shop", "--operation", "upgrade-components"), "has no operation"),
            (("shopp",), "Did you mean shop?"),
        ],
    )
    def test_what_a_plan_job_would_refuse_is_refused(self, checkout, words, said):
        result = run("cluster", "plan", *words)
        assert result.exit_code in {1, 3}
        assert said in result.output

    def test_a_cluster_that_is_to_be_destroyed_is_deleted_and_manages_nothing_that_goes_with_it(self, checkout):
        text = FILE.replace("spec: shop.yaml", "spec: shop.yaml, destroy: true")
        (checkout / "tidegate.yaml").write_text(text)
        assert "shop will be DELETED" in run("cluster", "plan", "shop").output
        assert run("cluster", "plan", "hub", "--operation", "delete").exit_code == 0

    def test_a_file_elsewhere_is_read_with_what_is_beside_it(self, checkout, monkeypatch, tmp_path_factory):
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        assert run("cluster", "plan", "hub", "--file", str(checkout / "tidegate.yaml")).exit_code == 0


class TestAGraph:
    def test_tasks_stand_below_each_other_with_what_they_need_and_give(self, checkout):
        lines = run("cluster", "graph", "hub").output.splitlines()
        (create,) = (each for each in lines if "create-bootstrap-cluster" in each)
        assert "produces bootstrap-cluster" in create
        assert "takes" in create

    def test_hooks_stand_at_their_tasks_with_their_registrars(self, checkout):
        lines = run("cluster", "graph", "hub").output.splitlines()
        (number,) = (number for number, each in enumerate(lines) if "repository/tell" in each)
        assert "install-networking" in lines[number - 1]
        assert "only a warning" in lines[number]

    def test_a_task_that_is_not_needed_says_why(self, checkout):
        assert "not needed: No component has the role" in run("cluster", "graph", "hub").output

    def test_hooks_of_the_workflow_and_what_a_failure_gives_back_stand_around(self, checkout):
        hooks = "hooks: [{name: early, before: workflow, run: [a]}, {name: rescue, when: on-error, run: [a]}]"
        (checkout / "tidegate.yaml").write_text(FILE.replace("spec: shop.yaml", f"spec: shop.yaml, {hooks}"))
        lines = run("cluster", "graph", "shop").output.splitlines()
        assert "repository/early" in lines[1]
        assert "repository/rescue" in lines[-1]
        assert "gives back what it holds: delete-bootstrap-cluster" in run("cluster", "graph", "hub").output


class TestValidation:
    def test_it_counts_clusters(self, checkout):
        result = run("validate")
        assert result.exit_code == 0
        assert "2 clusters" in result.output

    def test_a_cluster_that_cannot_be_planned_is_refused_with_its_reason(self, checkout):
        (checkout / "shop.yaml").unlink()
        result = run("validate", "--json")
        assert result.exit_code == 1
        assert "shop.yaml" in json.loads(result.stdout)["refused"]["shop"]

    def test_outside_of_git_it_says_that_it_reads_no_file_of_a_cluster(self, tmp_path):
        (tmp_path / "tidegate.yaml").write_text(FILE)
        result = run("validate", str(tmp_path / "tidegate.yaml"))
        assert result.exit_code == 0
        assert "files of the clusters are not checked" in result.stderr

    def test_a_hook_at_an_unknown_task_is_refused_at_its_line_with_the_nearest(self, checkout):
        (checkout / "tidegate.yaml").write_text(FILE.replace("install-networking", "instal-networking"))
        result = run("validate")
        assert result.exit_code == 1
        assert "tidegate.yaml:9:" in result.output
        assert "Did you mean 'install-networking'?" in result.output


BASE = "/api/v1/clusters/acme/clusters"
VALIDATED = {"task": {"task": "validate", "title": "Validate the cluster", "state": "done"}}
NETWORK = {
    "task": {"task": "upgrade-networking", "title": "Upgrade the networking", "state": "done-before"},
    "after": [{"task": "upgrade-networking", "hook": "check", "registrar": "repository", "state": "failed",
               "title": "check", "reason": "[red]exit code 1"}],
}  # fmt: skip
WORKFLOW = {
    "name": "workload-upgrade",
    "operation": "upgrade",
    "deployment": "shop-1",
    "execution": "shop-1",
    "begun_at": NOW,
    "error": {"error": "TaskFailed", "cause": "The hook check failed.", "at": NOW},
    "warnings": ["Packages are missing."],
    "start": [{"hook": "early", "registrar": "installation", "state": "warned", "title": "early"}],
    "tasks": [VALIDATED, NETWORK, {"task": {"task": "x", "title": "Later", "state": "another"}}],
}
SHOP = {
    "repository": "acme/clusters",
    "name": "shop",
    "kind": "workload",
    "provider": "simulated",
    "management": "hub",
    "state": "failed",
    "kubernetes": "1.33",
    "deployment": "shop-1",
    "components": [{"name": "network", "version": "1.0.0"}],
    "held": [{"name": "backup", "task": "back-up", "at": NOW}],
    "workflow": WORKFLOW,
    "resumable": True,
    "releasable": True,
}
HUB = {"repository": "acme/clusters", "name": "hub", "kind": "management", "provider": "simulated", "state": "thawing"}


class TestStatus:
    def test_the_clusters_of_a_repository_stand_one_a_line(self, api, tidegate):
        brief = {name: value for name, value in SHOP.items() if name in {*HUB, "management", "kubernetes"}}
        api.answers[f"GET {BASE}"] = {"repository": "acme/clusters", "clusters": [HUB, brief]}
        result = tidegate("cluster", "status", "acme/clusters")
        hub, shop = result.output.splitlines()[1:]
        assert hub.split()[:2] == ["hub", "thawing"]
        assert shop.split()[:4] == ["shop", "✘", "failed", "1.33"]

    def test_a_repository_without_clusters_says_so(self, api, tidegate):
        api.answers[f"GET {BASE}"] = {"repository": "acme/clusters", "clusters": []}
        assert "No workflow" in tidegate("cluster", "status", "acme/clusters").output

    def test_a_cluster_shows_each_task_with_its_hooks_and_the_first_error(self, api, tidegate):
        api.answers[f"GET {BASE}/shop"] = SHOP
        output = tidegate("cluster", "status", "acme/clusters", "shop").output
        network, hook = (
            next(each for each in output.splitlines() if words in each) for words in ("networking", "check")
        )
        assert "✔ Upgrade the networking  done before" in network
        assert "hook repository/check  failed: [red]exit code 1" in hook
        for words in ("TaskFailed", "The hook check failed.", "Packages are missing.", "backup (since back-up)"):
            assert words in output

    def test_what_can_be_typed_next_is_told(self, api, tidegate):
        api.answers[f"GET {BASE}/shop"] = SHOP
        output = tidegate("cluster", "status", "acme/clusters", "shop").output
        assert "tidegate cluster resume acme/clusters shop" in output
        api.answers[f"GET {BASE}/shop"] = {**SHOP, "state": "ready", "resumable": False, "releasable": False}
        assert "tidegate cluster" not in tidegate("cluster", "status", "acme/clusters", "shop").output

    def test_a_cluster_on_which_nothing_has_worked_has_no_workflow(self, api, tidegate):
        api.answers[f"GET {BASE}/shop"] = {**SHOP, "workflow": None}
        assert "workload-upgrade" not in tidegate("cluster", "status", "acme/clusters", "shop").output

    def test_scripts_get_what_the_api_says(self, api, tidegate):
        api.answers[f"GET {BASE}/shop"] = SHOP
        found = json.loads(tidegate("cluster", "status", "acme/clusters", "shop", "--json").stdout)
        assert found["workflow"]["tasks"][1]["after"][0]["hook"] == "check"

    def test_an_unknown_cluster_says_how_to_list_them(self, api, tidegate):
        result = tidegate("cluster", "status", "acme/clusters", "shopp")
        assert result.exit_code == 3
        assert "tidegate cluster status acme/clusters" in result.output


class TestOperators:
    def test_a_failed_workflow_is_resumed(self, api, tidegate):
        api.answers[f"POST {BASE}/shop/resume"] = {"message": "It goes on."}
        result = tidegate("cluster", "resume", "acme/clusters", "shop")
        assert (result.exit_code, result.output.strip()) == (0, "It goes on.")

    def test_what_it_holds_is_released_for_a_reason(self, api, tidegate):
        api.answers[f"POST {BASE}/shop/release"] = {"message": "It gives back."}
        tidegate("cluster", "release", "acme/clusters", "shop", "--reason", "Another file.")
        assert api.bodies(f"POST {BASE}/shop/release") == [{"reason": "Another file."}]
        assert tidegate("cluster", "release", "acme/clusters", "shop").exit_code == 2

    def test_refusals_are_told(self, api, tidegate):
        api.answers[f"POST {BASE}/shop/resume"] = refused(409, "not_failed", "There is nothing to resume.")
        result = tidegate("cluster", "resume", "acme/clusters", "shop")
        assert (result.exit_code, "nothing to resume" in result.output) == (1, True)
        assert tidegate("cluster", "resume", "acme/clusters", "other").exit_code == 3
