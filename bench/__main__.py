"""Runs benchmarks: ``python -m bench [GROUP]... [--quick]``. One line of JSON each on standard output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from bench import (
    calls,
    clusters,
    configuration,
    cost,
    discovery,
    fleet,
    memory,
    modelled,
    notifications,
    pages,
    pull_requests,
    queues,
    reading,
    updates,
    webhook,
)
from bench.deploys import Bench, bench
from bench.lines import Line, medians, noise, paired

#: What a deploy of a root with the AWS provider may take of the bare commands' time, and one without providers more.
AWS_RATIO, DATA_SECONDS = 1.15, 1.0
_AWS_RUNS, _DATA_RUNS = 5, 11


def deploys(measured: Bench, *, quick: bool) -> Iterator[Line]:
    """Compare whole deploys with the bare commands, in turn. The first of each kind warms everything up."""
    for name, kind, runs, target, compared in (
        ("deploy_terraform_data", "data", _DATA_RUNS, DATA_SECONDS, "difference"),
        ("deploy_aws_provider", "aws", _AWS_RUNS, AWS_RATIO, "ratio"),
    ):
        if not quick:
            measured.whole(kind)
            measured.bare(kind)
        pairs = paired(
            lambda kind=kind: measured.whole(kind).seconds,  # type: ignore[misc]
            lambda kind=kind: sum(measured.bare(kind).values()),  # type: ignore[misc]
            1 if quick else runs,
        )
        yield Line(name, *medians(pairs), target=target, compared=compared, more=noise(pairs))


def _deployed(*, quick: bool) -> Iterator[Line]:
    with bench(quick=quick) as measured:
        yield from deploys(measured, quick=quick)
        yield memory.run(measured, "data" if quick else "aws")
        yield cost.run(measured)
        yield calls.run(measured)


def _configured(*, quick: bool) -> Iterator[Line]:
    yield configuration.run(quick=quick)


class Benchmarks(Protocol):
    """A group of benchmarks."""

    def __call__(self, *, quick: bool) -> Iterable[Line]:
        """Run them, and return a line for each."""


#: All of them, in the order in which they run.
GROUPS: Mapping[str, Benchmarks] = {
    "configuration": _configured,
    "discovery": discovery.run,
    "webhook": webhook.run,
    "deploys": _deployed,
    "pull-requests": pull_requests.run,
    "reading": reading.run,
    "pages": pages.run,
    "queues": queues.run,
    "notifications": notifications.run,
    "config-updates": updates.run,
    "fleet": fleet.run,
    "clusters": clusters.run,
    "modelled": modelled.run,
    "cold_path": modelled.count,
}


def main(arguments: Sequence[str]) -> None:
    """Run the benchmarks that are named, or all, and print their lines as they come."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Tidegate against the bare commands.")
    parser.add_argument("group", nargs="*", help=f"the groups to measure ({', '.join(GROUPS)}); default: all")
    parser.add_argument(
        "--quick", action="store_true", help="run each benchmark once as a smoke test; ignore the times"
    )
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.group if name not in GROUPS]:
        parser.error(f"unknown group {', '.join(unknown)}; choose from {', '.join(GROUPS)}")
    for name in asked.group or GROUPS:
        for line in GROUPS[name](quick=asked.quick):
            line.print()


if __name__ == "__main__":
    main(sys.argv[1:])
