"""Runs all benchmarks: ``python -m bench [--quick]``. One line of JSON each on standard output."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

from bench import calls, configuration, cost, discovery, memory, pull_requests, queues, reading, webhook
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


def main(*, quick: bool) -> None:
    """Run and print all benchmarks. ``quick`` runs each once, cold, to see that it works: its times mean nothing."""
    configuration.run(quick=quick).print()
    for line in itertools.chain(discovery.run(quick=quick), webhook.run(quick=quick)):
        line.print()
    with bench(quick=quick) as measured:
        for line in deploys(measured, quick=quick):
            line.print()
        memory.run(measured, "data" if quick else "aws").print()
        cost.run(measured).print()
        calls.run(measured).print()
    for line in itertools.chain(pull_requests.run(quick=quick), reading.run(quick=quick), queues.run(quick=quick)):
        line.print()


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
