"""What of a log is preparation."""

from __future__ import annotations

import pytest

from tidegate.web.log_lines import prepared

PREPARATION = [
    "tidegate: cloning acme/infra at 0123456789ab",
    "tidegate: terraform 1.11.4 in live/network, commit 0123456789ab",
    "Initializing the backend...",
    "",
    "Terraform has been successfully initialized!",
]


@pytest.mark.parametrize(
    "work",
    [
        "aws_vpc.main: Refreshing state... [id=vpc-1]",
        'module.net["a"].aws_vpc.main: Creating...',
        "data.aws_region.here: Reading...",
        "Terraform used the selected providers to generate the following execution",
        "OpenTofu will perform the following actions:",
        "No changes. Your infrastructure matches the configuration.",
        "Error: Failed to install provider",
    ],
)
def test_preparation_ends_where_the_engine_begins_to_work(work):
    assert prepared([*PREPARATION, work, *PREPARATION]) == len(PREPARATION)


def test_all_is_preparation_until_the_engine_works():
    assert prepared(PREPARATION) == len(PREPARATION)
    assert prepared([]) == 0
