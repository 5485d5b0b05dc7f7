"""Similar names for an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from heapq import nsmallest

from tidegate.rules.errors import quoted
from tidegate.texts.markdown import code

#: Characters of a word that are compared with what is known.
COMPARED = 200
#: Words that are compared with one, each for some 0.2 ms: those of about its length, as no others are near.
_MOST = 200


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar of ``known``, if one is similar enough, ignoring case."""
    tried = word[:COMPARED]
    words = nsmallest(_MOST, known, key=lambda each: abs(len(each) - len(tried)))
    near = (difflib.get_close_matches(each, words, n=1) for each in dict.fromkeys((tried, tried.lower())))
    return next((found[0] for found in near if found), None)


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return a sentence in Markdown with the most similar of ``known``, empty if none is similar."""
    near = nearest(word, known)
    return f"Did you mean {code(near)}?" if near else ""


def meant_tag(tag: str, known: Sequence[str]) -> str:
    """Return in Markdown a similar tag: with its prefix added, with the same prefix, or any."""
    kind, colon, _ = tag.rpartition(":")
    whole = [each for each in known if each.endswith(f":{tag}")]
    alike = [each for each in known if each.startswith(kind + colon)]
    return did_you_mean(whole[0] if whole else tag, whole or alike or known)


def unknown_roots(unknown: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a sentence for each unknown root, with a similar one."""
    names, told = sorted(known), []
    for name in unknown:
        near = nearest(name, names)
        told.append(f"There is no root {quoted(name)}." + (f" Did you mean {quoted(near)}?" if near else ""))
    return told
