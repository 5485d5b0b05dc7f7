"""Prints the JSON of a state machine, as it is deployed: for Workflow Studio.

It is given by its file, or by its name if it is one of cluster workflows. Given a directory instead, writes those of
all machines there, for statelint.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tidegate.aws.definitions import ENDING, rendered
from tidegate.clusters.adapters.machines import cluster_machines

HERE = Path(__file__).resolve().parent


def every_machine() -> Iterator[tuple[str, str]]:
    """Yield the name and the JSON of each machine: of each file, and of each cluster workflow."""
    for file in sorted(HERE.glob(f"*{ENDING}")):
        yield file.name.removesuffix(ENDING), rendered(file)
    yield from cluster_machines(HERE)


def main(asked: str) -> None:
    """Print one machine, or write all."""
    if Path(asked).is_dir():
        for name, text in every_machine():
            (Path(asked) / f"{name}.json").write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(rendered(Path(asked)) if asked.endswith(ENDING) else dict(cluster_machines(HERE))[asked])


if __name__ == "__main__":
    main(sys.argv[1])
