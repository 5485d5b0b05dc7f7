"""The worked examples of docs/clusters.md: the registrar binds what the built-in one binds, the files are in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.configuration import load
from tests.unit.clusters.clusters import a_plan, any_cluster, order_of
from tidegate.clusters.rules.builtin_registrars import BUILTIN
from tidegate.clusters.rules.construct import bound_hooks
from tidegate.clusters.rules.provider import PROVIDERS, ProviderFacts
from tidegate.clusters.rules.registrar import Registrar
from tidegate.clusters.rules.spec import spec_of
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.clusters.rules.workflow_tasks import task_ids, tasks_of
from tidegate.deploys.rules.cluster import ClusterKind, ProviderName

PAGE = (Path(__file__).parents[3] / "docs/clusters.md").read_text(encoding="utf-8")


def example(language: str, first_line: str) -> str:
    """Return the only example of the page that begins so."""
    (found,) = re.findall(rf"```{language}\n({re.escape(first_line)}.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def documented() -> Registrar:
    """The registrar of the page."""
    names: dict[str, type[Registrar]] = {}
    exec(example("python", "from tidegate.clusters"), names)  # noqa: S102  # The page is ours.
    return names["IamAuthentication"]()


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda each: each.name)
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda each: each.name)
def test_it_binds_what_the_built_in_registrar_binds(documented: Registrar, workflow: Workflow, provider: ProviderFacts):
    tasks = tasks_of(workflow, provider.capabilities)
    assert bound_hooks(workflow, tasks, [documented]) == bound_hooks(workflow, tasks, [BUILTIN[documented.name]])


def test_plans_have_the_secret_after_the_bootstrap_cluster_and_the_authenticator_after_the_workload_cluster(documented):
    managed = order_of(a_plan(Workflow(ClusterKind.MANAGEMENT, Operation.CREATE), documented))
    team = order_of(a_plan(Workflow(ClusterKind.WORKLOAD, Operation.CREATE), documented))
    assert managed[managed.index("create-bootstrap-cluster") + 1] == "create-authority"
    assert team[team.index("create-workload-cluster") + 1] == "install-authenticator"


def test_the_declaration_of_the_page_is_a_file_in_order():
    loaded = load(example("yaml", "version: 1"))
    assert [each.root.name for each in loaded.clusters] == ["hub", "shop"]


def test_the_file_of_a_command_names_tasks_of_its_cluster():
    kinds = {"none": ClusterKind.WORKLOAD, "eks": ClusterKind.MANAGEMENT}
    for place, kind in kinds.items():
        document = yaml.safe_load(example("yaml", f'kubernetes: "1.33"\nbootstrap: {place}'))
        spec = spec_of(document, any_cluster(kind, provider=ProviderName.COMMAND), ())
        assert a_plan(Workflow(kind, Operation.CREATE), provider=PROVIDERS[ProviderName.COMMAND], spec=spec)
        known = task_ids(kind, PROVIDERS[ProviderName.COMMAND].capabilities)
        assert {*document["provider"]["tasks"], *document["provider"].get("probes", {})} <= {*known}
