"""The keys of ``tidegate.yaml`` for what runners clone."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from tidegate.config.section import Section
from tidegate.config.values import Flag, as_list, refused, shown
from tidegate.deploys.rules.workflow import CloneSettings

_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.-]{1,100}")
#: Each is stored in every job's record. GitHub limits a token to 500 repositories.
_MOST = 50


def _repository(text: str) -> str:
    """Refuse an invalid repository name, and return the name without ``.git``."""
    if not _NAME.fullmatch(text):
        raise refused(
            f"{shown(text)} is not a repository name",
            "Write only the name, such as terraform-modules: jobs can clone only repositories of the same owner",
        )
    return text.removesuffix(".git")


class CloneSection(Section):
    """What jobs clone besides the repository itself. Only the default branch's file counts."""

    repositories: Annotated[
        tuple[Annotated[str, AfterValidator(_repository)], ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(
            max_length=_MOST,
            description="Names of other private repositories of the same owner that modules and submodules may come "
            "from.",
        ),
    ] = ()
    submodules: Annotated[
        Flag, Field(description="Whether to clone submodules, of this repository and of `repositories`.")
    ] = False
    lfs: Annotated[Flag, Field(description="Whether to fetch Git LFS files.")] = False

    @property
    def settings(self) -> CloneSettings:
        return CloneSettings(tuple(dict.fromkeys(self.repositories)), self.submodules, self.lfs)
