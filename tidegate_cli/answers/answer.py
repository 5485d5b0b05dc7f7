"""What all answers have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """An answer of the API, or a part of one."""

    model_config = ConfigDict(extra="ignore", frozen=True)
