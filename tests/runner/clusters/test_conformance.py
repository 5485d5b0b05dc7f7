"""What every provider must do, whichever it is: the contract of runner/clusters/providers/protocol.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from runner.faults import TaskFailed
from tests.runner.clusters.workflows import Died, Workflows, dying_at
from tidegate.clusters.rules.context import Access, reference_from
from tidegate.clusters.rules.plan import PlannedHook
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster, DeclaredHook, HookPoint, ProviderName

SPEC = "network/cluster.yaml"
CREATE, DELETE = "create-workload-cluster", "delete-workload-cluster"
HOOK = DeclaredHook("tell", HookPoint.AFTER, CREATE, ("sh", "tell.sh"))


@dataclass(frozen=True)
class Kind:
    """A provider: its section of the cluster's file, its other files, and the versions before and after an upgrade."""

    name: ProviderName
    section: str
    access: Access
    files: dict[str, str] = field(default_factory=dict)
    versions: tuple[str, str] = ("1.20", "1.21")
    needs_server: bool = False


def kinds(place: Path) -> dict[str, Kind]:
    """Return the providers. What commands and the engine make is in a directory of the test."""
    make = f'echo made >> {place}/made\ntouch {place}/there\necho "workload-cluster=secret:shop" > "$TIDEGATE_VALUES"\n'
    probe = f'test -f {place}/there && echo "workload-cluster=secret:shop" > "$TIDEGATE_VALUES"\n'
    commands = f"""{{
      tasks: {{
        {CREATE}: [sh, make.sh], upgrade-cluster: [sh, upgrade.sh], {DELETE}: [rm, -f, {place}/there]}},
      probes: {{{CREATE}: [sh, there.sh], {DELETE}: [sh, gone.sh]}}}}"""
    module = f"""
terraform {{
  backend "local" {{ path = "{place}/state/terraform.tfstate" }}
}}
resource "terraform_data" "cluster" {{ input = yamldecode(file("cluster.yaml")).kubernetes }}
output "kubeconfig" {{ value = "shop" }}
"""
    return {
        "simulated": Kind(ProviderName.SIMULATED, "{}", Access.SIMULATED),
        "existing": Kind(ProviderName.EXISTING, "{secret: shop}", Access.SECRET, needs_server=True),
        "command": Kind(
            ProviderName.COMMAND,
            commands,
            Access.SECRET,
            {
                "network/make.sh": make,
                "network/there.sh": probe,
                "network/gone.sh": f"test ! -f {place}/there\n",
                "network/upgrade.sh": "true\n",
            },
            needs_server=True,
        ),
        "terraform": Kind(
            ProviderName.TERRAFORM,
            "{kubeconfig_output: kubeconfig}",
            Access.SECRET,
            {"network/main.tf": module},
            needs_server=True,
        ),
    }


@pytest.fixture(scope="module")
def server(kubernetes):
    running = kubernetes.cluster("conformance")
    yield running
    running.stop()


@dataclass
class Provided:
    """The workflows of a cluster of one provider."""

    kind: Kind
    workflows: Workflows
    server: object
    place: Path

    def plan(self, version: str = "", *, section: str = "", destroy: bool = False) -> None:
        text = f'kubernetes: "{version or self.kind.versions[0]}"\nprovider: {section or self.kind.section}\n'
        self.workflows.plan(destroy=destroy, **{SPEC: text})

    def created(self) -> None:
        self.plan()
        self.workflows.all()
        self.workflows.current = self.workflows.made(self.kind.versions[0])


@pytest.fixture(params=["simulated", "existing", "command", "terraform"])
def provided(request, workflows, aws, tmp_path, monkeypatch) -> Provided:
    place = tmp_path / "world"
    place.mkdir()
    kind = kinds(place)[request.param]
    server = None
    if kind.needs_server:
        server = request.getfixturevalue("server")
        aws.secrets["tidegate/clusters/acme/infra/shop"] = server.kubeconfig.read_text()
    declared = DeclaredCluster("shop", ClusterKind.WORKLOAD, kind.name, SPEC, "", (), (HOOK,))
    files = {**kind.files, "network/tell.sh": f'echo "$TIDEGATE_TASK" >> {place}/told\n'}
    monkeypatch.setenv("TIDEGATE_TEST", "1")
    return Provided(kind, workflows(declared, files), server, place)


def test_a_cluster_is_created_and_how_to_reach_it_is_said(provided):
    provided.plan()
    provided.workflows.all()
    reference = reference_from(provided.workflows.values["workload-cluster"])
    assert (reference.name, reference.access) == ("shop", provided.kind.access)
    assert not reference.place or reference.place == "shop"


def test_everything_may_be_done_twice(provided):
    provided.plan()
    twice(provided.workflows)
    provided.workflows.current = provided.workflows.made(provided.kind.versions[0])
    provided.plan(destroy=True)
    twice(provided.workflows)


def twice(workflows):
    for step in workflows.planned.steps:
        if step.due:
            first = workflows.run(step.task)
            assert workflows.run(step.task).values == first.values, step.task


def test_a_second_creation_finds_the_first(provided):
    provided.plan()
    provided.workflows.run("validate")
    provided.workflows.run(CREATE)
    provided.plan()
    provided.workflows.run("validate")
    assert provided.workflows.run(CREATE).found
    assert provided.workflows.values["workload-cluster"]
    assert len(provided.workflows.applied) == (provided.kind.name is ProviderName.TERRAFORM)


def test_a_runner_may_die_anywhere_and_the_next_one_goes_on(provided):
    provided.plan()
    resumed(lambda: provided.workflows.run("validate"))
    resumed(lambda: provided.workflows.run(CREATE))
    assert "workload-cluster" in provided.workflows.values
    provided.workflows.current = provided.workflows.made(provided.kind.versions[0])
    provided.plan(destroy=True)
    provided.workflows.run("validate")
    resumed(lambda: provided.workflows.run(DELETE))
    if provided.kind.name is ProviderName.COMMAND:
        assert not (provided.place / "there").exists()


def resumed(act: Callable[[], object]) -> None:
    for call in range(1, 40):
        try:
            with dying_at(call):
                act()
        except Died:
            continue
        return
    raise AssertionError("it never comes to its end")


def test_a_key_that_it_does_not_know_is_refused_with_the_nearest(provided):
    section = provided.kind.section.rstrip()[:-1].rstrip() + ("," if provided.kind.section != "{}" else "")
    provided.plan(section=section + " nonsense: 1}")
    with pytest.raises(TaskFailed, match="nonsense"):
        provided.workflows.run("validate")


def test_it_is_never_ready_for_an_older_specification(provided):
    """What was done for the old file is not taken for the new one: an upgrade acts, or refuses."""
    provided.created()
    if provided.kind.name is ProviderName.COMMAND:
        provided.workflows.files = {
            **provided.workflows.files,
            "network/upgrade.sh": f"touch {provided.place}/upgraded\n",
        }
    provided.plan(provided.kind.versions[1])
    provided.workflows.run("validate")
    if provided.kind.name is ProviderName.EXISTING:
        with pytest.raises(TaskFailed, match=r"1\.20"):
            provided.workflows.run("upgrade-cluster")
        return
    assert not provided.workflows.run("upgrade-cluster").found
    if provided.kind.name is ProviderName.COMMAND:
        assert (provided.place / "upgraded").exists()


def test_the_deletion_of_what_is_gone_is_success(provided):
    provided.created()
    provided.plan(destroy=True)
    provided.workflows.run("validate")
    provided.workflows.run(DELETE)
    provided.plan(destroy=True)
    provided.workflows.run("validate")
    again = provided.workflows.run(DELETE)
    assert again.found or provided.kind.name is ProviderName.EXISTING


def test_hooks_run_at_their_tasks_in_order(provided):
    provided.plan()
    provided.workflows.run("validate")
    step = next(each for each in provided.workflows.planned.steps if each.task == CREATE)
    hooks: list[PlannedHook] = [each for each in step.after if each.registrar == "repository"]
    assert [each.name for each in hooks] == ["tell"]
    provided.workflows.run(CREATE)
    for hook in hooks:
        provided.workflows.run(CREATE, hook=hook)
    assert (provided.place / "told").read_text() == f"{CREATE}\n"


def test_a_later_execution_has_its_fence(provided):
    provided.workflows = replace(provided.workflows, fence=7)
    provided.workflows.files = {
        **provided.workflows.files,
        "network/tell.sh": f'echo "$TIDEGATE_FENCE" > {provided.place}/fence\n',
    }
    provided.plan()
    provided.workflows.run("validate")
    [hook] = [
        each for step in provided.workflows.planned.steps for each in step.after if each.registrar == "repository"
    ]
    provided.workflows.run(CREATE, hook=hook)
    assert (provided.place / "fence").read_text() == "7\n"
