"""Send the job's log to the log store while the job runs."""

from __future__ import annotations

import threading
import time
from typing import IO

from runner.log import JobLog
from tidegate.aws.client import Aws, AwsError
from tidegate.deploys.adapters.job_items import LOG_SECONDS, job_key, log_sort_key
from tidegate.deploys.rules.job import LONGEST_LOG

#: A batch is sent when it has this many lines, or this long after its first line.
BATCH_LINES = 64
BATCH_SECONDS = 0.3
#: DynamoDB's limit for an item is 400 KB.
BATCH_BYTES = 200_000
#: How long the end of a job waits for the log store. The complete log goes to S3 in any case.
DRAIN_SECONDS = 5.0


class LogSender:
    """Follows the log's file, so that a slow log store costs no memory, and stores new lines."""

    def __init__(self, aws: Aws, table: str, job: str, log: JobLog) -> None:
        self._aws, self._table, self._job, self._log = aws, table, job, log
        self._sent_lines = 0
        self._sent_size = 0
        self._closing = False
        self._complained = False
        self._thread = threading.Thread(target=self._follow, name="log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Send what is left, within DRAIN_SECONDS."""
        with self._log.grown:
            self._closing = True
            self._log.grown.notify_all()
        self._thread.join(DRAIN_SECONDS)

    def _follow(self) -> None:
        with self._log.path.open("rb") as file:
            while self._wait_for_batch():
                self._send(file)

    def _wait_for_batch(self) -> bool:
        """Wait for lines. Return False when the log has ended and is sent completely."""
        log = self._log
        with log.grown:
            log.grown.wait_for(lambda: self._closing or log.lines > self._sent_lines)
            until = time.monotonic() + BATCH_SECONDS
            while not self._closing and log.lines - self._sent_lines < BATCH_LINES:
                left = until - time.monotonic()
                if left <= 0 or log.size - self._sent_size >= BATCH_BYTES:
                    break
                log.grown.wait(left)
            return log.lines > self._sent_lines

    def _batch(self, file: IO[bytes]) -> list[str]:
        file.seek(self._sent_size)
        lines: list[str] = []
        size = 0
        with self._log.grown:
            available = self._log.size - self._sent_size
        while size < min(available, BATCH_BYTES):
            line = file.readline()
            size += len(line)
            lines.append(line.decode("utf-8", "replace").removesuffix("\n"))
        self._sent_size += size
        return lines

    def _send(self, file: IO[bytes]) -> None:
        position, size, lines = self._sent_lines, self._sent_size, self._batch(file)
        self._sent_lines += len(lines)
        if size > LONGEST_LOG:
            return
        item = {
            "pk": {"S": job_key(self._job)},
            "sk": {"S": log_sort_key(position)},
            "lines": {"L": [{"S": line} for line in lines]},
            "expires_at": {"N": str(int(time.time()) + LOG_SECONDS)},
        }
        try:
            self._aws.call("dynamodb", "PutItem", {"TableName": self._table, "Item": item})
        except Exception as error:  # noqa: BLE001  # The log in S3 will be complete: what is missing is not worth the job.
            self._complain(error.code if isinstance(error, AwsError) else type(error).__name__)

    def _complain(self, problem: str) -> None:
        if not self._complained:
            self._complained = True
            self._log.say(f"some lines did not reach the log store ({problem}); the log in S3 will contain them")
