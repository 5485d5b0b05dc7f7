"""Check runs as the domain renders them."""

from __future__ import annotations

from tests.builders import deployment_in
from tests.instants import utc
from tidegate.deploys.texts.presentation import QueuePosition, View
from tidegate.deploys.texts.text import render


def shown(state, view=None, **fields):
    return render(deployment_in(state, **fields), view or View())


def everything(check_run):
    return f"{check_run.title}\n{check_run.summary}\n{check_run.text}"


def in_line(number, **fields):
    return View(place=QueuePosition(number, utc("2026-03-02T08:30"), **fields))
