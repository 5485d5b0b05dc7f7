"""What a file can make too large to be stored is refused by the root's name, before anything of a change is in line."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY
from tidegate.config.loader import load_configuration
from tidegate.config.resolution import configure
from tidegate.config.settings import MOST_BYTES
from tidegate.roots.rules.root import Root

#: Steps that are short as they are written, and long where the stack's variable is filled in.
SWELLING = f"""
stacks:
  names:
    large: {{tag_query: 'name:a', variables: {{a: {"x" * 900}}}}}
    small: {{tag_query: 'name:b', variables: {{a: x}}}}
workflows:
  - tag_query: ''
    plan: [{{type: run, cmd: [echo, '{"${STACK_VAR_A}" * 150}']}}, init, plan]
"""
NAMES = [f"{'r' * 90}{number:06}" for number in range(2500)]
DEPENDING = b"""
roots:
  - {dir: z, name: z, when_modified: {depends_on: 'not name:z'}}
  - {dir: y, name: y, when_modified: {depends_on: 'name:%s'}}
"""


def test_steps_that_their_variables_make_too_large_are_refused_where_they_do():
    found = configure(load_configuration(SWELLING.encode(), REPOSITORY), [Root("a", "a"), Root("b", "b")])
    assert [each.root.name for each in found.roots] == ["b"]
    assert found.refused["a"].startswith(
        "tidegate.yaml:7: its steps cannot run with the variables of the stack 'large'"
    )
    assert f"the limit is {MOST_BYTES}" in found.refused["a"]


def test_each_root_that_runs_so_is_refused():
    everywhere = SWELLING.replace("name:a", "not name:b")
    found = configure(load_configuration(everywhere.encode(), REPOSITORY), [Root(f"{n}", f"{n}") for n in range(300)])
    assert len(found.refused) == 300
    assert found.roots == ()


@pytest.mark.parametrize(("number", "refused"), [(2500, {"z"}), (1000, set())])
def test_a_root_that_waits_for_more_than_can_be_stored_is_refused(number, refused):
    loaded = load_configuration(DEPENDING % NAMES[0].encode(), REPOSITORY)
    roots = [Root("z", "z"), Root("y", "y"), *(Root(name, f"d/{name}") for name in NAMES[:number])]
    found = configure(loaded, roots)
    assert set(found.refused) == refused
    for sentence in found.refused.values():
        assert "depends_on (tidegate.yaml:3) matches" in sentence
