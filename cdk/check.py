"""Checks the template: one synth with cdk-nag's packs, then cfn-lint on what it wrote. Exits 1 on any finding.

Run as ``python -m cdk.check``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cdk_nag

from cdk.sources import ROOT
from cdk.synthesis import synthesize

OUTPUT = ROOT / "build" / "lint"


def findings(report: dict[str, Any]) -> Iterator[str]:
    """Return one line for each finding of a validation report."""
    for pack in report["pluginReports"]:
        for violation in pack["violations"]:
            for construct in violation["violatingConstructs"]:
                yield f"{construct['constructPath']}: {violation['ruleName']}: {violation['description']}"


def main() -> int:
    """Check the template and return the exit code."""
    report = OUTPUT / "validation-report.json"
    report.unlink(missing_ok=True)
    try:
        template = synthesize(OUTPUT, [cdk_nag.AwsSolutionsChecks, cdk_nag.ServerlessChecks])
    except RuntimeError:
        if not report.exists():
            raise
        lines = findings(json.loads(report.read_text(encoding="utf-8")))
        sys.stdout.writelines(f"cdk-nag: {line}\n" for line in lines)
        return 1
    program = str(Path(sys.executable).parent / "cfn-lint")
    return subprocess.run([program, "--", str(template)], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
