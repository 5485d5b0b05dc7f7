"""Read a configuration file for commands: its content, or a problem that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tidegate_cli.problems import NotFound, Refused

if TYPE_CHECKING:
    from tidegate.config.loaded import LoadedConfiguration

FILE = "tidegate.yaml"


def content_of(file: Path, command: str) -> bytes:
    """Return what a file holds. ``command`` is what to type with another file. Raise NotFound, Refused."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.", f"Name the file: {command}") from None
    except OSError as error:
        raise Refused(
            f"{file} cannot be read: {error.strerror}.", "Check that it is a file and that you may read it."
        ) from None


def loaded_from(file: Path, repository: str, command: str) -> LoadedConfiguration:
    """Return what a file says. Raise NotFound, Refused, also for a file with mistakes."""
    from tidegate.config.loader import load_configuration
    from tidegate.rules.errors import InvalidConfiguration

    try:
        return load_configuration(content_of(file, command), repository, file=str(file))
    except InvalidConfiguration as error:
        raise Refused(str(error), f"All mistakes: tidegate validate {file}") from None


def loaded_of_checkout(file: Path | None, top: Path, repository: str, command: str) -> tuple[LoadedConfiguration, str]:
    """Return what holds in a checkout, and the file that says so: empty where there is none and none was named."""
    from tidegate.config.loaded import without_file

    if file is None and not (top / FILE).exists():
        return without_file(), ""
    named = file or top / FILE
    shown = FILE if file is None else str(file)
    return loaded_from(named, repository, command), shown
