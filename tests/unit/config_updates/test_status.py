"""Status URLs: where they may be, and what they answer."""

from __future__ import annotations

import pytest

from tests.instants import utc
from tidegate.config_updates.rules.status import (
    StatusRefused,
    TargetStatus,
    address_problem,
    read_networks,
    read_status,
)

SHA = "a" * 40


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "169.254.169.254", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "::1", "fe80::1%eth0", "fd00:ec2::254", "::ffff:10.0.0.1", "::ffff:8.8.8.8%1x",
        "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "2001:0:a9fe::1", "ff02::1", "::", "no address",
        "::7f00:1", "::ffff:0:a9fe:a9fe", "64:ff9b:1::1", "fec0::1", "2130706433", "0x7f.1", "127.1", "0177.0.0.1",
    ],
)  # fmt: skip
def test_only_public_addresses_may_be_asked(address):
    if address == "::ffff:8.8.8.8%1x":
        assert address_problem(address, ()) is None
    else:
        assert address_problem(address, ())


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_may_be_asked(address):
    assert address_problem(address, ()) is None


def test_a_listed_network_may_be_asked():
    allowed = read_networks("10.0.0.0/8, fd00:1::/32")
    assert address_problem("10.1.2.3", allowed) is None
    assert address_problem("::ffff:10.1.2.3", allowed) is None
    assert address_problem("fd00:1::5", allowed) is None
    assert address_problem("10.1.2.3", read_networks("")) is not None
    assert address_problem("192.168.0.1", allowed) is not None
    with pytest.raises(ValueError, match="does not appear"):
        read_networks("somewhere")


def test_a_status_says_which_commit_runs_and_whether_it_is_healthy():
    assert read_status(f'{{"config_sha": "{SHA}", "healthy": true, "more": 1}}'.encode()) == TargetStatus(SHA, True)
    dated = f'{{"config_sha": "{SHA}", "healthy": false, "assessed_at": "2026-03-02T09:00Z"}}'
    assert read_status(dated.encode()) == TargetStatus(SHA, False, utc("2026-03-02T09:00"))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<html>", "not JSON"),
        ("[" * 60_000, "not JSON"),
        ("[]", "not an object"),
        ("{}", "config_sha"),
        ('{"config_sha": "main", "healthy": true}', "config_sha"),
        (f'{{"config_sha": "{SHA}", "healthy": "yes"}}', "healthy"),
        (f'{{"config_sha": "{SHA}", "healthy": true, "assessed_at": "today"}}', "assessed_at"),
        (f'{{"config_sha": "{SHA}", "healthy": true, "assessed_at": "2026-03-02T09:00"}}', "assessed_at"),
    ],
)
def test_an_answer_that_is_no_status_is_refused(body, problem):
    with pytest.raises(StatusRefused, match=problem):
        read_status(body.encode())
