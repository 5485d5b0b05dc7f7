"""The check of the template fails when there is something to find."""

from __future__ import annotations

import json
from pathlib import Path

import aws_cdk
import cdk_nag
import pytest
from aws_cdk import aws_s3 as s3

from tidegate_cdk.check import findings


def test_a_finding_that_nobody_acknowledged_fails_the_synth_and_is_named(tmp_path: Path):
    app = aws_cdk.App(outdir=str(tmp_path))
    aws_cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks(app))
    s3.Bucket(aws_cdk.Stack(app, "Any"), "Open")
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text(encoding="utf-8"))
    found = list(findings(report))
    assert any(line.startswith("Any/Open/Resource: AwsSolutions-S10:") for line in found)
