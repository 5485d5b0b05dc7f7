"""Render a comment of Tidegate on the terminal, as a browser shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

from rich.markdown import Markdown
from rich.panel import Panel
from rich.text import Text

_HIDDEN = re.compile(r"^<!--.*?-->\n?", re.MULTILINE)
_FOLD = re.compile(r"<details(?: open)?><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
_ALERT = re.compile(r"^> \[!(\w+)\]$", re.MULTILINE)
_TAG = re.compile(r"<[^>]+>")


def comment_panel(comment: Mapping[str, Any], *, edited: bool = False) -> Panel:
    """Return a comment of the forge's API in a frame with who wrote it. What is folded in an edited one stays so."""
    markdown = Markdown(readable(comment["body"], unfolded=not edited), code_theme="ansi_dark")
    title = Text(f"{comment['user']['login']} {'updated its comment' if edited else 'commented'}")
    return Panel(markdown, title=title, title_align="left", padding=(1, 2), border_style="cyan")


def readable(body: str, *, unfolded: bool) -> str:
    """Return Markdown without HTML: what is folded stands under its label, or is left out; alerts are bold words."""

    def opened(fold: re.Match[str]) -> str:
        return f"**▾** {_label(fold.group(1))}{fold.group(2)}" if unfolded else f"**▸** {_label(fold.group(1))}"

    text = _FOLD.sub(opened, _HIDDEN.sub("", body))
    return _ALERT.sub(lambda alert: f"> **{alert.group(1)}**  ", text)


def _label(html: str) -> str:
    return unescape(_TAG.sub("", html.replace("<code>", "**").replace("</code>", "**")))
