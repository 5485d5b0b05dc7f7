"""Entry of the CDK app: ``python cdk/app.py`` writes the template to cdk.out, without node being installed."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from cdk.synthesis import synthesize  # noqa: E402  # The path has to be set before.

if __name__ == "__main__":
    synthesize()
