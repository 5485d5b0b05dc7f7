"""``tidegate``: the command that operators use."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="tidegate",
    help="Serverless GitOps for Terraform and OpenTofu on AWS.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


if __name__ == "__main__":
    app()
