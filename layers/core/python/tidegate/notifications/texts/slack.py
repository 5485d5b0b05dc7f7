"""Messages for Slack: notifications with a link and buttons (``chat.postMessage``), and replies to clicks on these.

What comes from people stands in ``plain_text`` objects, in which nothing is markup or a mention. The text beside the
blocks, which screen readers and previews use, is escaped as Slack says.
https://docs.slack.dev/messaging/formatting-message-text#escaping
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.review import Answer
from tidegate.notifications.rules.slack_interaction import REASON, button_value
from tidegate.notifications.texts.words import Said, facts, headline, more_words, title
from tidegate.rules.shortened import shortened

#: Slack's limits of characters in a header and in a section.
_HEADER, _SECTION = 150, 3000
_OPEN = {"type": "button", "action_id": "open", "text": {"type": "plain_text", "text": "Open"}}
_DECISIONS = ((Answer.APPROVE, "Approve", "primary"), (Answer.REJECT, "Reject", "danger"))
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
    if said.decidable and alone:
        yield _reason(said)
    if said.url:
        buttons = _decisions(said) if said.decidable else []
        yield {"type": "actions", "elements": [*buttons, {**_OPEN, "url": said.url}]}


def _reason(said: Said) -> dict[str, Any]:
    """Return a field for a reason. Digests have none: Slack allows 50 blocks."""
    field = {"type": "plain_text_input", "action_id": REASON, "max_length": MAXIMUM_REASON}
    value = button_value(said.notice.deployment, said.notice.review)
    return {"type": "input", "block_id": value, "optional": True, "label": _plain("Reason", _HEADER), "element": field}


def _decisions(said: Said) -> list[Mapping[str, Any]]:
    value = button_value(said.notice.deployment, said.notice.review)
    return [
        {"type": "button", "action_id": answer.value, "text": _plain(word, _HEADER), "style": style, "value": value}
        for answer, word, style in _DECISIONS
    ]


def reply(text: str) -> bytes:
    """Return a reply that only the person who clicked a button sees."""
    return json.dumps(_ephemeral(_escaped(text))).encode()


def link_reply(url: str, code: str) -> bytes:
    """Return the reply to a person whose account is not known: the URL at which they link it, and the code for it."""
    text = (
        f"Tidegate does not know your account yet. <{url}|Link it> with the code *{code}*, then click again. "
        "Only you see this code. Do not pass it on."
    )
    return json.dumps(_ephemeral(text)).encode()


def decided_message(blocks: Sequence[Mapping[str, Any]], text: str) -> bytes:
    """Return a reply that replaces the message by these blocks, and by what was decided."""
    said = {"type": "context", "elements": [_plain(text, _SECTION)]}
    return json.dumps({"replace_original": True, "text": _escaped(text), "blocks": [*blocks, said]}).encode()


def _ephemeral(text: str) -> Mapping[str, Any]:
    return {"response_type": "ephemeral", "replace_original": False, "text": text}


def _plain(text: str, longest: int) -> Mapping[str, Any]:
    return {"type": "plain_text", "text": shortened(text, longest), "emoji": False}


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(each, each) for each in text)
