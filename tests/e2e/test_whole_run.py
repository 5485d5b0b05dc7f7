"""What a person sees who tries it all; this comes last, when the installation has much behind it."""

from __future__ import annotations

import io

from rich.console import Console

from local import demo


def test_the_demo_deploys_two_roots_with_a_real_provider(tidegate):
    output = io.StringIO()
    demo.run(tidegate.cloud, Console(file=output, width=120))
    for word in ("network", "orders", "aws_vpc.main", "aws_sns_topic.orders", "RUNNING, then SUCCESS"):
        assert word in output.getvalue()
