"""Every regular expression takes time in proportion to the text that it meets."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.architecture.regular_expressions import Found, expressions, problem

#: Expressions that a search may not be judged by, as each of them is matched at the beginning of a line.
MATCHED = ("layers/core/python/tidegate/web/log_lines.py",)
#: Why an expression may stay that is not linear by its form, by its file and its first letters.
HARMLESS = {
    ("layers/core/python/tidegate/policies/rules/results.py", "(?<![\\w-])[A-Za-z_]"): "4,000 letters are searched.",
    ("layers/core/python/tidegate/policies/rego/", ""): (
        "Policies are the default branch's, and are read in a process with a time limit (docs/decisions/0113)."
    ),
    ("runner/plan_json.py", '("'): "What the engine prints is JSON: a string that begins has an end.",
    ("tidegate_cli/converting/", ""): "It is the names of files that a person converts.",
    ("tidegate_cli/lookup.py", "[^/\\s]"): "It is what a person types.",
}
#: How many expressions of a file are made while the program runs, and examples of them.
MADE = {
    "layers/core/python/tidegate/policies/rego/program.py": (1, [r"(?<![\w.])a(?!\w)"]),
    "layers/core/python/tidegate/config/refusals.py": (
        1,
        [r"^(Input|String|Tuple|Value|List|Dictionary) should", r"after validation, not .*|, unable to parse .*|\.$"],
    ),
    "layers/core/python/tidegate/policies/rules/plan_secrets.py": (1, ["abc|ab"]),
    "layers/core/python/tidegate/config/rules/plan_options.py": (
        2,
        ["-refresh=false", "(?s)-target=(?>.*?a)(?>.*?a).*b"],
    ),
    "layers/core/python/tidegate/roots/rules/query_words.py": (1, [r"'((?:[^\\']|\\.)*)'"]),
    # Patterns of what is masked are judged by a reader of their own (docs/decisions/0185) before they are searched for.
    "layers/core/python/tidegate/deploys/rules/mask_pattern.py": (1, [r"ghp_[A-Za-z0-9]{36}", r"token=\S+"]),
    "runner/masking.py": (2, []),
}


def test_every_expression_is_linear() -> None:
    told = [f"{each.where}: {each.pattern!r} may take {why}" for each, why in _judged() if not _is_harmless(each)]
    assert told == [], "\n".join(told)


def test_every_expression_that_is_made_while_the_program_runs_is_known() -> None:
    made = Counter(each.partition(":")[0] for each in expressions() if isinstance(each, str))
    assert {file: count for file, count in made.items() if MADE.get(file, (0,))[0] < count} == {}
    assert [why for _, texts in MADE.values() for text in texts if (why := problem(text, searched=False))] == []


@pytest.mark.parametrize(
    ("pattern", "searched", "words"),
    [
        (r"(a+)+b", False, "exponential"),
        (r"(a*)*b", False, "exponential"),
        (r"(?:\s|\#[^\n]*|//[^\n]*)*x", False, "exponential"),
        (r"(ab|a|b)*c", False, "exponential"),
        (r"(?:(a+)+)*+", False, "exponential"),
        (r"a*a*b", False, "quadratic"),
        (r"\d+.*\d+", False, "quadratic"),
        (r"[ \t]+$", True, "quadratic"),
        (r'"[^,]*",', True, "quadratic"),
        (r"<a>.*?</a>", True, "quadratic"),
        (r"[ \t]+$", False, None),
        (r'"[^"]*"', True, None),
        (r"[a-z]+(-[a-z]+)*", False, None),
        (r"(?:[^\"]++|\\.)*+", True, None),
        (r"^[ \t]*x", True, None),
        (r"(?m)^[ \t]*x", True, None),
        (r"(?<![a-z])[a-z]+x", True, None),
        (r"[a-z]+", True, None),
    ],
)
def test_the_judge_tells_expressions_apart(pattern: str, searched: bool, words: str | None) -> None:  # noqa: FBT001  # A column of the table above.
    found = problem(pattern, searched=searched)
    assert found is None if words is None else found is not None and words in found


def _judged() -> list[tuple[Found, str]]:
    found = [each for each in expressions() if isinstance(each, Found)]
    assert len(found) > 100
    judged = [
        (each, problem(each.pattern, each.flags, searched=each.searched and not _is_matched(each))) for each in found
    ]
    return [(each, why) for each, why in judged if why]


def _is_matched(each: Found) -> bool:
    return each.where.startswith(MATCHED)


def _is_harmless(each: Found) -> bool:
    text = each.pattern.decode() if isinstance(each.pattern, bytes) else each.pattern
    return any(each.where.startswith(where) and text.startswith(begins) for where, begins in HARMLESS)
