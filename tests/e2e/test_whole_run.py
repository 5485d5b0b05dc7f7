"""What only the whole run shows; these tests come last."""

from __future__ import annotations

import io

from rich.console import Console

from local import demo


def test_the_demo_deploys_two_roots_with_a_real_provider(tidegate):
    output = io.StringIO()
    demo.run(tidegate.cloud, Console(file=output, width=120))
    for word in ("network", "orders", "aws_vpc.main", "aws_sns_topic.orders", "RUNNING, then SUCCESS"):
        assert word in output.getvalue()


def test_no_call_was_denied_in_the_whole_run(tidegate):
    denied = tidegate.cloud.read("permissions")["denied"]
    assert {(call["role"].rpartition("/")[2], call["call"]) for call in denied} == set()
