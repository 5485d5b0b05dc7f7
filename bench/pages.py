"""What pages take: that of a plan of 5,000 resources, and each page and GET route of a large installation.

``tests/bench/page_reads.py`` requests the latter, in a process of its own: of the real handler, on stores that count.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from bench.lines import Line, medians
from runner.plan_json import rows_of
from tidegate.plans.rules.plan import Artifact, Plan, PlannedChanges
from tidegate.plans.rules.structured_file import packed, unpacked
from tidegate.web.plan_view import plan_view
from tidegate.web.rendering import Rendering

FEW, MANY = 500, 5_000
_QUICK_FEW, _QUICK_MANY = 50, 500
#: CPU seconds: planning so many resources takes minutes, and a page is to open at once.
ROWS_SECONDS, PAGE_SECONDS = 3.0, 1.0
PAGE_KILOBYTES = 300.0
_RUNS = 5
#: Roots, deployments and resources of a plan, in the installation and in one of a tenth of it.
_LARGE, _SMALL = (1_000, 10_000, MANY), (100, 1_000, FEW)
_QUICK_LARGE, _QUICK_SMALL = (40, 400, _QUICK_MANY), (20, 200, _QUICK_FEW)
#: Calls of DynamoDB and S3 that a page makes at most.
READS = 15
_RENDERING = Rendering("", lambda: datetime.now(UTC))
_ACTIONS = (["create"], ["update"], ["delete"], ["delete", "create"])


def run(*, quick: bool) -> Iterator[Line]:
    """Measure a plan with changes of all kinds in 40 modules, against ten times one of a tenth of its size."""
    fewer, more = (_QUICK_FEW, _QUICK_MANY) if quick else (FEW, MANY)
    runs = 1 if quick else _RUNS
    with TemporaryDirectory() as directory:
        few, many = (_written(Path(directory) / f"{count}.json", count) for count in (fewer, more))
        told = {"runs": runs, "resources": more, "bytes": many.stat().st_size}
        yield _compared("plan_rows_made", lambda: _rows(many), lambda: _rows(few), ROWS_SECONDS, told)
        small, large = _rows(few), _rows(many)
    told = {"runs": runs, "resources": more, "bytes": len(large), "reads": 1}
    yield _compared("plan_page_rendered", lambda: _page(large), lambda: _page(small), PAGE_SECONDS, told)
    page = _page(large).encode()
    size, whole = len(gzip.compress(page, 6)) / 1000, len(page) / 1000
    sent = {"baseline": "the same page uncompressed", "resources": more}
    yield Line("plan_page_sent", size, whole, target=PAGE_KILOBYTES, compared="median", unit="kB", more=sent)
    yield from _requested(quick=quick)


def _requested(*, quick: bool) -> Iterator[Line]:
    """Request all pages of a large and of a small installation; the last line is that of the largest page."""
    sizes = (_QUICK_LARGE, _QUICK_SMALL) if quick else (_LARGE, _SMALL)
    large, small = (_measured(size, 1 if quick else _RUNS) for size in sizes)
    for path, page in large.items():
        more = {"baseline": "the same page of an installation of a tenth", **page}
        reads, before = page["count"], small[path]["count"]
        yield Line(f"page {path}", reads, before, target=READS, compared="median", unit="reads", more=more)
    path, largest = max(large.items(), key=lambda each: int(each[1]["compressed"]))
    size, whole = largest["compressed"] / 1000, largest["bytes"] / 1000
    more = {"baseline": "the same page uncompressed", "path": path}
    yield Line("largest_page_sent", size, whole, target=PAGE_KILOBYTES, compared="median", unit="kB", more=more)


def _measured(size: tuple[int, int, int], runs: int) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "tests.bench.page_reads", *map(str, (*size, runs))]
    told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    pages = [json.loads(line) for line in told.splitlines() if line.startswith('{"route"')]
    return {page["path"]: page for page in pages}


def _compared(
    name: str, large: Callable[[], Any], small: Callable[[], Any], target: float, more: dict[str, Any]
) -> Line:
    pairs = [(_seconds(large), _seconds(small) * MANY / FEW) for _ in range(more["runs"])]
    return Line(name, *medians(pairs), target=target, compared="median", more=more)


def _seconds(work: Callable[[], Any]) -> float:
    """Return the CPU time."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _rows(plan: Path) -> bytes:
    return packed(rows_of(plan, str))


def _page(content: bytes) -> str:
    stored = Artifact("", "")
    plan = Plan("app-plan-1", PlannedChanges(), "1.11.4", stored, None, stored, stored)
    subject = SimpleNamespace(repository="bench/pages", root=SimpleNamespace(name="app"), schedule="nightly")
    told: dict[str, Any] = {
        "one": subject,
        "of_deployment": False,
        "sha": "0" * 40,
        "job": SimpleNamespace(id=plan.job),
    }
    told |= {"person": "", "csrf": "", "notice": "", "text": None, "lines": [], "plan": plan}
    return _RENDERING.page("plan.html", view=plan_view(plan, unpacked(content)), **told).body or ""


def _written(file: Path, count: int) -> Path:
    file.write_text(json.dumps(plan_document(count)), encoding="utf-8")
    return file


def plan_document(count: int) -> dict[str, Any]:
    """Return what an engine prints of a plan that changes so many resources."""
    return {"format_version": "1.2", "resource_changes": [_change(number) for number in range(count)]}


def _change(number: int) -> dict[str, Any]:
    module, actions = f'module.service["team-{number % 40}"]', _ACTIONS[number % len(_ACTIONS)]
    name, team = f"orders-{number}", f"team-{number % 9}"
    policy = json.dumps({"Statement": [{"Action": ["sqs:SendMessage"], "Resource": f"arn:aws:sqs:::{name}"}]})
    rules = [{"port": port, "cidr": f"10.{number % 250}.0.0/16"} for port in range(5)]
    before = {"name": name, "tags": {"Name": name}, "policy": policy, "rules": rules}
    after = {**before, "tags": {"Name": name, "Team": team}, "rules": rules[1:]}
    change: dict[str, Any] = {"actions": actions, "after_unknown": {"arn": "create" in actions}}
    change["before"] = None if actions == ["create"] else before
    change["after"] = None if actions == ["delete"] else after
    change["replace_paths"] = [["rules"]] if len(actions) > 1 else []
    return {"address": f'{module}.aws_sqs_queue.queue["{name}"]', "module_address": module, "change": change}
