"""Writes the template.

The CDK command line hands over the context of cdk.json itself. Run alone, this reads cdk.json, lets
CDK_CONTEXT_JSON override single keys and CDK_OUTDIR the directory, and leaves out building the layer of
third-party packages, which does not change the template.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import aws_cdk

from cdk.props import TidegateProps
from cdk.settings import read_settings
from cdk.sources import ROOT
from cdk.stack import TidegateStack

#: Makes a plugin that checks the template of an app.
Plugin = Callable[[aws_cdk.App], Any]


def file_context() -> dict[str, object]:
    """Return the context of cdk.json, and that no layer is to be built."""
    context: dict[str, object] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return {**context, "aws:cdk:bundling-stacks": []}


def synthesize(outdir: Path | None = None, plugins: Iterable[Plugin] = ()) -> Path:
    """Synthesize the stack and return the template's path. ``plugins`` check it. Raise InvalidContext."""
    by_command_line = "CDK_CLI_ASM_VERSION" in os.environ
    directory = str(outdir or os.environ.get("CDK_OUTDIR") or ROOT / "cdk.out")
    context = None if by_command_line else file_context()
    app = aws_cdk.App(analytics_reporting=False, context=context, outdir=directory)
    for plugin in plugins:
        aws_cdk.Validations.of(app).add_plugins(plugin(app))
    props = TidegateProps.from_context(app.node)
    stack = TidegateStack(app, read_settings(props).stack, props)
    return Path(app.synth().directory) / stack.template_file
