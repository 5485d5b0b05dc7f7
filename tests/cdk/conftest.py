"""The template, synthesized once for each worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def template_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the template's path; beside it lies what is deployed with it."""
    from cdk.synthesis import synthesize

    return synthesize(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def template(template_file: Path) -> dict[str, Any]:
    return json.loads(template_file.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def resources(template: dict[str, Any]):
    """Find resources of a type: a mapping of logical ids to properties."""

    def of_type(kind: str) -> dict[str, dict[str, Any]]:
        return {
            logical_id: resource.get("Properties", {})
            for logical_id, resource in template["Resources"].items()
            if resource["Type"] == kind
        }

    return of_type
