"""The picture of a cluster's workflow: whole, harmless, and readable for those who do not see it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from tidegate.clusters.rules.overview import Part, PartState, TaskParts, WorkflowOverview
from tidegate.clusters.rules.record import Place
from tidegate.web.workflow_picture import PARTS, workflow_picture

SVG = "{http://www.w3.org/2000/svg}"


def drawing(flow):
    return ET.fromstring(workflow_picture(flow))  # noqa: S314  # It is what is tested: no outsider's.


def task(name="validate", state=PartState.DONE, title="Validate the cluster", before=(), after=()):
    return TaskParts(Part(Place(name), title, state), before, after)


def hook(name="check", state=PartState.DONE, task="validate"):
    return Part(Place(task, name, "installation"), name, state)


FLOW = WorkflowOverview(
    start=(hook("announce", task=""),),
    tasks=(
        task(after=(hook(),)),
        task("upgrade-cluster", PartState.FAILED, "Upgrade the cluster", before=(hook("drain"),)),
        task("write", PartState.NOT_REACHED, "Write"),
    ),
    end=(hook("report", PartState.NOT_REACHED, ""),),
    on_error=(hook("page", task=""),),
    always=(hook("tidy", PartState.WAITING, ""),),
    more=(Part(Place("diagnose"), "Diagnose", PartState.RUNNING),),
)


def test_every_task_is_a_box_with_its_title_its_state_in_words_and_a_link_to_its_row():
    boxes = [each for each in drawing(FLOW).findall(f"{SVG}a") if each.find(f"{SVG}rect") is not None]
    assert [box.get("href") for box in boxes] == ["#task-validate", "#task-upgrade-cluster", "#task-write"]
    words = [[text.text for text in box.findall(f"{SVG}text")] for box in boxes]
    assert words[1] == ["Upgrade the cluster", "Failed"]
    assert [box.get("class") for box in boxes] == ["box good", "box bad", "box quiet idle"]


def test_hooks_are_marks_at_their_places_in_the_order_in_which_they_run():
    drawn = drawing(FLOW)
    marks = [each for each in drawn.findall(f"{SVG}a") if each.find(f"{SVG}rect") is None]
    assert [mark.find(f"{SVG}title").text for mark in marks] == [
        "announce: Done",
        "check: Done",
        "drain: Done",
        "report: Not reached",
        "Diagnose: Running",
        "page: Done",
        "tidy: Waiting",
    ]
    heights = [float(mark.find(f"{SVG}circle").get("cy")) for mark in marks]
    assert heights == sorted(heights)
    assert [mark.get("href") for mark in marks][:2] == ["#ends", "#task-validate"]


def test_an_arrow_leads_from_each_task_to_the_next_and_all_is_inside():
    drawn = drawing(FLOW)
    assert len(drawn.findall(f"{SVG}path")) == 2
    boxes = [(float(rect.get("y")), float(rect.get("height"))) for rect in drawn.iter(f"{SVG}rect")]
    assert all(top + height <= below for (top, height), (below, _) in pairwise(boxes))
    assert sum(boxes[-1]) < float(drawn.get("height"))


def test_those_who_see_no_picture_are_told_what_it_shows():
    text = drawing(FLOW).find(f"{SVG}desc").text
    assert "Upgrade the cluster: failed." in text
    assert "Hooks, before: drain (done)." in text


def test_of_very_many_hooks_some_are_drawn_and_the_rest_is_counted():
    many = tuple(hook(f"h{number}") for number in range(300))
    drawn = drawing(WorkflowOverview(tasks=(task(before=many),)))
    assert [text.text for text in drawn.findall(f"{SVG}text")] == ["before", "+289"]
    right = max(float(circle.get("cx")) for circle in drawn.iter(f"{SVG}circle"))
    assert right < float(drawn.get("width"))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b", 'x" onload="y', "{0}", "\u202eleft", "n" * 200])
def test_no_title_changes_the_picture(name):
    drawn = drawing(WorkflowOverview(tasks=(task(title=name, after=(hook(name),)),)))
    assert {element.tag.removeprefix(SVG) for element in drawn.iter()} <= {
        "svg", "title", "desc", "defs", "marker", "path", "a", "rect", "text", "circle",
    }  # fmt: skip


def test_a_workflow_without_its_plan_is_not_drawn():
    assert workflow_picture(WorkflowOverview(more=(hook(),))) is None


def test_each_state_has_a_word_and_a_colour():
    assert set(PARTS) == set(PartState)
