"""The machines of cluster workflows are those that were reviewed."""

from __future__ import annotations

import pytest

from tests.stepfunctions.golden import FOLDER, file_of, text_of
from tests.stepfunctions.machines import CLUSTER_MACHINES


@pytest.mark.parametrize("machine", CLUSTER_MACHINES, ids=lambda machine: machine.name)
def test_a_machine_is_the_one_that_was_reviewed(machine):
    assert file_of(machine).read_text(encoding="utf-8") == text_of(machine), "python -m tests.stepfunctions.golden"


def test_each_reviewed_machine_is_rendered():
    assert {*FOLDER.glob("*.txt")} == {file_of(machine) for machine in CLUSTER_MACHINES}
