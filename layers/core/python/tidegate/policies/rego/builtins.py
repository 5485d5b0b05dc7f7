"""OPA's built-in functions that policies may call.

Each has cases in ``tests/conformance`` with the same answers as OPA's. All others are refused: those that the engine
lacks, those with outside effects, and those whose answers differ from OPA's (docs/decisions/0177).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from functools import lru_cache

import regorus
from pydantic_core import SchemaError, SchemaValidator, core_schema

from tidegate.policies.rego.patterns import NotTranslated, UnusablePattern, as_opa_reads, as_opa_replaces, of_glob

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

#: Functions that OPA 1.0 removed: version 0 of the syntax has them.
DEPRECATED = frozenset({"all", "any", "net.cidr_overlap", "re_match"})


#: Our functions that translate patterns and replacements for the engine.
_PATTERN, _REPLACEMENT = "tidegate_pattern", "tidegate_replacement"
#: Which of them translates which argument of a function.
TRANSLATED = {
    "regex.find_all_string_submatch_n": {0: _PATTERN},
    "regex.find_n": {0: _PATTERN},
    "regex.match": {0: _PATTERN},
    "regex.replace": {1: _PATTERN, 2: _REPLACEMENT},
}
#: Cached patterns, as policies use the same ones over and over.
_KEPT = 10_000


def add_missing(engine: regorus.Engine) -> None:
    """Give the engine functions that it lacks, and those that differ from OPA's."""
    engine.add_extension("all", 1, _all)
    engine.add_extension("any", 1, _any)
    engine.add_extension("lower", 1, _lower)
    engine.add_extension("upper", 1, _upper)
    engine.add_extension("net.cidr_intersects", 2, _intersects)
    engine.add_extension("net.cidr_overlap", 2, _overlaps)
    engine.add_extension("glob.match", 3, _glob_matches)
    engine.add_extension("re_match", 2, _re_match)
    engine.add_extension(_PATTERN, 1, _translated)
    engine.add_extension(_REPLACEMENT, 1, lambda value: as_opa_replaces(_text(value)))
    engine.add_extension("regex.is_valid", 1, _is_valid)


def _all(values: Collection[object]) -> bool:
    return all(value is True for value in _elements(values))


def _any(values: Collection[object]) -> bool:
    return any(value is True for value in _elements(values))


def _elements(values: Collection[object]) -> Collection[object]:
    if not isinstance(values, list | set):
        raise TypeError("expected a set or an array")
    return values


def _lower(value: object) -> str:
    text = _text(value)
    return text.lower() if text.isascii() else "".join(map(_small, text))


def _upper(value: object) -> str:
    text = _text(value)
    return text.upper() if text.isascii() else "".join(map(_capital, text))


def _small(character: str) -> str:
    """Return the one lowercase letter of a character, without what stands around it."""
    return character.lower()[0]


def _capital(character: str) -> str:
    """Return the one uppercase letter of a character; itself where there is none, or only several."""
    forms = character.upper(), character.title()
    return next((form for form in forms if len(form) == 1), character)


def _intersects(one: str, other: str) -> bool:
    return _network(one).overlaps(_network(other))


def _overlaps(network: str, address: str) -> bool:
    return ipaddress.ip_address(address) in _network(network)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    bits = text.partition("/")[2]
    if not (bits.isascii() and bits.isdecimal()):
        raise ValueError(f"{text} is not a CIDR block")
    return ipaddress.ip_network(text, strict=False)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a string")
    return value


def _glob_matches(glob: object, delimiters: Sequence[str] | None, text: object) -> bool:
    if not (delimiters is None or isinstance(delimiters, list)):
        raise TypeError("delimiters must be an array or null")
    return _matches(_glob(_text(glob), None if delimiters is None else tuple(delimiters)), _text(text))


_glob = lru_cache(_KEPT)(of_glob)
_pattern = lru_cache(_KEPT)(as_opa_reads)


def _translated(pattern: object) -> str:
    return _pattern(_text(pattern))


def _re_match(pattern: object, text: object) -> bool:
    return _matches(_translated(pattern), _text(text))


def _is_valid(pattern: object) -> bool:
    try:
        return isinstance(pattern, str) and bool(_expression(_pattern(pattern)))
    except NotTranslated:
        raise
    except (UnusablePattern, SchemaError):
        return False


def _matches(translated: str, text: str) -> bool:
    return bool(_expression(translated).isinstance_python(text))


@lru_cache(_KEPT)
def _expression(translated: str) -> SchemaValidator:
    """Return the same expressions as the engine's, which take linear time. Raise SchemaError."""
    return SchemaValidator(core_schema.str_schema(pattern=translated, regex_engine="rust-regex"))
