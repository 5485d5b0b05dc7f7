"""Sending the log while the job runs outlives whatever a call may raise."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from runner.log import JobLog
from runner.log_store import LogSender
from runner.masking import Masker
from tests.runner.failing_aws import FAILURES, FailingAws, name_of


@pytest.mark.parametrize("error", FAILURES, ids=name_of)
def test_a_batch_that_fails_is_followed_by_the_next(error: Exception, tmp_path: Path) -> None:
    aws, log = FailingAws(error), JobLog(tmp_path / "log", Masker(), io.StringIO())
    sender = LogSender(aws, "table", "job", log)
    sender.start()
    log.write(b"first\n" * 100)
    assert aws.answered.wait(5)  # It says of itself that lines are missing, in a line that is sent.
    sender.finish()
    log.close()
    assert log.path.read_text().count("did not reach the log store") == 1
