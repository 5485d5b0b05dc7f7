"""Check the template: one synth with cdk-nag's packs, then cfn-lint on its output. Exits 1 on any finding.

Run as ``python -m tidegate_cdk.check``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cdk_nag

from tidegate_cdk.sources import ROOT
from tidegate_cdk.synthesis import synthesize

OUTPUT = ROOT / "build" / "lint"
#: A time limit that is an expression, in a definition in the template.
_EXPRESSION = re.compile(r'\\"TimeoutSeconds\\": \\"\{%[^"]*%\}\\"')


def findings(report: dict[str, Any]) -> Iterator[str]:
    """Return one line for each finding of a validation report."""
    for pack in report["pluginReports"]:
        for violation in pack["violations"]:
            for construct in violation["violatingConstructs"]:
                yield f"{construct['constructPath']}: {violation['ruleName']}: {violation['description']}"


def without_expressions(template: str) -> str:
    """Return a template with numbers instead of time limits that are expressions.

    cfn-lint's schema has numbers alone (E3601). Step Functions takes "a JSONata expression" whose value "must be a
    positive integer" (CDK, class Timeout).
    """
    return _EXPRESSION.sub(r'\\"TimeoutSeconds\\": 3600', template)


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
    checked = template.with_suffix(".checked.json")
    checked.write_text(without_expressions(template.read_text(encoding="utf-8")), encoding="utf-8")
    program = str(Path(sys.executable).parent / "cfn-lint")
    return subprocess.run([program, "--", str(checked)], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
