"""The template, synthesized once and kept until an input changes."""

from tests.cdk.conftest import template, template_file

__all__ = ["template", "template_file"]
