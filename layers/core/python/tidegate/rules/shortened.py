"""Texts that have a limit."""

from __future__ import annotations


def shortened(text: str, longest: int) -> str:
    """Return a text of at most ``longest`` characters; an ellipsis tells that it was longer.

    Halves of characters, which nobody can store, become ``?``.
    """
    text = text.encode(errors="replace").decode()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
