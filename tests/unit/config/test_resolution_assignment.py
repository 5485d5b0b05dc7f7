"""Which stacks roots are in, and which section of a file says what holds for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolving import A_AND_B, only, refusal, resolve, stacks_of
from tidegate.changes.rules.change_set import change_set
from tidegate.config.assignment import late_tags
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import tagged


class TestAssignment:
    @pytest.mark.parametrize(
        ("stacks", "expected"),
        [
            ("", {"a": ["default"], "b": ["default"]}),
            ("stacks: {names: {s: {tag_query: x}}}", {"a": ["s"], "b": ["default"]}),
            (
                "stacks: {names: {s: {tag_query: 'dir:a'}, t: {tag_query: 'workspace:default not x'}}}",
                {"a": ["s"], "b": ["t"]},
            ),
            ("stacks: {names: {default: {tag_query: ''}}}", {"a": ["default"], "b": ["default"]}),
            ("stacks: {names: {default: {tag_query: x}, s: {tag_query: y}}}", {"a": ["default"], "b": ["s"]}),
            ("stacks: {names: {n: {stacks: [s]}, s: {tag_query: x}}}", {"a": ["s"], "b": ["default"]}),
        ],
    )
    def test_roots_are_in_the_stack_whose_query_they_match(self, stacks, expected):
        resolved = resolve(A_AND_B + stacks)
        assert stacks_of(resolved) == expected
        assert not resolved.refused
        assert not resolved.left_out

    def test_where_default_is_declared_what_no_stack_takes_does_not_run(self):
        resolved = resolve(A_AND_B + "stacks:\n  names:\n    s: {tag_query: x}\n    default: {tag_query: never}\n")
        assert stacks_of(resolved) == {"a": ["s"]}
        assert resolved.left_out == {
            "b": "It is in no stack. No tag query of a stack matches it, and because the stack 'default' is declared "
            "(tidegate.yaml:8), that stack does not get the remaining roots automatically."
        }

    def test_a_root_in_several_stacks_is_refused_and_no_other_is(self):
        resolved = resolve(
            A_AND_B
            + "stacks:\n  names:\n    s: {tag_query: x}\n    t: {tag_query: both}\n    u: {tag_query: x and both}\n"
        )
        assert stacks_of(resolved) == {"b": ["t"]}
        assert resolved.refused == {
            "a": "It (directory 'a', workspace 'default') matches several stacks, 's' (tidegate.yaml:7) and 't' "
            "(tidegate.yaml:8) and 'u' (tidegate.yaml:9). Change their tag queries so that only one matches, or "
            "set stacks.allow_workspace_in_multiple_stacks: true."
        }

    def test_a_default_that_takes_everything_is_told_of(self):
        text = "dirs: {a: {tags: [x]}}\nstacks: {names: {s: {tag_query: x}, default: {tag_query: ' '}}}"
        assert refusal(text).endswith("with the roots that are in no other stack.")

    def test_with_leave_a_root_is_in_several_stacks_and_shared(self):
        resolved = resolve(
            A_AND_B
            + "stacks:\n  allow_workspace_in_multiple_stacks: true\n"
            + "  names:\n    s: {tag_query: x}\n    t: {tag_query: both, variables: {v: 1}}\n"
        )
        assert [(each.key, each.shared) for each in resolved.roots] == [
            (("a", "s"), True),
            (("a", "t"), True),
            (("b", "t"), False),
        ]
        assert [each.run.variables for each in resolved.roots] == [(), (("STACK_VAR_V", "1"),), (("STACK_VAR_V", "1"),)]
        assert "stack_name:t" not in resolved.roots[0].tagged.tags

    def test_stacks_and_their_stack_groups_become_tags_that_stacks_themselves_cannot_ask_for(self):
        resolved = resolve(
            A_AND_B
            + "stacks: {names: {top: {stacks: [n]}, n: {stacks: [s]}, s: {tag_query: x}, "
            + "t: {tag_query: 'stack_name:s'}}}"
        )
        assert stacks_of(resolved) == {"a": ["s"], "b": ["default"]}
        tags = [tag for tag in resolved.roots[0].tagged.tags if tag.startswith("stack_name")]
        assert sorted(tags) == ["stack_name:n", "stack_name:s", "stack_name:top"]
        assert resolved.stacks["s"].within == ("n", "top")

    @pytest.mark.parametrize("query", ["stack_name:s", "x or not branch:main", "x (y dest_branch:b)"])
    def test_queries_of_stacks_for_tags_that_come_later_are_told_of(self, query):
        assert "matches no root here" in late_tags(parse_tag_query(query))
        assert late_tags(parse_tag_query("x or 'in dir' or y in dir")) is None


class TestBranches:
    TEXT = (
        A_AND_B
        + """
tags:
  branch: {feature: '^feat/', any: '.'}
  dest_branch: {main: '^main$', any: '.'}
workflows:
  - {tag_query: 'branch:feature dest_branch:main', environment: preview}
"""
    )

    @pytest.mark.parametrize(
        ("branch", "dest", "tags", "environment"),
        [
            ("feat/x", "main", {"branch:feature", "dest_branch:main"}, "preview"),
            ("fix", "main2", {"branch:any", "dest_branch:any"}, ""),
            ("", "", set(), ""),
        ],
    )
    def test_a_branch_has_the_tag_of_the_first_pattern_it_fits(self, branch, dest, tags, environment):
        for each in resolve(self.TEXT, branch=branch, dest_branch=dest).roots:
            assert {tag for tag in each.tagged.tags if "branch:" in tag} == tags
            assert each.run.environment == environment


class TestSections:
    TEXT = """
        when_modified: ['*.tf']
        dirs:
          live/one: {tags: [own]}
          live/*: {tags: [short], when_modified: ['*.hcl']}
          live/**/x: {tags: [long]}
          many/*: {workspaces: {blue: {tags: [is-blue]}, default: {}}}
    """

    @pytest.mark.parametrize(
        ("root", "tags", "when_modified"),
        [
            (Root("live/one", "live/one"), {"own"}, ("*.tf",)),
            (Root("live/two", "live/two"), {"short"}, ("*.hcl",)),
            (Root("live/x", "live/x"), {"long"}, ("*.tf",)),
            (Root("live/two/blue", "live/two", "blue"), set(), ("*.tf",)),
            (Root("many/a/blue", "many/a", "blue"), {"is-blue"}, ("*.tf",)),
            (Root("many/a", "many/a"), set(), ("*.tf",)),
            (Root("else", "else"), set(), ("*.tf",)),
        ],
    )
    def test_a_root_of_its_own_beats_globs_and_the_longest_glob_beats_others(self, root, tags, when_modified):
        found = only(self.TEXT, root)
        assert {tag for tag in found.tagged.tags if ":" not in tag} == tags
        assert found.when_modified == when_modified


TAGS = ["x", "y", "z"]
queries = st.sampled_from(["", "x", "y or z", "not x", "x y", "x in dir", "dir:x/**", "dir:**/y", "not (x or y)"])


@given(
    st.lists(st.tuples(st.sampled_from(["x", "y", "x/y", "z/x", "z/y/x"]), st.sets(st.sampled_from(TAGS))), max_size=6),
    st.dictionaries(st.sampled_from(["default", "s", "t", "u"]), queries, max_size=4),
    st.booleans(),
)
def test_each_root_is_in_the_stacks_that_match_it_or_refused_or_left_out(dirs, stacks, several):
    """A second assignment asks each stack about each root."""
    roots = dict(dirs)
    names = "".join(f"\n    {name}: {{tag_query: {query!r}}}" for name, query in stacks.items())
    text = "dirs:" + ("".join(f"\n  {each}: {{tags: {sorted(tags)}}}" for each, tags in roots.items()) or " {}")
    text += f"\nstacks:\n  allow_workspace_in_multiple_stacks: {str(several).lower()}\n  names:{names or ' {}'}\n"
    resolved = resolve(text)
    for name, tags in roots.items():
        root = Root(name, name)
        matching = [stack for stack, query in stacks.items() if parse_tag_query(query).matches(tagged(root, tags))]
        expected = matching or ([] if "default" in stacks else ["default"])
        is_refused = len(matching) > 1 and not several
        assert (name in resolved.refused) is is_refused
        assert (name in resolved.left_out) is (not expected)
        assert stacks_of(resolved).get(name, []) == ([] if is_refused else expected)
    assert all(each.shared == (len(stacks_of(resolved)[each.root.name]) > 1) for each in resolved.roots)


EXAMPLES = Path(__file__).parents[2] / "data/stacks"


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("tags-instead-of-stacks.yaml", ["project1/dev", "project1/prod", "project2/prod"]),
        ("a-stack-for-each-project.yaml", ["project1/dev", "project1/prod"]),
    ],
)
def test_a_stack_for_each_project_keeps_dependencies_inside(example, expected):
    text = (EXAMPLES / example).read_text(encoding="utf-8").replace("tags: project1, prod]", "tags: [project1, prod]")
    resolved = resolve(text)
    (changed,) = [each.key for each in resolved.roots if each.root.name == "project1/dev"]
    found = change_set([each.candidate for each in resolved.roots], resolved.stacks, [changed])
    assert sorted(member.root.name for member in found.members) == expected
