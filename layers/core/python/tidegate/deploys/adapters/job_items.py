"""The format of job items in the table, for functions (boto3) and the runner (without boto3).

The item ``job#ID`` / ``record`` holds the specification as JSON in ``specification``, the task token in ``token``, the
forge's token in ``clone_token``, the tokens of its identity in ``identity``, ``taken_by``, ``closed`` and
``expires_at``, and in ``met_limit`` the name of the Lambda limit that it exceeded; ``runner_stopped`` says that the
task which took it has stopped. Log chunks are items ``log#<position>`` beside it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from tidegate.aws.records import unpack
from tidegate.deploys.rules.job import Job

RECORD = "record"
LIMIT = "met_limit"
STOPPED = "runner_stopped"
#: Log lines of running jobs expire after a day; the complete log is in S3 by then.
LOG_SECONDS = 24 * 3600
#: Jobs expire after 90 days, as executions of Step Functions do; their results stay with the deployment.
JOB_SECONDS = 90 * 24 * 3600


def job_key(job: str) -> str:
    """Return the partition key of a job's items."""
    return f"job#{job}"


def log_sort_key(position: int) -> str:
    """Return the sort key of the log chunk whose first line has this number."""
    return f"log#{position:010d}"


def to_specification(job: Job) -> str:
    """Return the job as JSON."""
    return json.dumps(asdict(job), separators=(",", ":"), sort_keys=True)


def from_specification(text: str) -> Job:
    """Return the job that ``to_specification`` wrote, here or in an older version: missing fields get their default."""
    return unpack(Job, json.loads(text, object_hook=_without_none))


def specification_digest(text: str) -> str:
    """Return ``job_digest`` of the job whose specification this is, also when another version wrote it."""
    return hashlib.sha256(json.dumps(json.loads(text), sort_keys=True).encode()).hexdigest()


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
