"""What comments ask for, and what is answered when they do not say it well."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.comments.rules.command import MAXIMUM_ROOTS, Command, Misread, Verb, read_comment
from tidegate.comments.texts.help import help_text, usage
from tidegate.roots.rules.nearest import did_you_mean


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("tidegate deploy", Command(Verb.DEPLOY)),
        ("Tidegate Deploy", Command(Verb.DEPLOY)),
        ("atlantis deploy", Command(Verb.DEPLOY)),
        ("tidegate deploy -p live/app", Command(Verb.DEPLOY, ("live/app",))),
        ("tidegate deploy -d live/prod", Command(Verb.DEPLOY, directories=("live/prod",))),
        ("tidegate deploy -d a -p b --force", Command(Verb.DEPLOY, ("b",), force=True, directories=("a",))),
        ("tidegate deploy stack_name:prod and not b", Command(Verb.DEPLOY, query="stack_name:prod and not b")),
        ("tidegate deploy prod  --force", Command(Verb.DEPLOY, query="prod", force=True)),
        ("tidegate deploy -p b -p a -p b", Command(Verb.DEPLOY, ("b", "a"))),
        ("tidegate deploy --root=a --project b", Command(Verb.DEPLOY, ("a", "b"))),
        ("tidegate deploy --force -p 'live/app'", Command(Verb.DEPLOY, ("live/app",), force=True)),
        ("tidegate lock", Command(Verb.LOCK)),
        ("tidegate lock -p a -p b", Command(Verb.LOCK, ("a", "b"))),
        ("tidegate lock -p a --reason don't merge -p", Command(Verb.LOCK, ("a",), reason="don't merge -p")),
        ("tidegate lock --reason='a freeze'", Command(Verb.LOCK, reason="a freeze")),
        ("tidegate unlock", Command(Verb.UNLOCK)),
        ("tidegate unlock -p a", Command(Verb.UNLOCK, ("a",))),
        ("tidegate plan", Command(Verb.PLAN)),
        ("tidegate  PLAN  -p live/app --project=b", Command(Verb.PLAN, ("live/app", "b"))),
        ("tidegate plan -d live/ -d ./a", Command(Verb.PLAN, directories=("live", "a"))),
        ("tidegate plan --dir=. -p a", Command(Verb.PLAN, ("a",), directories=(".",))),
        ("tidegate plan -d 'a dir'", Command(Verb.PLAN, directories=("a dir",))),
        ("tidegate plan prod", Command(Verb.PLAN, query="prod")),
        ('tidegate plan \'a -- b\' or "c\\" -- d"', Command(Verb.PLAN, query='\'a -- b\' or "c\\" -- d"')),
        ("tidegate plan (a or b) -- -x", Command(Verb.PLAN, query="(a or b)", options=("-x",))),
        (
            "tidegate plan -- -target=a.b -target='a[\"x y\"]'",
            Command(Verb.PLAN, options=("-target=a.b", '-target=a["x y"]')),
        ),
        ("tidegate plan -p a -- -x -- -x", Command(Verb.PLAN, ("a",), options=("-x", "--"))),
        ("tidegate apply", Command(Verb.APPLY)),
        ("tidegate apply -p a --root b", Command(Verb.APPLY, ("a", "b"))),
        ("tidegate help", Command(Verb.HELP)),
        ("tidegate lock --stack prod --for 2h", Command(Verb.LOCK, scope="prod", duration="2h")),
        ("tidegate lock --all --for=3d --reason a b", Command(Verb.LOCK, scope="*", duration="3d", reason="a b")),
        ("tidegate unlock --stack=prod", Command(Verb.UNLOCK, scope="prod")),
        ("tidegate help deploy please", Command(Verb.HELP)),
        ("tidegate approve ABCDEF123456", Command(Verb.APPROVE, digest="abcdef123456")),
        (f"tidegate approve {'a' * 12} -p {'b' * 12}", Command(Verb.APPROVE, ("b" * 12,), digest="a" * 12)),
        ("tidegate approve -p a abcdef123456", Command(Verb.APPROVE, ("a",), digest="abcdef123456")),
        ("tidegate approve", Command(Verb.APPROVE)),
        ("tidegate approve prod", Command(Verb.APPROVE, name="prod")),
        ("tidegate approve prod  it's what -p said", Command(Verb.APPROVE, name="prod", reason="it's what -p said")),
        ("tidegate approve prod --yes agreed", Command(Verb.APPROVE, name="prod", reason="agreed", confirmed=True)),
        ("tidegate approve abcdef123456 ok", Command(Verb.APPROVE, digest="abcdef123456", reason="ok")),
        ("tidegate reject -p a -p=b too big", Command(Verb.REJECT, ("a", "b"), reason="too big")),
        ("tidegate reject --reason 'too big'", Command(Verb.REJECT, reason="too big")),
        ("tidegate reject ABCDEF123456", Command(Verb.REJECT, digest="abcdef123456")),
        ("tidegate Reject -p a", Command(Verb.REJECT, ("a",))),
        ("tidegate cancel", Command(Verb.CANCEL)),
        ("tidegate cancel -p a --apply", Command(Verb.CANCEL, ("a",), interrupts=True)),
        ("tidegate --help", Command(Verb.HELP)),
        ("tidegate -h", Command(Verb.HELP)),
    ],
)
def test_a_command_is_read_like_a_command_line(text, command):
    assert read_comment(text) == command


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tidegate", "The command is missing"),
        ("tidegate deply", "Did you mean `deploy`?"),
        ("tidegate UNLOK", "Did you mean `unlock`?"),
        ("tidegate dance", "`dance` is not a command."),
        ("tidegate terraform apply", "which Tidegate runs for you"),
        ("tidegate import", "which Tidegate runs for you"),
        ("tidegate accept", "`approve` approves a plan that waits for its review"),
        ("tidegate approve :)", "`:)` is not a valid name for a root or a stack"),
        (f"tidegate reject app {'a' * 501}", "at most 500 characters"),
        ("tidegate approve --force", "`approve` does not accept `--force`."),
        ("tidegate reject --yes", "`reject` has no option `--yes`."),
        ("tidegate reject --apply", "`reject` has no option `--apply`."),
        ("tidegate cancel --aply", "Did you mean `--apply`?"),
        ("tidegate approve_policies", "its owners must approve the newest commit in a review"),
        ("tidegate pln", "Did you mean `plan`?"),
        ("tidegate aply", "Did you mean `apply`?"),
        ("tidegate plan --projct a", "Did you mean `--project`?"),
        ("tidegate plan -target=a.b", "Options for the engine go after `--`: `tidegate plan -- OPTION`."),
        ("tidegate plan --force", "`plan` does not accept `--force`"),
        ("tidegate plan -d", "`-d` needs the name of a directory"),
        ("tidegate plan -d ../a", "`../a` is not a valid name for a directory"),
        ("tidegate plan -p a prod", "Unexpected argument `prod`"),
        ("tidegate plan -- 'a", "The command has an unclosed quote"),
        ("tidegate plan -- " + " ".join(f"-t{n}" for n in range(MAXIMUM_ROOTS + 1)), "at most 50 options"),
        ("tidegate plan " + " ".join(f"-d d{n}" for n in range(MAXIMUM_ROOTS + 1)), "at most 50 directories"),
        ("tidegate plan (prod", "The tag query fails at column 1"),
        ("tidegate plan a and  or b", "```\na and  or b\n       ^\n```"),
        ("tidegate plan it's", "column 3"),
        ("tidegate apply --force", "`apply` does not accept `--force`"),
        ("tidegate apply -d live", "`apply` has no option `-d`."),
        ("tidegate apply prod", "`tidegate apply -p prod`"),
        ("tidegate deploy --forse", "Did you mean `--force`?"),
        ("tidegate deploy -x", "`deploy` has no option `-x`."),
        ("tidegate deploy --force=yes", "Did you mean `--force`?"),
        ("tidegate lock -p a --reason", "--reason the vendor moves the database"),
        (f"tidegate lock --reason {'a' * 301}", "at most 300 characters"),
        ("tidegate lock --force", "`lock` does not accept `--force`"),
        ("tidegate lock --for tomorrow", "is not a duration"),
        ("tidegate lock -p a --stack b", "Use only one of roots"),
        ("tidegate unlock --for 2h", "`unlock` has no option `--for`"),
        ("tidegate unlock --force", "`unlock` does not accept `--force`"),
        ("tidegate deploy -p", "`-p` needs the name of a root"),
        ("tidegate deploy -p --force", "`-p` needs the name of a root"),
        ("tidegate unlock live/app", "`tidegate unlock -p live/app`"),
        ("tidegate deploy -p a prod", "Unexpected argument `prod`"),
        ("tidegate deploy prod and --force", "follows 'and'"),
        ("tidegate deploy -p ../..", "is not a valid name for a root"),
        ("tidegate deploy -p ''", "is not a valid name for a root"),
        ("tidegate deploy -p 'a", "The command has an unclosed quote"),
        ("tidegate unlock && rm -rf /", "Unexpected argument `&&`"),
        ("tidegate unlock `id`", "Unexpected argument"),
        ("tidegate deploy " + " ".join(f"-p r{n}" for n in range(MAXIMUM_ROOTS + 1)), "at most 50 roots"),
    ],
)
def test_what_is_no_command_is_answered_with_what_to_write(text, words):
    misread = read_comment(text)
    assert isinstance(misread, Misread)
    assert words in misread.reply
    assert usage() in misread.reply


@pytest.mark.parametrize("query", [f"{'a ' * 200})", "a\u200b )"])
def test_a_column_that_could_not_be_seen_is_told_without_a_mark(query):
    misread = read_comment(f"tidegate plan {query}")
    assert "fails at column" in misread.reply
    assert "^" not in misread.reply


def test_answers_use_the_word_that_the_comment_began_with():
    assert "atlantis deploy [-p ROOT]" in read_comment("atlantis", "atlantis").reply
    assert "| `atlantis unlock` |" in help_text("atlantis")


def test_the_earlier_word_for_approving_still_approves():
    assert read_comment("tidegate confirm ABCDEF123456") == read_comment("tidegate approve abcdef123456")


def test_who_would_accept_by_a_comment_is_not_led_to_applying():
    assert "Did you mean" not in read_comment("tidegate accept").reply


def test_nothing_near_is_not_guessed():
    assert did_you_mean("network", ["database"]) == ""
    assert did_you_mean("netwrok", ["database", "network"]) == "Did you mean `network`?"


@given(st.text(max_size=200) | st.text("tidegate deploy plan -p--force unlock'\"\\= `[]@#<()", max_size=100))
def test_whatever_a_comment_says_it_is_a_command_or_answered(rest):
    decision = read_comment(f"tidegate {rest}")
    assert isinstance(decision, Command) or decision.reply.encode("utf-8")


@given(st.sampled_from(["x", "plan ", "plan -p "]), st.text("@a[](x)<img>&`*'\n #1", max_size=60))
def test_nothing_of_a_comment_becomes_markup_of_the_answer(verb, rest):
    decision = read_comment(f"tidegate {verb}{rest}")
    if isinstance(decision, Misread):
        outside_code = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", decision.reply.split("```")[0])
        assert not set("@<>*#") & set(outside_code)
