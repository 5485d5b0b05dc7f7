"""Prints the JSON of a state machine's file, as it is deployed: for statelint, and for Workflow Studio."""

from __future__ import annotations

import sys
from pathlib import Path

from tidegate.aws.definitions import rendered

if __name__ == "__main__":
    sys.stdout.write(rendered(Path(sys.argv[1])))
