"""``tidegate``: the command that operators use."""

from __future__ import annotations

import typer

from cli import local, secret
from cli.doctor import doctor

app = typer.Typer(
    name="tidegate",
    help="Serverless GitOps for Terraform and OpenTofu on AWS.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(local.app, name="local")
app.add_typer(secret.app, name="secret")
app.command("doctor")(doctor)


if __name__ == "__main__":
    app()
