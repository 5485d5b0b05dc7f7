"""Publish the check run of an entry's commit. An unchanged one costs no call."""

from __future__ import annotations

from contextlib import suppress

from tidegate.config_updates.texts.check_run import (
    EntryCheckRun,
    external_id,
    render_entry,
    render_replaced,
    render_taken_off,
)
from tidegate.ports import Ports
from tidegate.pull_requests.keep_check_run import is_check_run_open, show_check_run
from tidegate.rules.errors import NotFound


def publish_entry(ports: Ports, repository: str, entry: str, notice: str = "") -> None:
    """Show how far an entry is, on its commit. Without one there is nothing to show: pages and commands tell then.

    ``notice`` answers a button without effect. Raise ForgeUnavailable and ForgeRefused.
    """
    head = ports.config_updates.head(repository)
    with suppress(NotFound):
        one = ports.config_updates.entry(repository, entry)
        on_auto = next((each for each in head.stack if each.entry == entry), None)
        sha = on_auto.sha if on_auto else one.commit
        for old in on_auto.past if on_auto else ():
            if is_check_run_open(ports, external_id(entry, old)):
                show_check_run(ports, repository, render_replaced(one, old, sha))
        if sha and (on_auto or one.is_ended):
            url = f"{ports.web_url}/config-updates/{repository}" if ports.web_url else None
            show_check_run(ports, repository, render_entry(EntryCheckRun(one, head, on_auto, url, notice)))
        elif sha and is_check_run_open(ports, external_id(entry, sha)):
            show_check_run(ports, repository, render_taken_off(one, sha))
