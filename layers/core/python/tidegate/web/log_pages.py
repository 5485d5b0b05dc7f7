"""A job's log: a page that follows it, its lines for the page's script, and a download."""

from __future__ import annotations

import gzip
import json
import re
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.deploys.read_log import LogPage, ReplayRun, Subject, read_log, read_whole_log
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import NO_ROOT
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.ports import Ports
from tidegate.web.answer_size import LONGEST_ANSWER, fits, fitting
from tidegate.web.log_lines import shown
from tidegate.web.refusals import InvalidRequest, LogNeedsCompression, LogTooLarge
from tidegate.web.rendering import Rendering
from tidegate.web.shapes import Shapes

_LONGEST_COMPRESSED = LONGEST_ANSWER * 3 // 4
_LAST_LINE = 10**9
_TEXT = "text/plain; charset=utf-8"
_NUMBER = re.compile(r"[0-9]{1,10}")


class LogPages:
    """Adds the routes of logs to a resolver."""

    def __init__(self, ports: Ports, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._shapes, self._rendering = ports, shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/jobs/<id>", **hidden)(lambda **path: self._page(app, path["id"]))
        app.get("/jobs/<id>/lines", **hidden)(lambda **path: self._lines(app, path["id"]))
        app.get("/jobs/<id>/raw", **hidden)(lambda **path: self._raw(app, path["id"]))

    def _page(self, app: APIGatewayHttpResolver, job: str) -> Response[str]:
        subject, after = _subject(app), _after(app)

        def shows(page: LogPage) -> Response[str]:
            return self._rendering.show(
                app,
                "log.html",
                one=subject,
                name=NO_ROOT.name if isinstance(subject, ReplayRun) else subject.root.name,
                sha=subject.revision.sha if isinstance(subject, Deployment) else subject.sha,
                of_pull_request=isinstance(subject, SpeculativePlan),
                of_updates=isinstance(subject, ReplayRun),
                job=self._shapes.job_link(job),
                page=page,
                lines=[(after + number, shown(line)) for number, line in enumerate(page.lines, 1)],
            )

        return fitting(read_log(self._ports, subject, job, after), shows, lambda response: response.body or "")

    def _lines(self, app: APIGatewayHttpResolver, job: str) -> Response[str]:
        page = read_log(self._ports, _subject(app), job, _after(app))
        return Response(HTTPStatus.OK, "application/json", fitting(page, _styled, str))

    def _raw(self, app: APIGatewayHttpResolver, job: str) -> Response[Any]:
        log = read_whole_log(self._ports, _subject(app), job)
        if not log.is_whole:
            raise LogTooLarge(job)
        headers: dict[str, str | list[str]] = {"Content-Disposition": f'attachment; filename="{job}.txt"'}
        text = log.content.decode("utf-8", "replace") if len(log.content) <= LONGEST_ANSWER else None
        if text is not None and fits(text):
            return Response(HTTPStatus.OK, _TEXT, text, headers)
        content = gzip.compress(log.content, 6)
        if len(content) > _LONGEST_COMPRESSED:
            raise LogTooLarge(job)
        if "gzip" not in app.current_event.headers.get("accept-encoding", ""):
            raise LogNeedsCompression(job)
        headers["Content-Encoding"] = "gzip"
        return Response(HTTPStatus.OK, _TEXT, content, headers)


def _styled(page: LogPage) -> str:
    """Return a page's lines as the script draws them: pieces of text, each with its style."""
    lines = [
        [[piece.text, piece.style] if piece.style else [piece.text] for piece in shown(line)] for line in page.lines
    ]
    told = {"state": page.state, "start": page.start, "lines": lines, "next": page.next, "ended": page.ended}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _after(app: APIGatewayHttpResolver) -> int:
    text = app.context["fields"].get("after", "0")
    if not _NUMBER.fullmatch(text) or int(text) > _LAST_LINE:
        raise InvalidRequest("'after' must be a line number, from 0.")
    return int(text)


def _subject(app: APIGatewayHttpResolver) -> Subject:
    subject: Subject = app.context["access"].job_subject
    return subject
