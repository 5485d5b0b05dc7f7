"""The tokens of a file in HCL, as HashiCorp's own scanner produces them (docs/decisions/0179).

A file with errors is read as far as possible, and the first error is recorded. No recursion, and linear time, for any
file.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum


class Kind(StrEnum):
    """What a token is. ``STRING`` is a whole one in quotes without templates; its text is what is between these.

    ``OPEN`` and ``CLOSE`` are brackets, the quotes of a string with templates (``"``), the ends of a heredoc (``<<``)
    and of what stands in a template (``${``, also for ``%{``). They are always balanced, but for what the file's end
    leaves open. ``LITERAL`` is text in a template.
    """

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    LITERAL = "literal"
    OPERATOR = "operator"
    NEWLINE = "newline"
    OPEN = "open"
    CLOSE = "close"


#: What it is, its text, and where it begins.
Token = tuple[Kind, str, int]

#: Tokens that are read: more than in any file that somebody writes.
_MOST_TOKENS = 1_000_000
_QUOTE, _HEREDOC, _TEMPLATE = '"', "<<", "${"
_TEXTS = frozenset({_QUOTE, _HEREDOC})
_HIDING = frozenset({"string", "quote", "heredoc", "comment"})
_OPPOSITE = {")": "(", "]": "["}
#: What a piece of a template is made of, but for its own end: ``$${`` is text, ``${`` begins an expression.
_SIGILS = r"\$\$++\{|\$++(?!\{)|%%++\{|%++(?!\{)"
_IN_QUOTES = rf'(?:[^"\\$%\r\n]++|\\[^\r\n]|{_SIGILS})'
_MAIN = re.compile(
    rf"""[ \t]*+(?:
      (?P<newline>  \r?\n | (?:\#|//)[^\n]*+(?:\n|\Z) )
    | (?P<name>     (?:[A-Za-z_]|[^\x00-\x7f])(?:[A-Za-z0-9_-]|[^\x00-\x7f])*+ )
    | (?P<string>   "(?P<inner>{_IN_QUOTES}*+)" )
    | (?P<quote>    " )
    | (?P<number>   [0-9](?:[0-9A-Za-z.])*+ )
    | (?P<comment>  /\* )
    | (?P<heredoc>  <<-?(?P<tag>(?:[A-Za-z_]|[^\x00-\x7f])(?:[A-Za-z0-9_-]|[^\x00-\x7f])*+)\r?\n )
    | (?P<operator> ==|!=|>=|<=|&&|\|\||::|\.\.\.|=>|[-+*/%<>!?:.,=] )
    | (?P<open>     [({{\[] )
    | (?P<close>    ~?\}}|[)\]] )
    )""",
    re.VERBOSE,
)
_BAD = re.compile(r"[ \t]*+([^ \t])?", re.DOTALL)
_KINDS = {kind.value: kind for kind in (Kind.NAME, Kind.NUMBER, Kind.OPERATOR, Kind.NEWLINE)}
#: What may be left out of a block that nobody reads, up to a brace, or to what hides braces.
_UNREAD = re.compile(
    rf"""(?:[^"#/<{{}}]++|"(?:{_IN_QUOTES}|\$\{{[^"{{}}\r\n]*+\}})*+"|(?:\#|//)[^\n]*+|/(?![/*])|<(?!<))*+"""
)
_QUOTED_TEXT = re.compile(rf"{_IN_QUOTES}*+")
_HEREDOC_TEXT = re.compile(rf"(?:[^$%\r\n]++|{_SIGILS}|\r(?=\n))*+")
_BEGINS_TEMPLATE = re.compile(r"[$%]\{~?")
_ESCAPE = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([nrt"\\]))|([$%])[$%]\{|(\\)')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
#: The blanks of Go, by which the end of a heredoc is told.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def decoded(inner: str) -> str | None:
    """Return what a string without templates stands for, given what is between its quotes; None if nothing does."""
    if "\\" not in inner and "{" not in inner:
        return inner
    found = _ESCAPE.sub(_meant, inner)
    return None if "\udfff" in found else found


def _meant(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        number = int(code, 16)
        return "\udfff" if 0xD800 <= number <= 0xDFFF or number > 0x10FFFF else chr(number)  # noqa: PLR2004  # Unicode's.
    if match[5]:
        return "\udfff"
    return f"{match[4]}{{" if match[4] else _ESCAPED[match[3]]


class HclTokens:
    """Finds the tokens of a text. ``_stack`` has what is open, the innermost last, ``_line`` where a line begins."""

    def __init__(self, content: bytes, only: Collection[str] | None) -> None:
        self._only = only
        self.problem: tuple[int, str] | None = None
        self.tokens: list[Token] = []
        try:
            self.text = content.decode()
        except UnicodeDecodeError as error:
            self.text = content.decode("utf-8", "replace")
            self.note(error.start, "it is not UTF-8")
        self._stack: list[str] = []
        self._tags: list[str] = []
        self._line = 0
        self._scan()

    def note(self, at: int, what: str) -> None:
        """Keep what is wrong, if nothing was so before."""
        if self.problem is None:
            self.problem = at, what

    def _scan(self) -> None:
        position, end, stack = 1 if self.text.startswith("\ufeff") else 0, len(self.text), self._stack
        while position < end:
            if len(self.tokens) > _MOST_TOKENS:
                self.note(position, f"it has more than {_MOST_TOKENS} tokens")
                return
            if stack and stack[-1] == _QUOTE:
                position = self._quoted(position)
            elif stack and stack[-1] == _HEREDOC:
                position = self._line_of_heredoc(position)
            else:
                position = self._main(position)
        if stack:
            self.note(end, f"{'<<' + self._tags[-1] if stack[-1] == _HEREDOC else stack[-1]} is not closed")

    def _main(self, position: int) -> int:
        """Read tokens until a text begins or goes on, or to the end, and return where that is."""
        text, tokens, stack, end = self.text, self.tokens, self._stack, len(self.text)
        while position < end and len(tokens) <= _MOST_TOKENS:
            match = _MAIN.match(text, position)
            if match is None:
                return self._skip(position)
            kind = match.lastgroup or ""
            if kind in _KINDS:
                self._word(kind, match)
                position = match.end()
            else:
                position = self._sign(kind, match)
                if stack and stack[-1] in _TEXTS:
                    return position
        return position

    def _word(self, kind: str, match: re.Match[str]) -> None:
        found = match[kind]
        if kind == "name" and not found.isascii():
            self.note(match.start(kind), "a name has non-ASCII letters")
        self.tokens.append((_KINDS[kind], found, match.start(kind)))
        if kind == "newline":
            self._line = len(self.tokens)

    def _sign(self, kind: str, match: re.Match[str]) -> int:
        """Read a string, a comment, a bracket, or the beginning of a text, and return where it ends."""
        at = match.start(kind)
        if kind == "string":
            self.tokens.append((Kind.STRING, match["inner"], at))
            if "\\" in match["inner"] and decoded(match["inner"]) is None:
                self.note(at, "a string has an unknown escape sequence")
        elif kind == "comment":
            return self._comment(match.end(), at)
        elif kind == "close":
            self._close(match[kind], at)
        elif kind == "open":
            unread = not self._stack and self._is_unread(match[kind])
            self._open(match[kind], at)
            return self._leave_out(match.end()) if unread else match.end()
        else:
            self._open_text(match, kind)
        return match.end()

    def _skip(self, position: int) -> int:
        """Leave out a character that the language does not have; blanks at the end are none."""
        match = _BAD.match(self.text, position)
        if match and match[1]:
            self.note(match.start(1), "unexpected character")
        return match.end() if match else len(self.text)

    def _is_unread(self, bracket: str) -> bool:
        """Tell whether a bracket at the top begins a block that nobody reads."""
        if self._only is None or bracket != "{":
            return False
        return self._line < len(self.tokens) and self.tokens[self._line][1] not in self._only

    def _leave_out(self, position: int) -> int:
        """Go to where a block ends, and forget what is in it."""
        text, stack, end, tokens = self.text, self._stack, len(self.text), len(self.tokens)
        while stack and position < end:
            if stack[-1] == _QUOTE:
                position = self._quoted(position)
            elif stack[-1] == _HEREDOC:
                position = self._line_of_heredoc(position)
            elif stack[-1] != "{":
                position = self._main(position)
            else:
                match = _UNREAD.match(text, position)
                position = match.end() if match else position
                brace = text[position : position + 1] in {"{", "}"}
                position = self._brace(position) if brace else self._hidden(position)
            del self.tokens[tokens:]
        if not stack:
            self.tokens.append((Kind.CLOSE, "}", position - 1))
        return position

    def _brace(self, position: int) -> int:
        if self.text[position] == "{":
            self._stack.append("{")
        else:
            self._stack.pop()
        return position + 1

    def _hidden(self, position: int) -> int:
        """Read one token, in which braces may mean nothing."""
        match = _MAIN.match(self.text, position)
        kind = match.lastgroup or "" if match else ""
        return self._sign(kind, match) if match and kind in _HIDING else position + 1

    def _open(self, bracket: str, at: int) -> None:
        self._stack.append(bracket)
        self.tokens.append((Kind.OPEN, bracket, at))

    def _open_text(self, match: re.Match[str], kind: str) -> None:
        if kind == "heredoc":
            self._tags.append(match["tag"])
            if not match["tag"].isascii():
                self.note(match.start(kind), "the end marker of a heredoc has non-ASCII letters")
        self._open(_QUOTE if kind == "quote" else _HEREDOC, match.start(kind))

    def _close(self, bracket: str, at: int) -> None:
        """Close a bracket, and what is left open in it."""
        opposite = _OPPOSITE.get(bracket)
        while opposite is None and self._stack and self._stack[-1] in {"(", "["}:
            self.note(at, f"{self._stack[-1]} is not closed")
            self._pop(")" if self._stack[-1] == "(" else "]", at)
        if not self._stack or (opposite and self._stack[-1] != opposite):
            self.note(at, f"unmatched {bracket}")
            return
        template = self._stack[-1] == _TEMPLATE
        if bracket == "~}" and not template:
            self.note(at, "unmatched ~}")
        self._pop(_TEMPLATE if template else bracket.removeprefix("~"), at)

    def _pop(self, bracket: str, at: int) -> None:
        self._stack.pop()
        self.tokens.append((Kind.CLOSE, bracket, at))

    def _comment(self, position: int, began: int) -> int:
        end = self.text.find("*/", position)
        if end < 0:
            self.note(began, "a comment is not closed")
            return len(self.text)
        return end + 2

    def _quoted(self, position: int) -> int:
        """Read text in quotes: to their end, to a template, or to the end of the line, where there must be none."""
        position = self._literal(_QUOTED_TEXT, position)
        if self.text.startswith(_QUOTE, position):
            self._pop(_QUOTE, position)
            return position + 1
        return self._template(position, "a string is not closed on its line")

    def _line_of_heredoc(self, position: int) -> int:
        text = self.text
        end = text.find("\n", position)
        if end >= 0 and text[position - 1] == "\n" and text[position:end].strip(_BLANKS) == self._tags[-1]:
            self._tags.pop()
            self._pop(_HEREDOC, position)
            return end
        position = self._literal(_HEREDOC_TEXT, position)
        if text.startswith("\n", position):
            return position + 1
        return self._template(position, "a heredoc is not closed, or has an invalid line break")

    def _literal(self, pattern: re.Pattern[str], position: int) -> int:
        match = pattern.match(self.text, position)
        end = match.end() if match else position
        if end > position:
            self.tokens.append((Kind.LITERAL, self.text[position:end], position))
        return end

    def _template(self, position: int, otherwise: str) -> int:
        """Begin what stands in a template. Where there is none, note that and end the string or heredoc."""
        match = _BEGINS_TEMPLATE.match(self.text, position)
        if match:
            self._open(_TEMPLATE, position)
            return match.end()
        self.note(position, otherwise)
        if self._stack[-1] == _HEREDOC:
            self._tags.pop()
        self._pop(self._stack[-1], position)
        return position
