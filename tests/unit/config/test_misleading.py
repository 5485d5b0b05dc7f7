"""What of a file can be used, and is warned of."""

from __future__ import annotations

import pytest

from tests.configuration import load

STACKS = "stacks: {names: {prod: {tag_query: prod, variables: {region: eu}}}}\n"


def warnings(text: str) -> list[tuple[int, int, str]]:
    return [(each.line, each.column, each.text) for each in load(text).warnings]


@pytest.mark.parametrize(
    "text",
    [
        "workflows: [{tag_query: 'a b or c'}]\n",
        "access_control: {policies: [{tag_query: 'a b or c'}]}\n",
        "apply_requirements: {checks: [{tag_query: 'a b or c'}]}\n",
        "stacks: {names: {s: {tag_query: 'a b or c'}}}\n",
        "drift: {schedules: {s: {tag_query: 'a b or c', schedule: daily}}}\n",
        "when_modified: {depends_on: 'a b or c'}\n",
        "dirs: {a: {when_modified: {depends_on: 'a b or c'}}}\n",
        "dirs: {a/*: {when_modified: {depends_on: 'a b or c'}}}\n",
    ],
)
def test_every_query_that_mixes_tags_side_by_side_with_or_is_warned_of(text):
    ((line, _, sentence),) = warnings(text)
    assert line == 1
    assert "adjacent tags bind to the rest" in sentence


def test_the_place_of_a_query_is_told():
    ((line, column, _),) = warnings("workflows:\n  - plan: [init, plan]\n    tag_query: a b or c\n")
    assert (line, column) == (3, 16)


def test_a_stack_that_nobody_declares_is_warned_of_with_the_nearest_one():
    text = STACKS + "workflows:\n  - tag_query: stack_name:prd\n  - tag_query: stack_name:default or stack_name:prod\n"
    assert warnings(text) == [(3, 16, "no root can have the tag 'stack_name:prd'. Did you mean 'stack_name:prod'?")]
    assert "Declare it under stacks.names" in warnings("workflows: [{tag_query: 'stack_name:x'}]\n")[0][2]


def test_a_branch_that_has_no_tag_is_warned_of():
    tags = "tags: {dest_branch: {main: main}}\n"
    assert warnings(tags + "workflows: [{tag_query: 'dest_branch:main'}]\n") == []
    ((_, _, sentence),) = warnings("workflows: [{tag_query: 'dest_branch:main'}]\n")
    assert sentence == "no root can have the tag 'dest_branch:main'. Declare it under the key 'tags'."


def test_a_query_of_a_stack_for_tags_that_come_later_is_warned_of():
    ((_, _, sentence),) = warnings("stacks: {names: {s: {tag_query: 'stack_name:s'}}}\n")
    assert "matches no root here, because Tidegate" in sentence


def test_a_variable_that_no_stack_sets_is_warned_of_at_its_line():
    text = (
        STACKS
        + """workflows:
  - tag_query: ''
    environment: ${STACK_VAR_REGION}
    plan:
      - init
      - {type: plan, extra_args: ['-var=r=${STACK_VAR_REGOIN}']}
hooks: {all: {pre: [{type: run, cmd: ['${STACK_VAR_OTHER}']}]}}
"""
    )
    assert warnings(text) == [
        (7, 1, "no stack sets the variable STACK_VAR_REGOIN. Did you mean STACK_VAR_REGION?"),
        (8, 1, "no stack sets the variable STACK_VAR_OTHER."),
    ]
