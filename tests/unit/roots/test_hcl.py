"""What is read of files in HCL; a parser of the language is the judge of what a file is, and of what it says."""

from __future__ import annotations

import pygohcl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.roots.rules import hcl_tokens
from tidegate.roots.rules.hcl import HclFile
from tidegate.roots.rules.hcl_tokens import Kind, decoded


def problem(text: str) -> str | None:
    found = HclFile(text.encode("utf-8", "surrogatepass")).problem
    return found and f"{found.line}: {found.what}"


def is_legal(text: str) -> bool:
    try:
        pygohcl.loads(text)
    except pygohcl.HCLParseError:
        return False
    return True


def test_blocks_arguments_and_labels_are_read_with_their_places() -> None:
    text = '# first\nresource "a" b {\n  x = [1,\n    2]\n  inner { y = "\\u0041$${z}" }\n}\nz = "t"\n'
    file = HclFile(text.encode())
    (block,) = file.body.blocks
    assert (block.kind, block.labels, file.line(block.at)) == ("resource", ("a", "b"), 2)
    x = block.body.argument("x")
    assert x is not None
    assert x.text is None
    assert [token[1] for token in x.value] == ["[", "1", ",", "\n", "2", "]"]
    y = next(block.body.all_of("inner")).body.argument("y")
    assert y is not None
    assert y.text == "A${z}"
    assert file.problem is None
    assert [(each.name, each.text) for each in file.body.arguments] == [("z", "t")]
    assert file.body.argument("no") is None


def test_a_byte_order_mark_is_none_of_the_file() -> None:
    assert problem("\ufeffx = 1\n") is None


def test_templates_and_heredocs_are_read_as_the_language_nests_them() -> None:
    text = 'x = "a${ { b = "}" }["b"] }%{ if true ~}c%{~ endif }"\ny = <<-E\n  ${<<F\nE\nF\n}\n $\n  E \nz = 1\n'
    file = HclFile(text.encode())
    assert file.problem is None
    assert [each.name for each in file.body.arguments] == ["x", "y", "z"]
    assert [text for kind, text, _ in file.tokens if kind is Kind.LITERAL] == ["a", "c", "  ", "E", " $"]


LEGAL_OR_NOT = [
    "x = <<A\nfoo $\nA\n",
    "x = <<A\n%%\nA\nA\n",
    "x = <<A\nfoo\n A \u00a0\ny = 1\n",
    "x = <<A\nfoo\n\x1cA\nA\n",
    'x = <<A\n${"a"}A\nA\n',
    'x = <<A\n${"a"}\nA\ny = 1\n',
    "x = <<A\n${ foo(\nA\n) }\nA\n",
    "x = <<A \nA\n",
    "x = <<A\nA",
    "x = <<A\n\rA\nA\n",
    "x = <<-A\r\nb\r\n  A\r\n",
    'x = "$$${"\n',
    'x = "$$$${"\n',
    'x = "$%{"\n',
    'x = "%${"\n',
    'x = "a$"\n',
    'x = "\\${"\n',
    'x = "\\x"\n',
    'x = "\\ud800"\n',
    'x = "\\U00110000"\n',
    'x = "a\n"\n',
    'x = "never',
    "x = 1\r",
    "x = 1 2\n",
    "x = 1, 2\n",
    "x = 1 +\n",
    "x =\n",
    "x = [1\n",
    "x = (1]\n",
    'x = "${(}"\n',
    'x = "${a ~}"\n',
    "x = { a = 1 ~}\n",
    "x = }\n",
    "x = /* a \n b */ 1 // c",
    "/* never",
    "data external x {}\n",
    'data "\\u0065xternal" x {}\n',
    'data "a${b}" x {}\n',
    "data = external x {}\n",
    "b { a = 1 }\n",
    "b { a = 1\n }\n",
    "b {\n a = 1 }\n",
    "b { a = 1 b = 2 }\n",
    "b { c {} }\n",
    "b {} c {}\n",
    "b\n{}\n",
    "b {\n",
    "b }\n",
    '"b" {}\n',
    "{}\n",
    "1\n",
    "x = `a`\n",
    "x = 'a'\n",
    "x = a.0.b[1].*.c ? -1 : !true\n",
    "x = provider::a::b(1, [2]...)\n",
    "x = { for k, v in m : k => v... if v != null }\n",
]


@pytest.mark.parametrize("text", LEGAL_OR_NOT, ids=ascii)
def test_a_file_has_a_problem_where_the_language_has_one(text: str) -> None:
    assert (problem(text) is None) is is_legal(text)


def test_names_beyond_ascii_are_legal_and_too_strange_to_be_judged() -> None:
    assert problem("é = 1\n") == "1: a name has non-ASCII letters"
    assert problem("x = <<A·B\nA·B\n") == "1: the end marker of a heredoc has non-ASCII letters"
    assert problem("x = \udcff\n") == "1: it is not UTF-8"
    assert HclFile(b"module x {\n  \xff\n}\ny = 1").body.arguments[0].name == "y"


def test_what_is_too_deep_or_too_long_has_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem("a {\n" * 101 + "}\n" * 101) == "101: expected an argument or a block"
    monkeypatch.setattr(hcl_tokens, "_MOST_TOKENS", 10)
    assert problem("x = 1\n" * 9) == "3: it has more than 10 tokens"


@pytest.mark.parametrize(
    ("inner", "text"),
    [("a", "a"), ("\\n\\\\{", "\n\\{"), ("$$${ %%{", "$${ %{"), ("\\U0001F600", "😀"), ("\\q{", None)],
)
def test_escapes_stand_for_letters(inner: str, text: str | None) -> None:
    assert decoded(inner) == text


PIECES = st.sampled_from(
    [
        *('"', "${", "%{", "}", "~}", "{", "(", ")", "[", "]", "\n", "\r\n", "$", "%", "$$", "$${", "%%{", "\\", '\\"'),
        *("<<A\n", "<<-A\n", "A\n", " A", "A", "# ", "// ", "/*", "*/", "/", "<", " ", "=", " = ", "x", "b ", "1", ","),
        *("b {\n", '"s"', "x = 1\n", 'x = "a${b}c"\n', "x = <<A\n${d}\nA\n", "\t", "\r", ":", "?", ".", "for ", "if "),
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_whatever_the_language_takes_is_read_and_says_the_same(text: str) -> None:
    file = HclFile(text.encode())
    try:
        said = pygohcl.loads(text)
    except (pygohcl.HCLParseError, pygohcl.HCLInternalError):
        return
    assert file.problem is None
    assert set(said) == {each.name for each in file.body.arguments} | {each.kind for each in file.body.blocks}
    for each in file.body.arguments:
        if each.text is not None:
            assert said[each.name] == each.text


@given(st.lists(PIECES, max_size=14).map("".join), st.sampled_from(["module", "terraform"]))
def test_blocks_that_nobody_reads_hide_none_that_somebody_does(text: str, kind: str) -> None:
    whole = f"resource x {{\n{text}\n}}\n{kind} y {{\n  source = 1\n}}\n"
    file = HclFile(whole.encode())
    if file.problem is None:
        few = HclFile(whole.encode(), {kind})
        assert few.problem is None
        shown = [
            [(each.kind, each.labels, len(each.body.arguments)) for each in it.body.all_of(kind)] for it in (file, few)
        ]
        assert shown[0] == shown[1]


HOSTILE = [
    "[",
    "{",
    "(",
    "/*",
    "$",
    '"',
    '"${',
    "b {\n",
    "b\n",
    "x ",
    " ",
    "\r",
    " \r",
    '"\n',
    "a={",
    "/*/",
    "<<A\n",
    "}",
]


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_hostile_files_are_read_to_their_end(piece: str) -> None:
    for only in (None, {"module"}):
        file = HclFile(('x = <<A\n"' + piece * 5_000).encode(), only)
        assert file.problem is not None
        HclFile(("b {\n" + piece * 5_000).encode(), only)
