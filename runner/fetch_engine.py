"""Put a verified engine into an image: ``python -m runner.fetch_engine terraform 1.11.4 /engine/terraform``.

Exits with 1 if the release is refused or is not available. TIDEGATE_RELEASE_MIRROR and TIDEGATE_RELEASE_KEYS work as in
a job.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from runner.faults import RunnerFault
from runner.release import install_release
from tidegate.roots.rules.root import EngineName


def main(arguments: list[str]) -> int:
    """Install an engine: its name, its version, where to put it. Return the exit code."""
    engine, version, target = arguments
    keys = Path(os.environ.get("TIDEGATE_RELEASE_KEYS") or Path(__file__).parent / "keys")
    try:
        install_release(
            EngineName(engine), version, Path(target), os.environ.get("TIDEGATE_RELEASE_MIRROR") or None, keys
        )
    except RunnerFault as fault:
        print(f"tidegate: {fault}", file=sys.stderr)  # noqa: T201  # The build's output.
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
