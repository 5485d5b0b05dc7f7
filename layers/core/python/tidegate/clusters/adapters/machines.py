"""The state machines of cluster workflows, as they are deployed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidegate.aws.definitions import rendered
from tidegate.clusters.rules.builtin_registrars import DEFAULT
from tidegate.clusters.rules.provider import PROVIDERS, ProviderFacts
from tidegate.clusters.rules.registrar import Registrar
from tidegate.clusters.rules.rendering import render
from tidegate.clusters.rules.workflow import WORKFLOWS, Workflow, machine_name

#: What the machines are made of, beside the files of the other machines.
PARTS = "cluster_parts.yaml"


def cluster_machine(folder: Path, workflow: Workflow, provider: ProviderFacts, registrars: Sequence[Registrar]) -> str:
    """Return the JSON of a workflow's machine. Raise ClusterRefused for hooks that cannot work."""
    parts = json.loads(rendered(folder / PARTS))
    return json.dumps(render(workflow, provider, registrars, parts), indent=2, ensure_ascii=False) + "\n"


def cluster_machines(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the JSON of each machine, as an installation has it that registers no hooks of its own."""
    for workflow in WORKFLOWS:
        for provider in PROVIDERS.values():
            yield machine_name(workflow, provider.name), cluster_machine(folder, workflow, provider, DEFAULT)
