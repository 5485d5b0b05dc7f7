"""Patterns of files as other tools write them, as patterns of Tidegate, which are those of .gitignore."""

from __future__ import annotations

import posixpath
import re


def from_root(pattern: str) -> str:
    """Return a pattern as in .dockerignore, relative to the root's directory: a name alone means one right there."""
    sign, rest = _signed(pattern)
    rest = posixpath.normpath(rest.strip().lstrip("/") or ".")
    if rest == ".":
        return f"{sign}**"
    if rest in {"..", "../"} or rest.endswith("/.."):
        return f"{sign}{rest}/**"
    return sign + _wide(rest)


def from_top(pattern: str) -> str:
    """Return a pattern that is relative to the repository's top."""
    sign, rest = _signed(pattern)
    rest = posixpath.normpath(rest.strip().lstrip("/") or ".")
    return f"{sign}/**" if rest == "." else f"{sign}/{_wide(rest)}"


def leads_out(directory: str, pattern: str) -> bool:
    """Tell whether a pattern from a root's directory is for files outside of the repository, where none are."""
    _, rest = _signed(pattern)
    return posixpath.normpath(posixpath.join(directory, rest.strip().lstrip("/"))).startswith("..")


def excludes_more(pattern: str) -> bool:
    """Tell whether an exception would be one for more files here: ``**`` stands behind other letters of a name."""
    sign, rest = _signed(pattern)
    return bool(sign) and any("**" in part[1:] and part != "**" for part in rest.split("/"))


def alternatives(pattern: str, most: int = 50) -> list[str] | None:
    """Return the patterns that one with alternatives stands for: ``*.{tf,hcl}`` are two. None for too many."""
    ahead, found = [pattern], list[str]()
    while ahead:
        if len(ahead) + len(found) > most:
            return None
        text = ahead.pop()
        start, end = _innermost(text)
        if end < 0:
            found.append(text)
        else:
            ahead.extend(text[:start] + each + text[end + 1 :] for each in text[start + 1 : end].split(","))
    return sorted(found)


def _innermost(text: str) -> tuple[int, int]:
    end = text.find("}")
    return text.rfind("{", 0, end) if end >= 0 else -1, end if text.rfind("{", 0, max(end, 0)) >= 0 else -1


def _signed(pattern: str) -> tuple[str, str]:
    pattern = pattern.strip()
    return ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)


def _wide(rest: str) -> str:
    """Write ``**`` as a segment of its own: next to other letters it means any directories there, too."""
    parts: list[str] = []
    for part in rest.split("/"):
        while_wide = re.sub(r"\*{3,}", "**", part)
        if "**" not in while_wide or while_wide == "**":
            parts.append(while_wide)
        else:
            parts += ["**", while_wide.replace("**", "*")]
    return "/".join(parts)
