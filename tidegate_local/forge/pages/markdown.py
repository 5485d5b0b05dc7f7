"""GitHub-flavoured Markdown as safe HTML."""

from __future__ import annotations

import re

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markupsafe import Markup, escape

#: All that nh3 allows but what loads something.
_TAGS = nh3.ALLOWED_TAGS - {"area", "img", "map"}
_ATTRIBUTES = {"a": {"href", "title"}, "details": {"open"}, "td": {"align"}, "th": {"align"}, "ol": {"start"}}
_ALERTS = {"note", "tip", "important", "warning", "caution"}
_CLASSES = {"blockquote": {"alert", *_ALERTS}, "span": {"added", "removed", "changed", "hunk"}, "code": {"diff"}}
_DIFF_MARKS = {"+": "added", "-": "removed", "!": "changed", "@": "hunk"}


def render(text: str) -> Markup:
    """Return ``text`` as HTML without anything that runs, loads or submits."""
    html = nh3.clean(
        _PARSER.render(text),
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        allowed_classes={tag: set(names) for tag, names in _CLASSES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(html)  # noqa: S704 - nh3 has just cleaned it


def _fence(content: str, language: str, _attributes: str) -> str:
    if language != "diff":
        return ""
    lines = content.removesuffix("\n").split("\n")
    return f'<pre><code class="diff">{"".join(map(_diff_line, lines))}</code></pre>'


def _diff_line(line: str) -> str:
    kind = _DIFF_MARKS.get(line[:1])
    text = f"{escape(line)}\n"
    return f'<span class="{kind}">{text}</span>' if kind else text


def _mark_alerts(state: StateCore) -> None:
    """Mark quotations that begin with a line such as ``[!WARNING]``, as GitHub does."""
    for place, token in enumerate(state.tokens[:-2]):
        inline = state.tokens[place + 2]
        kind = re.match(r"\[!(\w+)\](?:\n|$)", inline.content)
        if token.type == "blockquote_open" and kind and kind[1].lower() in _ALERTS:
            token.attrSet("class", f"alert {kind[1].lower()}")
            inline.content = inline.content[kind.end() :]


_PARSER = MarkdownIt("gfm-like", {"html": True, "linkify": True, "highlight": _fence})
_PARSER.core.ruler.before("inline", "alerts", _mark_alerts)
