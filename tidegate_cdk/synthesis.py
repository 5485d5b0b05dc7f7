"""Write the template.

The CDK command line passes the context of cdk.json itself. Run alone, this reads cdk.json, lets CDK_CONTEXT_JSON
override single keys and CDK_OUTDIR the directory, and skips building the layer of third-party packages, which does not
change the template.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import aws_cdk

from tidegate_cdk.props import TidegateProps
from tidegate_cdk.settings import read_settings
from tidegate_cdk.sources import ROOT
from tidegate_cdk.stack import TidegateStack

#: The form of Tidegate's own keys.
_OWN_KEY = re.compile(r"[a-z_]+")


class UnknownContext(ValueError):  # Named for what it tells.
    """An unknown context key that looks like Tidegate's: it would silently not limit, allow or size anything."""

    def __init__(self, key: str, known: Iterable[str]) -> None:
        near = get_close_matches(key, known, 1)
        do = f"Did you mean {near[0]}?" if near else "tidegate_cdk/README.md lists all keys."
        super().__init__(f"Unknown context key {key}. {do} Correct it in cdk.json or in -c {key}=…")


#: Makes a plugin that checks the template of an app.
Plugin = Callable[[aws_cdk.App], Any]


def file_context() -> dict[str, object]:
    """Return the context of cdk.json, and that no layer is to be built."""
    context: dict[str, object] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return {**context, "aws:cdk:bundling-stacks": []}


def synthesize(outdir: Path | None = None, plugins: Iterable[Plugin] = ()) -> Path:
    """Synthesize the stack and return the template's path. ``plugins`` check it.

    Raise InvalidContext, UnknownContext.
    """
    by_command_line = "CDK_CLI_ASM_VERSION" in os.environ
    directory = str(outdir or os.environ.get("CDK_OUTDIR") or ROOT / "cdk.out")
    context = None if by_command_line else file_context()
    app = aws_cdk.App(analytics_reporting=False, context=context, outdir=directory)
    for plugin in plugins:
        aws_cdk.Validations.of(app).add_plugins(plugin(app))
    refuse_unknown_keys(app.node.get_all_context())
    props = TidegateProps.from_context(app.node)
    stack = TidegateStack(app, read_settings(props).stack, props)
    return Path(app.synth().directory) / stack.template_file


def refuse_unknown_keys(context: Mapping[str, object]) -> None:
    """Raise UnknownContext for an unknown key of our form. The CDK's own keys have other characters."""
    known = [field.name for field in fields(TidegateProps)]
    for key in context:
        if _OWN_KEY.fullmatch(key) and key not in known:
            raise UnknownContext(key, known)
