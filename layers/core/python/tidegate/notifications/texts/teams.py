"""A message for a workflow of Microsoft Teams: an Adaptive Card.

What comes from people stands in ``RichTextBlock``s, in which nothing is markup.
https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.notifications.texts.words import Said, facts, headline, more_words, title

_CARD = "application/vnd.microsoft.card.adaptive"


def teams_message(said: Sequence[Said], more: int) -> bytes:
    """Return the body of the request. ``more`` counts notices without room."""
    notices = tuple(each.notice for each in said)
    body = [_text(title(notices, more), weight="Bolder")]
    for each in said:
        body += _lines(each, alone=len(said) == 1)
    if more:
        body.append(_text(more_words(more)))
    actions = [{"type": "Action.OpenUrl", "title": "Open", "url": each.url} for each in said[:1] if each.url]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": actions,
    }
    attachment = {"contentType": _CARD, "contentUrl": None, "content": card}
    return json.dumps({"type": "message", "attachments": [attachment]}).encode()


def _lines(said: Said, *, alone: bool) -> Iterator[dict[str, Any]]:
    if not alone:
        yield _text(headline(said.notice), weight="Bolder")
    for line in facts(said.notice):
        yield _text(line)
    if said.plan:
        yield _text(said.plan, fontType="Monospace")


def _text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}
