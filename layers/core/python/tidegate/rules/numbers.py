"""Limits of numbers."""

from __future__ import annotations

#: The largest whole number that every reader of JSON keeps exactly (RFC 8259, section 6).
LARGEST_EXACT = 2**53 - 1
