"""Start options of a local cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tidegate_local.latency import Model, chosen

ACCOUNT = "123456789012"
PREFIX = "tidegate"
_TOP = Path(__file__).resolve().parent.parent
#: The wheel carries what is deployed here (tidegate_cdk/packaging.py).
_INSTALLED = _TOP / "tidegate_cdk" / "sources"
PROJECT = _INSTALLED if _INSTALLED.is_dir() else _TOP


class Options(BaseModel):
    """Options of a local cloud. Port 0 takes any free one.

    ``limits`` replaces fields of states (machine → state → fields), ``context`` is added to the CDK
    context, ``warm`` starts an instance of each function at once, ``clock`` runs the schedules,
    ``runner`` is the entry point of the runner's image. ``forge`` starts a forge: a GitHub, or a GitLab with
    ``gitlab``. With ``installs`` false the account and the forge are there, and nothing is deployed until somebody
    asks for it. ``prefix`` is the installation's; for each prefix of ``beside`` another one comes up beside it in
    the same account, with a forge and an HTTP API of its own on any free ports.

    ``latency`` is ``aws`` for waits as long as AWS takes, by a model (``TIDEGATE_LATENCY``), each multiplied by
    ``latency_scale``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prefix: str = PREFIX
    beside: tuple[str, ...] = ()
    forge_port: int = 0
    api_port: int = 0
    aws_port: int = 0
    region: str = "us-east-1"
    project: Path = PROJECT
    data: Path | None = None
    limits: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)
    context: dict[str, Any] = Field(default_factory=dict)
    assembly: Path | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    warm: bool = False
    clock: bool = True
    runner: tuple[str, ...] = ("python", "-m", "runner")
    forge: bool = True
    installs: bool = True
    gitlab: bool = False
    latency: Model = Field(default_factory=chosen)
    latency_scale: float = Field(default=1.0, ge=0)
