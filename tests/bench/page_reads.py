"""What each page and each GET route of the API takes on a large installation: reads, bytes and seconds.

``python -m tests.bench.page_reads ROOTS DEPLOYMENTS RESOURCES`` prints a line of JSON for each, which the benchmark
``pages`` reads.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from tests.api.calls import CALLS
from tests.api.scenario import Client
from tests.bench.installation import Installation
from tidegate.web.rules import RULES

#: Pages that read more, or other things, when they are asked for more than ``CALLS`` does.
BESIDE = {
    "GET /repositories/<owner>/<name>": ("?query=stack_name:early", "?query=root:nothing"),
    "GET /repositories/<owner>/<name>/deployments": ("?query=state:failed", "?query=stack_name:nothing"),
    "GET /api/v1/repositories/<owner>/<name>/roots": ("?query=stack_name:early",),
}
MORE = {
    "GET /search": ("/search?q=root-0999", "/search?q=grow", "/search?q=4711", "/search?q={id}", "/search?q=nothing"),
    "GET /pulls": ("/pulls", "/pulls?query=stack_name:early", "/pulls?query=stack_name:nothing"),
    "GET /api/v1/pulls": ("/api/v1/pulls", "/api/v1/pulls?query=stack_name:early"),
    "GET /drift": ("/drift",),
    "GET /api/v1/drift": ("/api/v1/drift",),
    "GET /insights": ("/insights", "/insights?span=52w"),
    "GET /insights/csv": ("/insights/csv?span=52w",),
    "GET /api/v1/insights": ("/api/v1/insights?span=52w",),
    "GET /api/v1/deployments": ("/api/v1/deployments", "/api/v1/deployments?query=stack_name:nothing"),
    "GET /deployments/<id>": tuple(f"/deployments/{{{state}}}" for state in ("blocked", "planning", "apply_failed")),
    "GET /jobs/<id>/plan": ("/jobs/{job}/plan?text=yes",),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A page: ``reads`` of a cold function by the name of the call, its bytes whole and as a browser gets them, and the
    median of ``seconds`` of a warm one. ``status`` is the answer's.
    """

    route: str
    path: str
    status: int
    reads: dict[str, int]
    bytes: int
    compressed: int
    seconds: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.reads.values())


def pages() -> Iterator[tuple[str, str]]:
    """Yield all routes that read, each with the paths to measure."""
    for route in (each for each in RULES if each.startswith("GET ")):
        usual = CALLS[route]
        assert isinstance(usual, str)
        yield from ((route, path) for path in dict.fromkeys((usual, *MORE.get(route, ()))))
        yield from ((route, f"{usual}{query}") for query in BESIDE.get(route, ()))


def measured(large: Installation, route: str, path: str, runs: int) -> Measured:
    """Request a page from a function that has just started, and then ``runs`` times from the same."""
    vars(large.wires).pop("_web", None)
    client = Client(large.wires, "token-of-reviewer") if " /api/" in route else Client(large.wires).sign_in("reviewer")
    vars(large.wires).pop("_web", None)
    large.wires.ports.kept_logs.clear()
    asked = path.format(**large.names)
    large.calls.clear()
    answer = client.get(asked, accept_encoding="gzip")
    reads = dict(Counter(large.calls))
    body = b64decode(answer.body) if answer.headers.get("content-encoding") == "gzip" else answer.body.encode()
    whole = gzip.decompress(body) if answer.headers.get("content-encoding") == "gzip" else body
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        client.get(asked, accept_encoding="gzip")
        times.append(time.perf_counter() - begun)
    seconds = statistics.median(times) if times else 0.0
    return Measured(route, path, answer.status, reads, len(whole), len(body), round(seconds, 4))


def main(roots: int, deployments: int, resources: int, runs: int) -> None:
    """Print what each page takes."""
    large = Installation(roots, deployments, resources)
    for route, path in pages():
        one = measured(large, route, path, runs)
        sys.stdout.write(json.dumps({**asdict(one), "count": one.count}) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
