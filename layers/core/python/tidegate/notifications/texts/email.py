"""A message as plain text for e-mail."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.notifications.texts.words import Said, facts, headline, more_words


def email_message(said: Sequence[Said], more: int) -> bytes:
    """Return the text. ``more`` counts notices without room."""
    parts = [_part(each) for each in said]
    return "\n\n".join([*parts, *([more_words(more)] if more else [])]).encode()


def _part(said: Said) -> str:
    lines = [headline(said.notice), *facts(said.notice), said.url]
    return "\n".join([*filter(None, lines), *(["", said.plan] if said.plan else [])])
