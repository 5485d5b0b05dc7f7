"""GitHub-flavoured Markdown as safe HTML."""

from __future__ import annotations

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

_TAGS = frozenset(
    {
        "a",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
    }
    | {"hr", "ins", "kbd", "li", "ol", "p", "pre", "q", "s", "samp", "span", "strong", "sub", "summary", "sup", "table"}
    | {"tbody", "td", "th", "thead", "tr", "ul"}
)
_ATTRIBUTES = {"a": {"href", "title"}, "details": {"open"}, "td": {"align"}, "th": {"align"}, "ol": {"start"}}
_CLASSES = {"span": {"added", "removed", "changed", "hunk"}, "code": {"diff"}}
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


_PARSER = MarkdownIt("gfm-like", {"html": True, "linkify": True, "highlight": _fence})
