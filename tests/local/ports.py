"""Ports for local clouds that tests start."""

from __future__ import annotations

import random
import socket


def free_ports() -> int:
    """Return a port that is free together with the two after it.

    They are below those that Linux gives to whoever names none (32768 on): they are free until they are bound, too.
    """
    while True:
        first = random.randrange(12_000, 32_000, 4)
        with socket.socket() as one, socket.socket() as two, socket.socket() as three:
            try:
                for number, each in enumerate((one, two, three)):
                    each.bind(("127.0.0.1", first + number))
            except OSError:
                continue
            return first
