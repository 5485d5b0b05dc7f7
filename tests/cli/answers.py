"""Answers of the API with all their fields, from the few that a test is about."""

from __future__ import annotations

import re
import types
import typing
from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tidegate.web import (
    change_models,
    cluster_models,
    drift_models,
    insight_models,
    models,
    notification_models,
    pull_request_models,
    update_models,
)

#: What each route answers, by the beginning of ``METHOD /path`` below ``/api/v1``.
_MODELS: dict[str, type[BaseModel]] = {
    r"GET /me": models.Me,
    r"GET /repositories": models.Repositories,
    r"GET /repositories/.+/roots": models.Roots,
    r"GET /queue": models.QueueModel,
    r"POST /(queue/lock|locks)": models.Locked,
    r"POST /(queue/unlock|locks/remove)": models.Unlocked,
    r"GET /deployments": models.DeploymentsPage,
    r"GET /deployments/[^/]+": models.DeploymentDetails,
    r"POST /deployments/[^/]+/(review|gate|cancel)": models.Decided,
    r"POST /deployments(/[^/]+/rerun)?": models.Accepted,
    r"GET /requests/[^/]+": models.RequestOutcome,
    r"GET /jobs/[^/]+": models.JobModel,
    r"GET /jobs/[^/]+/log": models.LogLines,
    r"GET /changes/[^/]+": change_models.ChangeModel,
    r"POST /changes/[^/]+/(stop|continue)": change_models.ChangeModel,
    r"GET /pulls": pull_request_models.PullRequestsList,
    r"GET /pulls/.+": pull_request_models.PullRequestDetails,
    r"GET /drift": drift_models.DriftList,
    r"POST /drift/look": drift_models.Looking,
    r"GET /insights": insight_models.InsightsModel,
    r"GET /notifications": notification_models.NotificationList,
    r"GET /clusters/[^/]+/[^/]+": cluster_models.ClusterList,
    r"GET /clusters/[^/]+/[^/]+/[^/]+": cluster_models.ClusterDetails,
    r"POST /clusters/.+": cluster_models.ClusterDone,
    r"GET /config-updates/.+/queue": update_models.UpdatesQueueModel,
    r"GET /config-updates/.+/sets": update_models.ImageSetsModel,
    r"GET /config-updates/.+/entries/[^/]+": update_models.UpdateEntryModel,
    r"PUT /config-updates/.+": update_models.AnnouncedModel,
    r"POST /config-updates/.+/token": update_models.TargetToken,
    r"POST /config-updates/.+(?<!token)": update_models.UpdateDone,
}


def completed(route: str, document: Any) -> Any:
    """Return the document that a route answers with its missing fields; fail for a field that the API does not give."""
    found = [model for pattern, model in _MODELS.items() if re.fullmatch(pattern, route.replace("/api/v1", ""))]
    return _filled(found[0], document) if found and isinstance(document, dict) else document


def _filled(model: type[BaseModel], given: dict[str, Any]) -> dict[str, Any]:
    unknown = given.keys() - model.model_fields.keys() - {"surprise"}
    assert not unknown, f"{model.__name__} has no {unknown}"
    hints = typing.get_type_hints(model)
    values = {
        name: _value(hints[name], given[name]) if name in given else _default(name, hints[name], field.default)
        for name, field in model.model_fields.items()
        if name != "reference" or name in given
    }
    if "number" in given:
        values.setdefault("reference", f"#{given['number']}")
    return given | values


def _default(name: str, kind: Any, default: Any) -> Any:
    if default is not PydanticUndefined:
        return default
    known = {"stack": "default", "layer": 1, "layers": 1, "tier": 1, "approvals": 1, "approvable": True}
    if name in known and kind in (str, int, bool):
        return known[name]
    if types.NoneType in typing.get_args(kind):
        return None
    if typing.get_origin(kind) is list:
        return []
    if issubclass(kind, BaseModel):
        return _filled(kind, {})
    return "" if issubclass(kind, (str, Enum, datetime)) else kind()


def _value(kind: Any, given: Any) -> Any:
    inner = [each for each in (kind, *typing.get_args(kind)) if isinstance(each, type) and issubclass(each, BaseModel)]
    if not inner or given is None:
        return given
    return [_filled(inner[0], each) for each in given] if isinstance(given, list) else _filled(inner[0], given)
