"""The root of the command tree: turns problems into a message and an exit code, never into a traceback."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tidegate_cli.exits import Exit
from tidegate_cli.harmless import dumps, plain
from tidegate_cli.options import JSON_ASKED
from tidegate_cli.problems import Problem

_DEBUG = "TIDEGATE_DEBUG"
#: What stands in a comment of a pull request, and nowhere else.
_COMMENTS = frozenset({"plan", "apply"})
#: Words of other tools, and what does the same here.
_ELSEWHERE = {
    "accept": "approve",
    "browse": "open",
    "discard": "reject",
    "force-unlock": "unlock",
    "help": "--help",
    "history": "runs",
    "list": "runs",
    "log": "logs",
    "ls": "status",
    "pr": "pulls",
    "prs": "pulls",
    "ps": "status",
    "view": "show",
}
#: Options that many commands have, and the command line itself has not.
_OF_COMMANDS = frozenset({"--as", "--json", "--url"})


class _Flags:
    """Shows flags without a type: there is nothing to be written after them."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, for help and for reading the command line."""
        params = super().get_params(ctx)  # type: ignore[misc]  # It stands before one that has it.
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params


class Command(_Flags, TyperCommand):
    """One command."""


class Group(_Flags, TyperGroup):
    """A group of commands below the root."""


class Commands(Group):
    """A group whose commands may raise problems."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the command line; of an option of commands that stands before them say where it belongs."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # Typer keeps the class of unknown options to itself. All are raised again.
            if getattr(error, "option_name", None) in _OF_COMMANDS:
                error.message = f"{error.option_name} is an option of commands: write it after the command's name."  # type: ignore[attr-defined]  # It has what has an option_name.
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; of a word that stands elsewhere, say where."""
        name = args[0] if args else ""
        if name not in self.commands and (place := self._place(name)):
            ctx.fail(place)
        return super().resolve_command(ctx, args)

    def _place(self, name: str) -> str:
        """Return where a word that is no command belongs; empty if it is not known."""
        if name in _COMMENTS:
            deploys = " To deploy without a pull request: `tidegate deploy REPOSITORY ROOT`." if name == "apply" else ""
            return f"`{name}` is a comment: write `tidegate {name}` on the pull request.{deploys}"
        if name in _ELSEWHERE:
            return f"There is no command `{name}`. Use `tidegate {_ELSEWHERE[name]}`."
        groups = [group for group, its in self.commands.items() if name in getattr(its, "commands", {})]
        places = " or ".join(f"`tidegate {group} {name}`" for group in groups)
        return f"`{name}` is a command of a group. Use {places}." if places else ""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command. A problem ends it with a message on stderr and the problem's exit code."""
        _print_anywhere()
        try:
            return super().invoke(ctx)
        except Problem as problem:
            _tell(problem, as_json=bool(ctx.meta.get(JSON_ASKED)))
            raise typer.Exit(int(problem.exit)) from None
        except Exception as error:
            if isinstance(error, (typer.Exit, typer.Abort, BrokenPipeError)) or os.environ.get(_DEBUG):
                raise
            if hasattr(error, "exit_code"):  # An error in the usage, which typer shows itself.
                raise
            # Its kind alone: its text or trace may hold what was sent.
            typer.echo(f"tidegate failed: internal error ({type(error).__name__}).", err=True)
            typer.echo(f"  → Set {_DEBUG}=1 to see the traceback. Please report it.", err=True)
            raise typer.Exit(int(Exit.FAILED)) from None


def _print_anywhere() -> None:
    """Let a terminal that knows few letters show ``?`` for the others, instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _tell(problem: Problem, *, as_json: bool) -> None:
    message = plain(problem.message)
    if as_json:
        error = {"code": problem.code, "message": message, "hint": problem.hint, "exit": int(problem.exit)}
        typer.echo(dumps({"error": error}))
        return
    from tidegate_cli import screen

    screen.console(stderr=True).print(screen.text(message, "red"), soft_wrap=True)
    for line in filter(None, problem.hint.split("\n")):
        typer.echo(f"  → {plain(line)}", err=True)
