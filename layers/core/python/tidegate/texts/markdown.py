"""Escape external text for Markdown: nothing of it becomes markup.

Names, reasons and the engine's output are data (design rule 8). They must not mention people, break
out of a fence, bring HTML or links, or hide text behind control characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tidegate.rules.shortened import shortened

_ESCAPE_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles, links and the like
    r"|\x1b[ -/]*[0-~]?"
)
#: Control characters other than tab and newline, marks that turn text around, halves of characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|~])")
#: Before a number or a name stand people, issues, and on GitLab snippets, milestones and epics.
_REFERENCES = re.compile(r'@|[#$&](?=\d)|%(?=[\w"])|(?<=www)(?=\.)|(?<=:)(?=//)|(?<=GH)(?=-\d)', re.IGNORECASE)
_BREAK = "\u200b"
#: What our Markdown of a sentence has that its plain text has not.
_MARKS = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|~])|(`+)|&(?:amp|lt|gt);|\u200b")
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_OPENS_FENCE = re.compile(r"^(?=[ \t]*```)", re.MULTILINE)
_BACKTICKS = re.compile(r"`+")

#: Bytes of a line that says how much is left out.
MORE_ROOM = 500


def plain(text: str) -> str:
    """Return the text without escape sequences and control characters; lines end in a newline only."""
    text = _ESCAPE_SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _INVISIBLE.sub("", text)


def one_line(text: str, longest: int) -> str:
    """Return the text on one line of at most ``longest`` characters; an ellipsis tells that it was longer."""
    return shortened(" ".join(plain(text[: 4 * longest]).split()), longest)


def escaped(text: str, longest: int = 1000) -> str:
    """Return one line of prose in which nothing is markup, a mention, a reference or a link."""
    return _escaped(one_line(text, longest))


def prose(text: str, longest: int = 1000) -> str:
    """Return one line of a sentence, in which what stands between two backticks is code, and nothing else is markup."""
    outside, *rest = one_line(text, longest).split("`")
    parts = [_escaped(outside)]
    while rest[1:]:
        inside, outside, *rest = rest
        parts += [code(inside), _escaped(outside)]
    return "".join([*parts, *(_escaped(f"`{each}") for each in rest)])


def _escaped(line: str) -> str:
    line = _REFERENCES.sub(lambda match: match.group() + _BREAK, line)
    line = _MARKUP.sub(r"\\\1", line)
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str, longest: int = 250) -> str:
    """Return the text as inline code on one line."""
    line = one_line(text, longest) or " "
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def without_marks(text: str) -> str:
    """Return a sentence of Tidegate's in Markdown, with names as code and texts that are escaped, as plain text."""
    parts, at = list[str](), 0
    while found := _MARKS.search(text, at):
        parts.append(text[at : found.start()])
        at = found.end()
        if fence := found[2]:
            end = text.find(fence, at)
            inside, at = (text[at:end], end + len(fence)) if end >= 0 else (fence, at)
            parts.append(inside.removeprefix(" ").removesuffix(" ") if fence[1:] else inside)
        else:
            parts.append(found[1] or _ENTITIES.get(found[0], ""))
    return "".join([*parts, text[at:]])


def fenced(text: str, language: str = "") -> str:
    """Return the text as a block of code that it cannot end.

    A fence ends at a line that begins with as many backticks, indented by at most three spaces: a line
    of the text that begins so is indented further.
    """
    body = _OPENS_FENCE.sub("    ", plain(text)).strip("\n")
    return f"```{language}\n{body}\n```"


def folded(label: str, block: str, *, opened: bool = False) -> str:
    """Return the block behind a fold, which may be open at first. ``label`` is our own words, or ``tagged_code``."""
    return f"<details{' open' if opened else ''}><summary>{label}</summary>\n\n{block}\n\n</details>"


def bounded(lines: Sequence[str], room: int, more: Callable[[int], str], beyond: int = 0) -> str:
    """Return as many of the lines as ``room`` bytes hold, and then ``more`` of how many are left out, if any are.

    ``more`` returns a line of at most ``MORE_ROOM`` bytes, and there is room for that at least; ``beyond`` counts
    lines that are left out already.
    """
    if size("\n".join(lines)) <= room and not beyond:
        return "\n".join(lines)
    kept, used = list[str](), MORE_ROOM
    for line in lines:
        used += size(line) + 1
        if used > room:
            break
        kept.append(line)
    return "\n".join([*kept, more(len(lines) - len(kept) + beyond)])


def tagged_code(text: str, longest: int = 250) -> str:
    """Return the text as code for places that are HTML, where backticks are none: the label of a fold."""
    line = one_line(text, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<code>{line}</code>"


def size(text: str) -> int:
    """Return the size that counts against the forge's limits: bytes are never fewer than characters."""
    return len(text.encode())
