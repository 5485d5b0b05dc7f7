"""The CDK app's entry point: ``python tidegate_cdk/app.py`` writes the template to cdk.out, without node on the
machine.

It exits with 2, and one line, for an invalid setting.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from tidegate_cdk.runner_settings import InvalidContext  # noqa: E402  # The path has to be set before.
from tidegate_cdk.synthesis import UnknownContext, synthesize  # noqa: E402  # The path has to be set before.

if __name__ == "__main__":
    try:
        synthesize()
    except (InvalidContext, UnknownContext) as error:
        sys.stderr.write(f"Synthesis failed: {error}.\n")
        sys.exit(2)
