"""The built-in functions of OPA that policies may call.

Each has cases in ``tests/conformance``, and the engine's answers to them are OPA's. All others are refused: what the
engine lacks, what reaches outside, and those whose answers differ from OPA's (docs/decisions/0177).
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Collection

import regorus

_NAMES = """
abs ceil count floor format_int max min numbers.range numbers.range_step product round sort sum to_number
array.concat array.reverse array.slice
base64.decode base64.encode base64url.decode base64url.encode base64url.encode_no_pad
bits.and bits.lsh bits.negate bits.or bits.rsh bits.xor
concat contains endswith indexof indexof_n lower replace split sprintf startswith strings.any_prefix_match
strings.any_suffix_match strings.reverse substring trim trim_left trim_prefix trim_right
trim_space trim_suffix upper
glob.match
graph.reachable graph.reachable_paths
hex.decode hex.encode
intersection union
is_array is_boolean is_null is_number is_object is_set is_string type_name
json.is_valid json.patch json.unmarshal
net.cidr_contains net.cidr_intersects net.cidr_is_valid
object.filter object.get object.keys object.remove object.union object.union_n
regex.find_all_string_submatch_n regex.find_n regex.is_valid regex.match regex.replace
semver.compare semver.is_valid
time.clock time.date time.diff time.format time.now_ns time.parse_duration_ns time.parse_ns
time.parse_rfc3339_ns time.weekday
uuid.parse
print walk
"""
BUILTINS = frozenset(_NAMES.split())

#: Those that OPA 1.0 took away: files in version 0 of the syntax have them.
DEPRECATED = frozenset({"all", "any", "net.cidr_overlap", "re_match"})


def add_missing(engine: regorus.Engine) -> None:
    """Give the engine functions that it lacks."""
    engine.add_extension("all", 1, _all)
    engine.add_extension("any", 1, _any)
    engine.add_extension("net.cidr_intersects", 2, _intersects)
    engine.add_extension("net.cidr_overlap", 2, _overlaps)
    engine.add_extension("re_match", 2, _matches)


def _all(values: Collection[object]) -> bool:
    return all(value is True for value in _elements(values))


def _any(values: Collection[object]) -> bool:
    return any(value is True for value in _elements(values))


def _elements(values: Collection[object]) -> Collection[object]:
    if not isinstance(values, list | set):
        raise TypeError("a set or an array is expected")
    return values


def _intersects(one: str, other: str) -> bool:
    return _network(one).overlaps(_network(other))


def _overlaps(network: str, address: str) -> bool:
    return ipaddress.ip_address(address) in _network(network)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    if "/" not in text:
        raise ValueError(f"{text} is no CIDR")
    return ipaddress.ip_network(text, strict=False)


def _matches(pattern: str, text: str) -> bool:
    found = regorus.Engine().eval_query_as_json(f"regex.match({json.dumps(pattern)}, {json.dumps(text)})")
    matches: bool = json.loads(found)["result"][0]["expressions"][0]["value"]
    return matches
