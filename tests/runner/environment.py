"""What the runner's environment says at least."""

from __future__ import annotations

SETTINGS = {
    "TIDEGATE_JOB": "job",
    "TIDEGATE_JOB_DIGEST": "digest",
    "TIDEGATE_START_TOKEN": "token",
    "TIDEGATE_TABLE": "table",
    "TIDEGATE_ARTIFACT_BUCKET": "bucket",
    "TIDEGATE_ENGINE_ROLE": "role",
}
