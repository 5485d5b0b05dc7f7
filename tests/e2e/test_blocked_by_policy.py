"""What a gate held up is looked at in whatever comes next, and goes on once a correction brings what it waited for."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.project import title
from tests.e2e.promotion import BROKEN, STACKS, change, is_blocked, waits_for

pytestmark = pytest.mark.nightly


def test_people_look_at_what_was_held_up_before_in_whatever_comes_next(project):
    project.ended(project.push(change("one", "staging/app"), **{"tidegate.yaml": STACKS}), "staging/app")
    held = project.push(change("two", "dev/app", "staging/app"))
    dev = project.reviewed(held, "dev/app")
    project.wait(held, "staging/app", waits_for("dev"))
    newer = [project.push({"staging/app": thing("two") + f"# {number}\n"}) for number in (1, 2)]
    for sha in newer:
        project.wait(sha, "staging/app", "Queued")
    project.click(dev, "Reject")
    assert title(project.ended(held, "staging/app")).startswith("Superseded")
    project.click(project.reviewed(newer[0], "staging/app"), "Reject")
    project.reviewed(newer[1], "staging/app")
    assert project.value("staging/app") == "one"


def test_a_correction_of_what_failed_alone_lets_the_rest_of_the_first_commit_go_on(project):
    first = project.push({"dev/app": BROKEN, "staging/app": thing("two")}, **{"tidegate.yaml": STACKS})
    project.wait(first, "staging/app", is_blocked)
    correction = project.push(change("two", "dev/app"))
    project.approved(correction, "dev/app")
    assert title(project.ended(first, "staging/app")).startswith("Applied")
    assert project.value("staging/app") == "two"
