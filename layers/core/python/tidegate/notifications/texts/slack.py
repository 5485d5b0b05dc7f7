"""A message for Slack's ``chat.postMessage``, with a link to the page where people decide.

What comes from people stands in ``plain_text`` objects, in which nothing is markup or a mention. The text beside the
blocks, which screen readers and previews use, is escaped as Slack says.
https://docs.slack.dev/messaging/formatting-message-text#escaping
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegate.notifications.texts.words import Said, facts, headline, more_words, title

#: Slack's limits of characters in a header and in a section.
_HEADER, _SECTION = 150, 3000
_OPEN = {"type": "button", "action_id": "open", "text": {"type": "plain_text", "text": "Open"}}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def slack_message(channel: str, said: Sequence[Said], more: int) -> bytes:
    """Return the body of the request. ``more`` counts notices without room."""
    notices = tuple(each.notice for each in said)
    heading = title(notices, more)
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(heading, _HEADER)}]
    for each in said:
        blocks += _blocks(each, alone=len(said) == 1)
    if more:
        blocks.append({"type": "context", "elements": [_plain(more_words(more), _SECTION)]})
    return json.dumps({"channel": channel, "text": _escaped(heading), "blocks": blocks, "unfurl_links": False}).encode()


def _blocks(said: Said, *, alone: bool) -> Iterator[dict[str, Any]]:
    lines = ([] if alone else [headline(said.notice)]) + facts(said.notice)
    if lines:
        yield {"type": "section", "text": _plain("\n".join(lines), _SECTION)}
    if said.plan:
        yield {
            "type": "rich_text",
            "elements": [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": said.plan}]}],
        }
    if said.url:
        yield {"type": "actions", "elements": [{**_OPEN, "url": said.url}]}


def _plain(text: str, longest: int) -> Mapping[str, Any]:
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return {"type": "plain_text", "text": shown, "emoji": False}


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(each, each) for each in text)
