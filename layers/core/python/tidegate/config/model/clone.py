"""The keys of ``tidegate.yaml`` on what runners clone."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from tidegate.config.section import Section
from tidegate.config.values import Flag, as_list, refused, shown
from tidegate.deploys.rules.workflow import CloneSettings

_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.-]{1,100}")
#: Each is in every job's record. GitHub limits a token to 500.
_MOST = 50


def _repository(text: str) -> str:
    """Refuse what is no name of a repository, and keep it as the forge writes it: without ``.git``."""
    if not _NAME.fullmatch(text):
        raise refused(
            f"{shown(text)} is no name of a repository",
            "Write the name alone, such as terraform-modules: only repositories of the same owner can be cloned",
        )
    return text.removesuffix(".git")


class CloneSection(Section):
    """What runners clone besides the repository itself. What the default branch says counts."""

    repositories: Annotated[
        tuple[Annotated[str, AfterValidator(_repository)], ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(
            max_length=_MOST,
            description="Other repositories of the same owner, by their names, that modules and submodules may come "
            "from although they are private.",
        ),
    ] = ()
    submodules: Annotated[
        Flag, Field(description="Whether submodules are cloned: those of the repository and of `repositories`.")
    ] = False
    lfs: Annotated[Flag, Field(description="Whether files in Git LFS are fetched.")] = False

    @property
    def settings(self) -> CloneSettings:
        return CloneSettings(tuple(dict.fromkeys(self.repositories)), self.submodules, self.lfs)
