"""Where the engine's errors are, from what it printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.plans.rules.engine_errors import (
    LONGEST_MESSAGE,
    LONGEST_SAID,
    LONGEST_TITLE,
    EngineError,
    engine_errors,
    first_error,
)

#: What Terraform 1.11 prints.
PRINTED = """
Error: Unsupported argument

  on main.tf line 2, in resource "terraform_data" "a":
   2:   inptu = 1

An argument named "inptu" is not expected here. Did you mean "input"?

Warning: Deprecated attribute

  on main.tf line 4, in output "z":
   4: output "z" { value = data.old.x }

Use another one.

Error: Reference to undeclared local value

  on ../modules/net/main.tf line 12, in output "y":
  12:   value = local.nothing
    ├────────────────
    │ local.other is "a"

A local value with the name "nothing"
has not been declared.

Error: No valid credential sources found

The provider has none.
"""


def test_errors_are_at_their_files_and_lines_from_the_repositorys_top():
    assert engine_errors(PRINTED + PRINTED, "live/app") == (
        EngineError(
            "live/app/main.tf",
            2,
            "Unsupported argument",
            'An argument named "inptu" is not expected here. Did you mean "input"?',
        ),
        EngineError(
            "live/modules/net/main.tf",
            12,
            "Reference to undeclared local value",
            'A local value with the name "nothing"\nhas not been declared.',
        ),
    )


@pytest.mark.parametrize(
    "file",
    ["../../etc/passwd", "/etc/passwd", ".terraform/modules/a/main.tf", ".git/config", "..", "a\x1b.tf", "a\\b"],
)
def test_what_is_not_in_the_repository_is_left_out(file):
    assert engine_errors(f"Error: No\n\n  on {file} line 3:\n   3: x\n\nWhy.\n", "live") == ()


def test_errors_of_init_are_where_the_module_is_called():
    printed = """
Error: Failed to download module

Could not download module "net" (main.tf:4) source code from
"git::https://example.com/net.git": error downloading.

Error: Unreadable module directory

The directory  could not be read for module "q" at
../b.tf:1.
"""
    assert [(each.path, each.line) for each in engine_errors(printed, "live/app")] == [
        ("live/app/main.tf", 4),
        ("live/b.tf", 1),
    ]
    said = 'Could not download module "net" (main.tf:4) source code from "git::https://example.com/net.git": error'
    assert first_error(printed) == f"Failed to download module (main.tf line 4): {said} downloading"


@pytest.mark.parametrize("after", ["tidegate: exit code 1.", "Releasing state lock. This may take a few moments..."])
def test_what_follows_the_last_error_is_no_part_of_it(after):
    (found,) = engine_errors(f"Error: No\n\n  on a.tf line 3:\n   3: x\n\nWhy.\n{after}\n", ".")
    assert found.message == "Why."


def test_frames_and_colours_of_an_error_are_left_out():
    framed = """
\x1b[31m╷\x1b[0m\x1b[0m
\x1b[31m│\x1b[0m \x1b[0m\x1b[1m\x1b[31mError: \x1b[0m\x1b[0m\x1b[1mResource precondition failed\x1b[0m
\x1b[31m│\x1b[0m \x1b[0m
\x1b[31m│\x1b[0m \x1b[0m\x1b[0m  on ../net/main.tf line 6, in resource "terraform_data" "d":
\x1b[31m│\x1b[0m \x1b[0m   6:       condition = \x1b[4mvar.y == "b"\x1b[0m\x1b[0m
\x1b[31m│\x1b[0m \x1b[0m    \x1b[90m├────────────────\x1b[0m
\x1b[31m│\x1b[0m \x1b[0m\x1b[0m    \x1b[90m│\x1b[0m \x1b[1mvar.y\x1b[0m is "c"
\x1b[31m│\x1b[0m \x1b[0m\x1b[0m
\x1b[31m│\x1b[0m \x1b[0mY must be b.
\x1b[31m╵\x1b[0m\x1b[0m
"""
    assert engine_errors(framed, "app") == (
        EngineError("net/main.tf", 6, "Resource precondition failed", "Y must be b."),
    )
    assert first_error(framed) == "Resource precondition failed (../net/main.tf line 6): Y must be b"


def test_an_error_without_more_words_says_its_title():
    assert engine_errors("Error: No\n\n  on a.tf line 3\n", ".") == (EngineError("a.tf", 3, "No", "No"),)
    assert engine_errors("Error: \n\n  on a.tf line 3\n", ".")[0].title == "Error"


def test_output_without_errors_has_none():
    assert engine_errors("Plan: 1 to add\n", ".") == ()


@given(st.text(alphabet=st.sampled_from("Eror: \n onlie3,.tf/ab├"), max_size=300), st.sampled_from([".", "live/app"]))
def test_whatever_was_printed_the_errors_are_within_bounds(noise, root):
    text = f"{noise}\nError: {noise}\n\n  on {noise} line 3\n{noise}"
    for each in engine_errors(text, root):
        assert not each.path.startswith(("/", "../"))
        assert 0 < len(each.title) <= LONGEST_TITLE
        assert 0 < len(each.message) <= LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (
            PRINTED[PRINTED.index("Error: Ref") :]
            .replace("../modules/net/", "")
            .replace('with the name "nothing"', 'named "x"'),
            'Reference to undeclared local value (main.tf line 12): A local value named "x" has not been declared',
        ),
        (PRINTED[PRINTED.index("Error: No valid") :], "No valid credential sources found: The provider has none"),
        ("Error: No\n\n  with aws_vpc.a,\n  on a.tf line 3:\n   3: x\n", "No (a.tf line 3)"),
        ("Warning: old\n\nError: creating VPC: VpcLimitExceeded.\n", "creating VPC: VpcLimitExceeded"),
        ("Error: \n\n  on main.tf line 2:\n", ""),
        ("Plan: 1 to add", ""),
        ("", ""),
    ],
)
def test_the_first_error_is_told_with_its_location_and_what_it_says(printed, told):
    assert first_error(printed) == told


@given(st.text())
def test_the_first_error_of_any_text_is_one_short_line(text):
    assert len(first_error(f"Error: {text}").splitlines()) <= 1
    assert len(first_error(f"Error: {text}")) <= LONGEST_TITLE + LONGEST_SAID + 1100


def test_of_a_long_message_the_beginning_is_told():
    told = first_error("Error: No\n\n" + "word " * 100 + "\n\nThe rest.\n")
    assert told.startswith("No: word word")
    assert told.endswith("word …")
    assert len(told) <= len("No: ") + LONGEST_SAID
