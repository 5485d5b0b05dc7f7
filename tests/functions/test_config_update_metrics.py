"""What operators of config repositories have to know of is counted."""

from __future__ import annotations

import json

import pytest

from tests.builders import NOW
from tests.functions.wires import call
from tidegate.messages.config_updates import UpdateClaimed

ASKED = {"repository": "acme/config", "execution": "worker-1", "rounds": 0, "started": NOW}


@pytest.fixture
def counted(wires, monkeypatch, capsys):
    """Claim, with this as the answer, and return the metrics by name."""

    def counted(**claimed):
        answer = UpdateClaimed(version=1, **claimed)
        monkeypatch.setattr("tidegate.config_updates.queue.claim_update.claim_update", lambda *_: answer)
        assert call("claim_update", ASKED)["step"] == claimed["step"]
        lines = [json.loads(each) for each in capsys.readouterr().out.splitlines() if "_aws" in each]
        assert all(line["repository"] == "acme/config" for line in lines)
        return {each["Name"]: line[each["Name"]] for line in lines for each in _metrics(line)}

    return counted


def _metrics(line):
    (described,) = line["_aws"]["CloudWatchMetrics"]
    assert described["Namespace"] == "Tidegate"
    return described["Metrics"]


def test_case_35_a_starving_queue_is_counted(counted):
    assert counted(step="align", reason="It moved.", outrun=4) == {"ConfigUpdateStarvation": [4.0]}


def test_case_42_a_blocked_queue_is_counted(counted):
    assert counted(step="wait", reason="Bad credentials", blocked=True) == {"ConfigUpdatesBlocked": [1.0]}


def test_a_queue_that_goes_on_counts_nothing(counted):
    assert counted(step="wait", reason="No entry has passed.") == {}
