"""What comments ask for, and what is answered when they do not say it well."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.domain.comment import MAXIMUM_ROOTS, Command, Misread, Verb, did_you_mean, help_text, read_comment, usage


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("tidegate deploy", Command(Verb.DEPLOY)),
        ("Tidegate Deploy", Command(Verb.DEPLOY)),
        ("atlantis deploy", Command(Verb.DEPLOY)),
        ("tidegate deploy -p live/app", Command(Verb.DEPLOY, ("live/app",))),
        ("tidegate deploy -p b -p a -p b", Command(Verb.DEPLOY, ("b", "a"))),
        ("tidegate deploy --root=a --project b", Command(Verb.DEPLOY, ("a", "b"))),
        ("tidegate deploy --force -p 'live/app'", Command(Verb.DEPLOY, ("live/app",), force=True)),
        ("tidegate unlock", Command(Verb.UNLOCK)),
        ("tidegate unlock -p a", Command(Verb.UNLOCK, ("a",))),
        ("tidegate help", Command(Verb.HELP)),
        ("tidegate help deploy please", Command(Verb.HELP)),
        ("tidegate --help", Command(Verb.HELP)),
        ("tidegate -h", Command(Verb.HELP)),
    ],
)
def test_a_command_is_read_like_a_command_line(text, command):
    assert read_comment(text) == command


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tidegate", "What shall I do?"),
        ("tidegate deply", "Did you mean `deploy`?"),
        ("tidegate UNLOK", "Did you mean `unlock`?"),
        ("tidegate dance", "There is no command `dance`."),
        ("tidegate terraform apply", "Tidegate runs the engine itself"),
        ("tidegate plan", "Tidegate runs the engine itself"),
        ("tidegate deploy --forse", "Did you mean `--force`?"),
        ("tidegate deploy -x", "`deploy` has no option `-x`."),
        ("tidegate deploy --force=yes", "Did you mean `--force`?"),
        ("tidegate unlock --force", "`unlock` takes no `--force`"),
        ("tidegate deploy -p", "`-p` needs the name of a root"),
        ("tidegate deploy -p --force", "`-p` needs the name of a root"),
        ("tidegate deploy live/app", "`tidegate deploy -p live/app`"),
        ("tidegate deploy -p ../..", "cannot be the name of a root"),
        ("tidegate deploy -p ''", "cannot be the name of a root"),
        ("tidegate deploy -p 'a", "A quote is not closed"),
        ("tidegate deploy && rm -rf /", "`&&` does not belong here"),
        ("tidegate deploy `id`", "does not belong here"),
        ("tidegate deploy " + " ".join(f"-p r{n}" for n in range(MAXIMUM_ROOTS + 1)), "50 roots at most"),
    ],
)
def test_what_is_no_command_is_answered_with_what_to_write(text, words):
    misread = read_comment(text)
    assert isinstance(misread, Misread)
    assert words in misread.reply
    assert usage() in misread.reply


def test_answers_use_the_word_that_the_comment_began_with():
    assert "atlantis deploy [-p ROOT]" in read_comment("atlantis", "atlantis").reply
    assert "| `atlantis unlock` |" in help_text("atlantis")


def test_nothing_near_is_not_guessed():
    assert did_you_mean("network", ["database"]) == ""
    assert did_you_mean("netwrok", ["database", "network"]) == "Did you mean `network`?"


@given(st.text(max_size=200) | st.text("tidegate deploy -p--force unlock'\"\\= `[]@#<", max_size=100))
def test_whatever_a_comment_says_it_is_a_command_or_answered(rest):
    decision = read_comment(f"tidegate {rest}")
    assert isinstance(decision, Command) or decision.reply.encode("utf-8")


@given(st.text("@a[](x)<img>&`*\n #1", max_size=60))
def test_nothing_of_a_comment_becomes_markup_of_the_answer(rest):
    decision = read_comment(f"tidegate x{rest}")
    if isinstance(decision, Misread):
        outside_code = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", decision.reply.split("```")[0])
        assert not set("@<>*#") & set(outside_code)
