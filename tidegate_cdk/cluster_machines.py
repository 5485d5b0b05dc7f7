"""The state machines of cluster workflows: one for each workflow and provider, under one role.

Their definitions are files beside the template: together they are larger than a template may be (1 MB). Each has the
installation's hooks as states of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from tidegate.clusters.adapters.machines import cluster_machine
from tidegate.clusters.rules.installed import installed_registrars
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.workflow import WORKFLOWS, machine_name
from tidegate_cdk.asl_state_machine import Value, grant_value, log_group, logged_to, substitutions
from tidegate_cdk.cluster_settings import ClusterSettings
from tidegate_cdk.sources import ROOT
from tidegate_cdk.trust import for_machine

#: What the names of these machines begin with, after the installation's prefix.
BEGINNINGS = ("cluster-management-", "cluster-workload-")


class ClusterMachines(Construct):
    """The machines. They differ in their states, not in what they may do, so they share a role and a log."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        prefix: str,
        settings: ClusterSettings,
        values: Mapping[str, Value],
    ) -> None:
        super().__init__(scope, construct_id)
        name = f"{prefix}-cluster"
        self.log_group = log_group(self, name)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=for_machine(self, f"{name}-"),
            description="The state machines of cluster workflows",
        )
        for value in values.values():
            grant_value(self, self.role, value)
        with TemporaryDirectory() as directory:
            self.machines = [
                self._machine(Path(directory), f"{prefix}-{machine}", machine, definition, values)
                for machine, definition in definitions(settings)
            ]

    def _machine(
        self, directory: Path, name: str, machine: str, definition: str, values: Mapping[str, Value]
    ) -> sfn.StateMachine:
        file = directory / f"{machine}.json"
        file.write_text(definition, encoding="utf-8")
        return sfn.StateMachine(
            self,
            "".join(word.capitalize() for word in machine.split("-")),
            state_machine_name=name,
            definition_body=sfn.DefinitionBody.from_file(str(file)),
            definition_substitutions=substitutions(machine, definition, values),
            role=self.role,
            tracing_enabled=True,
            logs=logged_to(self.log_group),
        )


def definitions(settings: ClusterSettings) -> Iterator[tuple[str, str]]:
    """Yield the name of each machine, without the prefix, and its definition."""
    registrars = installed_registrars(settings.hooks, settings.registrars)
    for workflow in WORKFLOWS:
        for provider in PROVIDERS.values():
            text = cluster_machine(ROOT / "stepfunctions", workflow, provider, registrars)
            compact = json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
            yield machine_name(workflow, provider.name), compact
