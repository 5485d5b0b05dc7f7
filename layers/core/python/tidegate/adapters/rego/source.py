"""Sources of tests rewritten where the engine fails on them: what they mean, and their lines, stay the same.

The engine ends its process on ``with input as …`` where a rule below calls a function, and on ``with … as NAME`` where
NAME is a rule (regopy 1.5.2; docs/decisions/0114). It can do both with a document of data, and with an expression.
"""

from __future__ import annotations

import re

#: The document of data that stands for the input.
DOCUMENT = "tidegate_input"
_WORDS = re.compile(r"""(?P<quoted>"(?:\\.|[^"\\\n])*"|`[^`]*`|\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<other>\s+|.)""")
_CONSTANTS = frozenset({"true", "false", "null"})


def rewritten(source: str) -> str:
    """Return a source whose input is a document of data, and whose ``with`` takes no rule by its name alone."""
    words = [_renamed(word, before) for word, before in _with_those_before(source)]
    made: list[str] = []
    place, in_with = 0, False
    while place < len(words):
        word = words[place]
        made.append(word)
        place += 1
        if word == "with":
            in_with = True
        elif word == "as" and in_with:
            in_with = False
            spaces = _spaces(words, place)
            end = _end_of_reference(words, place + len(spaces))
            if end:
                term = "".join(words[place + len(spaces) : end])
                made += [*spaces, f"[{DOCUMENT}_value | {DOCUMENT}_value := {term}][0]"]
                place = end
    return "".join(made)


def _with_those_before(source: str) -> list[tuple[str, str]]:
    """Return the words, each with the last one before it that is no space."""
    before, found = "", []
    for match in _WORDS.finditer(source):
        found.append((match.group(), before))
        if match.group().strip():
            before = match.group()
    return found


def _renamed(word: str, before: str) -> str:
    return f"data.{DOCUMENT}" if word == "input" and before != "." else word


def _spaces(words: list[str], place: int) -> list[str]:
    end = place
    while end < len(words) and not words[end].strip():
        end += 1
    return words[place:end]


def _end_of_reference(words: list[str], place: int) -> int:
    """Return where a reference that begins here ends, 0 where none does: a call, or a value, is none."""
    if place >= len(words) or not _is_name(words[place]) or words[place] in _CONSTANTS:
        return 0
    place += 1
    while place < len(words):
        if words[place] == "." and _is_name("".join(words[place + 1 : place + 2])):
            place += 2
        elif words[place] == "[" and "]" in words[place:]:
            place = _after_brackets(words, place)
        else:
            break
    return 0 if words[place : place + 1] == ["("] else place


def _after_brackets(words: list[str], place: int) -> int:
    depth = 0
    for end in range(place, len(words)):
        depth += {"[": 1, "]": -1}.get(words[end], 0)
        if depth == 0:
            return end + 1
    return len(words)


def _is_name(word: str) -> bool:
    return word.isidentifier() or word == f"data.{DOCUMENT}"
