"""Shortened machines are the deployed ones, and what shortens them finds the cases that it is about."""

from __future__ import annotations

import re

import pytest

from tests.builders import sha
from tests.stepfunctions.cases import CASES, Case
from tests.stepfunctions.drift_cases import DRIFT_CASES
from tests.stepfunctions.layer_faults import on_layer
from tests.stepfunctions.limits import limits
from tests.stepfunctions.machines import NAMES, read_deployed, strings
from tests.stepfunctions.pull_cases import PULL_CASES
from tests.stepfunctions.scripted_runner import NEVER_STARTS, SILENT, STARTS_LATE
from tests.stepfunctions.world import REPOSITORY
from tidegate.roots.rules.root import deployment_id, layer_id
from tidegate_local.aws.iam import matches


@pytest.mark.parametrize("machine", NAMES)
def test_what_is_shortened_is_deployed(machine):
    assert set(limits()[machine]) <= set(read_deployed(machine).states)


_LAYERS = [*PULL_CASES, *DRIFT_CASES]


def _words() -> set[str]:
    """Return the words by which limits and the scripted runner know, from ids alone, what a case is about."""
    kinds = ("plan", "apply", "speculate")
    by_runner = {f"{kind}-{word}" for kind in kinds for word in (NEVER_STARTS, STARTS_LATE)} | {SILENT}
    return by_runner | set(re.findall(r"\$contains\(\$\w+, '(.*?)'\)", " ".join(strings(limits()))))


@pytest.mark.parametrize("case", [*CASES, *_LAYERS], ids=lambda case: case.name)
def test_ids_hold_what_a_case_is_known_by(case):
    """Ids hold the beginning of a root's name only."""
    repository = REPOSITORY if isinstance(case, Case) else case.repository
    found = deployment_id(repository, case.name, sha(), "merge")
    assert [word for word in _words() if word in case.name and word not in found] == []


@pytest.mark.parametrize("case", _LAYERS, ids=lambda case: case.name)
def test_faults_find_the_layer_of_their_case_and_no_other(case):
    ids = {each.name: layer_id(f"{each.repository}#1", each.name, "", sha(), 1) for each in _LAYERS}
    assert [name for name, found in ids.items() if matches(f"*{on_layer(case.repository)}*", found)] == [case.name]
