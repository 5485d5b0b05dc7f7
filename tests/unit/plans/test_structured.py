"""A plan as rows: what Terraform 1.11 writes, and what it may write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.plans.rules import structured_file
from tidegate.plans.rules.attributes import LONGEST_VALUE, MOST_LINES, Known, Shown, attribute_lines
from tidegate.plans.rules.plan import planned_changes
from tidegate.plans.rules.structured import (
    Kind,
    PlanRow,
    RowDetails,
    Section,
    action_row,
    by_urgency,
    counted,
    deferred_row,
    output_row,
    resource_row,
)
from tidegate.plans.rules.structured_file import packed, unpacked

#: What ``terraform show -json`` printed for a root with a change of each kind.
CHANGES = json.loads((Path(__file__).parents[2] / "data" / "plans" / "changes.json").read_text())


def same(text: str) -> str:
    return text


def row(*actions: str, before: Any = None, after: Any = None, **fields: Any) -> RowDetails:
    names = {"importing", "replace_paths", "before_sensitive", "after_sensitive", "after_unknown"} & fields.keys()
    change = {"actions": list(actions), "before": before, "after": after, **{name: fields.pop(name) for name in names}}
    found = resource_row({"address": "aws_sqs_queue.a", "change": change, **fields}, same)
    assert found is not None
    return found


def rows(plan: dict[str, Any] = CHANGES) -> list[RowDetails]:
    found = [resource_row(each, same) for each in plan["resource_changes"]]
    found += [output_row(name, each, same) for name, each in plan["output_changes"].items()]
    return [each for each in found if each is not None]


def lines(before: Any, after: Any, **marks: Any) -> list[str]:
    """Return what people read of a change."""
    return [text(each) for each in attribute_lines({"before": before, "after": after, **marks}, same)]


def text(line: Any) -> str:
    values = [f"({each.known})" if each.known else each.text for each in (line.before, line.after)]
    told = " -> ".join(value for value in values if value not in {"(absent)", "(nested)"})
    forces = "# forces replacement" if line.forces else ""
    said = " ".join(filter(None, (line.sign.strip(), line.name, told, line.note, forces)))
    return "  " * line.depth + said


# A plan of Terraform


def test_each_change_of_a_plan_is_a_row_and_what_destroys_comes_first() -> None:
    found = [each.row for each in rows()]
    read = [(each.kind, each.address) for each in (found[place] for place in by_urgency(found))]
    assert read == [
        (Kind.DESTROY, "terraform_data.gone"),
        (Kind.REPLACE, "aws_security_group.web"),
        (Kind.CHANGE, "aws_iam_policy.send"),
        (Kind.CHANGE, "terraform_data.imported"),
        (Kind.CHANGE, "terraform_data.plain"),
        (Kind.CHANGE, "terraform_data.secret"),
        (Kind.ADD, "aws_db_instance.orders"),
        (Kind.ADD, 'terraform_data.each["new"]'),
        (Kind.FORGET, "terraform_data.forgotten"),
        (Kind.MOVE, "terraform_data.new_name"),
        (Kind.REPLACE, "module.queue.terraform_data.queue"),
        (Kind.CHANGE, "password"),
        (Kind.CHANGE, "plain"),
        (Kind.CHANGE, "queue"),
        (Kind.ADD, "fresh"),
    ]
    assert counted(found) == {
        Kind.DESTROY: 1,
        Kind.REPLACE: 2,
        Kind.CHANGE: 4,
        Kind.ADD: 2,
        Kind.FORGET: 1,
        Kind.MOVE: 1,
    }


def test_rows_say_where_resources_come_from_and_why_they_are_replaced() -> None:
    of = {each.row.address: each.row for each in rows()}
    assert of["terraform_data.new_name"].previous == "terraform_data.old_name"
    assert of["terraform_data.imported"].imported == "existing-id"
    assert of["aws_security_group.web"].forces == ("description",)
    assert of["module.queue.terraform_data.queue"].module == "module.queue"


def test_nested_values_are_compared_where_they_differ() -> None:
    of = {each.row.address: [text(line) for line in each.lines] for each in rows()}
    assert of["aws_iam_policy.send"] == [
        "~ policy JSON",
        "  ~ Statement",
        "    ~ [0]",
        "      ~ Action",
        '        + "sqs:GetQueueUrl"',
    ]
    replaced = of["aws_security_group.web"]
    assert '~ description "web" -> "web servers" # forces replacement' in replaced
    assert replaced[replaced.index("~ ingress") :][:4] == [
        "~ ingress",
        "  ~ [0]",
        "    ~ cidr_blocks",
        '      + "192.168.0.0/16"',
    ]
    assert of["terraform_data.secret"][:2] == ["~ input", "  ~ password (sensitive) -> (sensitive)"]
    assert of["password"] == ["~ password (sensitive) -> (sensitive)"]
    assert of["fresh"] == ["+ fresh (unknown)"]


def test_no_sensitive_value_of_a_plan_is_stored() -> None:
    stored = unpacked(packed(rows()))
    shown = repr([(row, stored.lines(place)) for place, row in enumerate(stored.rows)])
    assert "web servers" in shown
    assert "-of-the-database" not in shown


# Rows


@pytest.mark.parametrize(("actions", "creates_first"), [(("create", "delete"), True), (("delete", "create"), False)])
def test_a_replacement_says_what_is_done_first(actions: tuple[str, str], *, creates_first: bool) -> None:
    found = row(*actions).row
    assert (found.kind, found.creates_first) == (Kind.REPLACE, creates_first)


def test_what_stays_as_it_is_has_no_row() -> None:
    change = {"actions": ["no-op"], "before": {"a": 1}, "after": {"a": 1}}
    assert resource_row({"address": "a.b", "change": change}, same) is None
    assert resource_row({"address": "a.b", "previous_address": "a.c", "change": change}, same, Section.DRIFT) is None
    assert output_row("a", change, same) is None


@pytest.mark.parametrize(
    ("importing", "shown"),
    [
        ({"id": "i-1"}, "i-1"),
        ({"identity": {"b": 2, "a": 1}}, "a=1, b=2"),
        ({"unknown": True}, "(known after apply)"),
        (True, ""),
    ],
)
def test_an_import_names_what_is_imported(importing: Any, shown: str) -> None:
    found = row("no-op", importing=importing)
    assert (found.row.kind, found.row.imported) == (Kind.IMPORT, shown)


def test_paths_that_force_a_replacement_read_as_people_write_them() -> None:
    found = row("delete", "create", replace_paths=[["a", 0, "b"], "no path"], deposed="ab12")
    assert (found.row.forces, found.row.deposed) == (("a[0].b",), "ab12")


def test_an_output_that_goes_shows_what_it_was() -> None:
    found = output_row("old", {"actions": ["delete"], "before": "x", "after": None}, same)
    assert found is not None
    assert (found.row.kind, [text(each) for each in found.lines]) == (Kind.DESTROY, ['- old "x"'])


def test_actions_show_their_values_and_tasks_of_clusters_why_they_are_due() -> None:
    invocation = {"address": "action.a.b", "config_values": {"k": "s", "n": 1}, "config_sensitive": {"k": True}}
    found = action_row(invocation, same)
    assert [text(each) for each in found.lines] == ["+ k (sensitive)", "+ n 1"]
    task = {"address": "task.create-cluster", "type": "task", "config_values": {"why": "There is no cluster yet."}}
    assert action_row(task, same) == RowDetails(
        PlanRow(Section.ACTIONS, Kind.RUN, "task.create-cluster", why="There is no cluster yet."), ()
    )


def test_tasks_keep_their_order() -> None:
    found = [PlanRow(Section.ACTIONS, Kind.RUN, name) for name in ("b", "a", "c")]
    assert by_urgency(found) == [0, 1, 2]


def test_what_is_deferred_says_why() -> None:
    change = {"actions": ["create"], "after": {"a": 1}}
    resource = {"reason": "unknown_count", "resource_change": {"address": "a.b", "change": change}}
    action = {"reason": "deferred_prereq", "action_invocation": {"address": "action.a.b"}}
    found = [deferred_row(each, same).row for each in (resource, action)]
    assert [(each.section, each.kind, each.address, each.why) for each in found] == [
        (Section.DEFERRED, Kind.ADD, "a.b", "unknown count"),
        (Section.DEFERRED, Kind.RUN, "action.a.b", "deferred prereq"),
    ]


# Attributes


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, {"a": 1, "b": None, "c": True}, ["+ a 1", "+ c true"]),
        ({"a": "x"}, None, ['- a "x"']),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["~ b 2 -> 3"]),
        ({"a": None}, {"a": "x"}, ['+ a "x"']),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, ["~ a", "  - 2"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ["~ a", "  ~ [0]", "    ~ b 1 -> 2"]),
        (None, {"a": [1, "x"]}, ['+ a [1, "x"]']),
        (None, {"a": {}}, ["+ a {}"]),
        ({"a": []}, None, ["- a []"]),
        (None, {"a": ["x" * 80]}, ["+ a", f'  + "{"x" * 80}"']),
        ({"a": [1]}, {"a": "x"}, ['~ a [1] -> "x"']),
        ({"a": {"b": 1}}, {"a": 2}, ["~ a {…} -> 2"]),
        ({"a": [{"b": 1}]}, {"a": 2}, ["~ a […] -> 2"]),
        ({"a": '{"b": 1}'}, {"a": '{"b":1}'}, ["~ a only its spaces change"]),
        ({"a": "{no JSON"}, {"a": "{}"}, ['~ a "{no JSON" -> "{}"']),
        ({"a": "one\ntwo"}, {"a": "one\n2"}, ["~ a", "  one", "  - two", "  + 2"]),
        ("x", "y", ['~ "x" -> "y"']),
        ({"a": 1}, {"a": 1}, []),
    ],
)
def test_a_line_tells_each_difference(before: Any, after: Any, shown: list[str]) -> None:
    assert lines(before, after) == shown


@pytest.mark.parametrize(
    ("after", "unknown", "shown"),
    [
        ({}, {"a": True}, ["+ a (unknown)"]),
        ({"a": [None]}, {"a": [True, True]}, ["+ a", "  + (unknown)", "  + (unknown)"]),
        ({"a": None}, {"a": {"b": True, "c": False}}, ["+ a", "  + b (unknown)"]),
        ({"a": None}, {"a": [{}]}, []),
    ],
)
def test_what_is_known_after_the_apply_is_shown_as_such(after: Any, unknown: Any, shown: list[str]) -> None:
    assert lines(None, after, after_unknown=unknown) == shown


@pytest.mark.parametrize(
    ("before", "after", "marks", "shown"),
    [
        ({"a": "x"}, {"a": "y"}, {"before_sensitive": {"a": True}}, ["~ a (sensitive) -> (sensitive)"]),
        ({"a": "x"}, {"a": "y"}, {"after_sensitive": {"a": True}}, ["~ a (sensitive) -> (sensitive)"]),
        ({"a": "x"}, {"a": "x"}, {"before_sensitive": True, "after_sensitive": True}, []),
        (None, {"a": "x"}, {"after_sensitive": {"a": True}}, ["+ a (sensitive)"]),
        ({"a": "x"}, None, {"before_sensitive": {"a": True}}, ["- a (sensitive)"]),
        (None, {"a": None}, {"after_sensitive": {"a": True}}, []),
        (None, {}, {"after_sensitive": {"a": True}, "after_unknown": {"a": True}}, ["+ a (sensitive)"]),
        ({"a": ["x"]}, {"a": ["y"]}, {"after_sensitive": {"a": [True]}}, ["~ a", "  ~ (sensitive) -> (sensitive)"]),
    ],
)  # fmt: skip
def test_a_value_that_either_side_marks_sensitive_is_hidden(
    before: Any, after: Any, marks: Any, shown: list[str]
) -> None:
    assert lines(before, after, **marks) == shown


def test_what_forces_a_replacement_is_marked_also_inside_of_a_value_that_is_shown_whole() -> None:
    shown = lines({"a": "x", "b": [1]}, {"a": "y", "b": "z"}, replace_paths=[["b", 0], [{}]])
    assert shown == ['~ a "x" -> "y"', '~ b [1] -> "z" # forces replacement']


def test_known_secrets_are_replaced_in_names_and_values() -> None:
    change = {"before": None, "after": {"hunter2": "my hunter2", "text": "a\nhunter2"}}
    shown = list(attribute_lines(change, lambda told: told.replace("hunter2", "(masked)")))
    assert "hunter2" not in repr(shown)
    assert shown[0].after == Shown(Known.PLAIN, '"my (masked)"')


@pytest.mark.parametrize("around", ["{}", '{{"a": [{}, 1]}}'])
def test_a_secret_that_is_a_document_is_not_taken_apart(around: str) -> None:
    secret = '{"password": "hunter2"}'
    change = {"before": {"copy": '{"password": "old"}'}, "after": {"copy": around.format(secret)}}
    shown = list(
        attribute_lines(
            change, lambda told: told.replace(secret, "(masked)").replace(json.dumps(secret)[1:-1], "(masked)")
        )
    )
    assert "hunter2" not in repr(shown)
    assert "(masked)" in repr(shown)


def test_long_values_and_many_lines_are_cut() -> None:
    (line,) = attribute_lines({"after": {"a": "x" * (LONGEST_VALUE + 8)}}, same)
    assert line.after.text.endswith("x… (10 more characters)")
    found = list(attribute_lines({"after": {f"a{number}": 1 for number in range(MOST_LINES + 1)}}, same))
    assert (len(found), found[-1].note) == (MOST_LINES + 1, "More attributes change: see the plan's text.")


def test_long_lists_and_texts_are_compared_by_position() -> None:
    many = [{"n": number} for number in range(201)]
    assert lines({"a": many}, {"a": [*many[:200], {"n": 0}]}) == ["~ a", "  ~ [200]", "    ~ n 200 -> 0"]
    shown = lines({"a": "x\n" * 201}, {"a": "y\n" * 201})
    assert (shown[1], shown[-1]) == ("  - x", "  +")


def test_values_of_any_depth_are_read() -> None:
    deep: Any = "bottom"
    for _ in range(200):
        deep = {"a": deep}
    assert "nested too deep" in lines(None, deep, after_unknown=deep)[-1]
    assert lines(None, {"a": "[" * 5000}) == [
        f'+ a "{"[" * LONGEST_VALUE}'[: LONGEST_VALUE + 4] + "… (3,002 more characters)"
    ]


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["a\nb", '{"k": [1]}', "[]"])
values = st.recursive(
    leaves,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


def without_nothing(value: Any) -> Any:
    """Return a value without nulls: these are as good as nothing."""
    return {name: each for name, each in (value or {}).items() if each is not None}


@given(st.none() | objects, st.none() | objects)
def test_there_are_lines_exactly_if_something_differs(before: Any, after: Any) -> None:
    differs = without_nothing(before) != without_nothing(after)
    found = list(attribute_lines({"before": before, "after": after}, same))
    if differs:
        assert found != []
    if before == after:
        assert found == []


secret = st.just("canary-canary")
marked = st.recursive(
    st.tuples(secret, st.just(True)) | st.tuples(leaves, st.just(False)),
    lambda each: (
        st.dictionaries(st.text(max_size=3), each, max_size=3).map(
            lambda found: (
                {name: value for name, (value, _) in found.items()},
                {name: mark for name, (_, mark) in found.items()},
            )
        )
        | st.lists(each, max_size=3).map(lambda found: ([value for value, _ in found], [mark for _, mark in found]))
    ),
    max_leaves=10,
)


@given(marked, marked, values)
def test_no_marked_value_is_ever_shown(before: Any, after: Any, unknown: Any) -> None:
    change = {
        "before": {"x": before[0]},
        "before_sensitive": {"x": before[1]},
        "after": {"x": after[0]},
        "after_sensitive": {"x": after[1]},
        "after_unknown": {"x": unknown},
    }
    assert "canary" not in repr(list(attribute_lines(change, same)))


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "address": st.text(max_size=5),
                "change": st.fixed_dictionaries(
                    {
                        "actions": st.lists(
                            st.sampled_from(["create", "delete", "update", "no-op", "read", "forget", "new"]),
                            min_size=1,
                            max_size=2,
                        )
                    },
                    optional={"importing": st.just({"id": "x"}), "before": objects, "after": objects},
                ),
            },
            optional={
                "previous_address": st.text(max_size=3),
                "module_address": st.sampled_from(["module.a", "module.b"]),
            },
        ),
        max_size=6,
    )
)
def test_rows_are_counted_as_the_plan_is_and_survive_being_stored(resources: list[dict[str, Any]]) -> None:
    found = [each for each in (resource_row(resource, same) for resource in resources) if each]
    stored = unpacked(packed(found))
    assert [(row, stored.lines(place)) for place, row in enumerate(stored.rows)] == [
        (found[place].row, found[place].lines) for place in by_urgency([each.row for each in found])
    ]
    changes = planned_changes({"format_version": "1.2", "resource_changes": resources})
    of = counted(stored.rows)
    moved = sum(of.get(kind, 0) for kind in (Kind.MOVE, Kind.IMPORT, Kind.FORGET))
    told = [of.get(kind, 0) for kind in (Kind.ADD, Kind.CHANGE, Kind.DESTROY, Kind.REPLACE)]
    assert [*told, moved] == [changes.add, changes.change, changes.destroy, changes.replace, changes.moved]


# The stored form


def test_rows_and_attributes_beyond_what_anybody_reads_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structured_file, "MOST_ROWS", 1)
    monkeypatch.setattr(structured_file, "MOST_BYTES", 1)
    stored = unpacked(packed([row("create", after={"a": 1}), row("delete", before={"a": "secret"})]))
    assert ([each.kind for each in stored.rows], stored.left_out) == ([Kind.DESTROY], 1)
    assert "too large" in stored.lines(0)[0].note


@pytest.mark.parametrize("content", [b"", b"{}", b"\0\0\0\x02{}", packed([])[:-3], structured_file._compressed([])])
def test_what_is_no_structured_plan_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"structured plan"):
        unpacked(content)


def test_an_index_of_another_form_and_attributes_of_another_form_are_refused() -> None:
    for index in ([], {"rows": [[1]]}):
        content = structured_file._compressed(index)
        with pytest.raises(ValueError, match="structured plan"):
            unpacked(len(content).to_bytes(4, "big") + content)
    details = structured_file._compressed([1])
    values = ["resources", "add", "a", "", "", "", "", "", [], False, True, len(details)]
    index = structured_file._compressed({"rows": [values], "left_out": 0})
    with pytest.raises(ValueError, match="structured plan"):
        unpacked(len(index).to_bytes(4, "big") + index + details).lines(0)


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structured_file, "_LARGEST_INDEX", 100)
    with pytest.raises(ValueError, match="too large"):
        unpacked(packed([row("create")] * 50))
