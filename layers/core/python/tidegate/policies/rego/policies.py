"""The content of a policy set, by the engine's syntax tree, and what of it the engine may evaluate.

For some constructs that it does not support, the engine silently returns undefined: a rule with one would never refuse
anything. These are refused here by name (docs/decisions/0177).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegate.policies.rego.builtins import BUILTINS, DEPRECATED, TRANSLATED
from tidegate.policies.rego.negation import Addition, whole
from tidegate.policies.rego.variables import named_too_early

_PLACE = re.compile(r"--> m(\d+)\.rego:(\d+):(\d+)")
_FILE = re.compile(r"\bm(\d+)\.rego\b")
#: What stands before the words of a function of ours.
_RAISED = re.compile(r"^extension '[\w.]+' raises Python error: \w+: ")
_LONGEST = 500
#: A width for anything but a whole number, or the fraction of another.
_WIDTH = re.compile(r"%(?!0?\d*d|\.\d+f)[-+# 0-9.]+[A-Za-z]")


class Unusable(Exception):  # Its message is for the policies' author.
    """Policies or data that cannot be evaluated, and where they are wrong."""

    def __init__(self, problem: str, file: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.problem, self.file, self.line, self.column = problem, file, line, column

    @classmethod
    def of(cls, error: Exception, paths: Sequence[str]) -> Unusable:
        """Return the engine's error with its location."""
        text = str(error).partition("\n\nStack backtrace:")[0]
        place = _PLACE.search(text)
        said = _RAISED.sub("", text.partition("\nerror: ")[2] or text)
        problem = _FILE.sub(lambda name: paths[int(name[1])], said.strip().partition("\n")[0].rstrip(":"))[:_LONGEST]
        return cls(problem, paths[int(place[1])], int(place[2]), int(place[3])) if place else cls(problem)

    def told(self) -> dict[str, Any]:
        return {"error": self.problem, "file": self.file, "line": self.line}


class Rule(NamedTuple):
    """The path of a rule, below ``data``."""

    path: tuple[str, ...]

    @property
    def package(self) -> tuple[str, ...]:
        return self.path[:-1]

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def reference(self) -> str:
        return "data" + "".join(f"[{json.dumps(part)}]" for part in self.path)

    @property
    def shown(self) -> str:
        return ".".join(self.path)


class Policies:
    """The rules and functions of all files, by the paths of the files and their syntax trees."""

    def __init__(self, paths: Sequence[str], modules: Sequence[Mapping[str, Any]]) -> None:
        self.paths, self.modules = paths, modules
        self.rules: dict[Rule, tuple[str, int]] = {}
        self.functions: set[tuple[str, ...]] = set()
        for path, module in zip(paths, modules, strict=True):
            for rule in module["ast"]["rules"]:
                self._add(path, _package(module), rule)

    def _add(self, path: str, package: tuple[str, ...], rule: Mapping[str, Any]) -> None:
        head, is_function = _head(rule)
        name = (*package, *_path_of(head))
        if is_function:
            self.functions.add(name)
        else:
            line = next(iter(rule.values()))["span"]["line"]
            self.rules.setdefault(Rule(name[: len(package) + 1]), (path, line))


def refuse_unknown(policies: Policies) -> None:
    """Refuse constructs that the engine evaluates differently from OPA: missing functions, and some forms of rules."""
    for rule in policies.rules.keys() & {Rule(function) for function in policies.functions}:
        raise Unusable(f"{rule.shown} is both a rule and a function", *policies.rules[rule])
    for path, module in zip(policies.paths, policies.modules, strict=True):
        for problem, line in (*_unknown_calls(policies, module), *_unusual(policies, module)):
            raise Unusable(problem, path, line)


def _unknown_calls(policies: Policies, module: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    available = BUILTINS if module["ast"]["rego_v1"] else BUILTINS | DEPRECATED
    own = own_names(policies, module)
    for call in _below(module["ast"]["rules"], "Call"):
        called = _path_of(call["fcn"])
        whole = (*own[called[0]], *called[1:]) if called[0] in own else ()
        if whole not in policies.functions and (whole or ".".join(called) not in available):
            yield f"The function {'.'.join(called)} is not available to policies", call["span"]["line"]
        if called == ("walk",) and len(call["params"]) == 1:
            yield "Write walk(DOCUMENT, [path, value])", call["span"]["line"]
        if called == ("sprintf",) and _WIDTH.search(_text_in(call["params"][0])):
            yield "The sprintf width is too large", call["span"]["line"]


def _unusual(policies: Policies, module: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield constructs that the engine interprets differently from OPA."""
    rules, own = module["ast"]["rules"], own_names(policies, module)
    source = module["source"]["contents"].encode()
    for rule in rules:
        head, _ = _head(rule)
        if _is_dynamic(head["RefBrack"]["refr"] if "RefBrack" in head and not _is_set(rule) else head):
            yield "A rule name may have a variable only at its end, and not for a set", _line_of(head)
    for declared in _below(rules, "SomeVars"):
        for each in declared["vars"]:
            name = source[each["start"] : each["end"]].decode()
            if name in own:
                yield f"The variable {name} has the name of a rule or an import. Rename it", each["line"]
    for each in named_too_early(source, rules):
        yield (
            f"The variable {each['value']} is used before its declaration on this line. Start a new line there",
            (each["span"]["line"]),
        )
    for pattern in _patterns(rules):
        for each in _objects(pattern):
            yield "Object destructuring is not supported. Write NAME := DOCUMENT.key", each["span"]["line"]


def _patterns(rules: Any) -> Iterator[Mapping[str, Any]]:
    for each in _below(rules, "AssignExpr"):
        yield each["lhs"]
        if each["op"] == "Eq" and "Var" not in each["lhs"]:
            yield each["rhs"]
    for each in _below(rules, "SomeIn"):
        yield from filter(None, (each["key"], each["value"]))
    for each in _below(rules, "Func"):
        yield from each["args"]


def _objects(pattern: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "Object" in pattern:
        yield pattern["Object"]
    for each in pattern.get("Array", {}).get("items", ()):
        yield from _objects(each)


def _is_set(rule: Mapping[str, Any]) -> bool:
    return "Set" in rule.get("Spec", {}).get("head", {})


def own_names(policies: Policies, module: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return what names stand for in a module, as paths below ``data``: rules of its package, and imports."""
    package = _package(module)
    paths = (*policies.functions, *(rule.path for rule in policies.rules))
    named = (each[: len(package) + 1] for each in paths if each[: len(package)] == package)
    return {**{each[-1]: each for each in named}, **dict(_imports(module))}


def refuse_hidden(rules: Iterable[Rule], data: Mapping[str, Any]) -> None:
    """Refuse data with the name of a rule: only one of the two would exist."""
    for rule in rules:
        above: Any = data
        for part in rule.package:
            above = above.get(part) if isinstance(above, dict) else None
        if isinstance(above, dict) and rule.name in above:
            raise Unusable(
                f"A data document has the name of the rule {rule.shown}, and would hide it. Rename one of them"
            )


def translated_patterns(policies: Policies, module: Mapping[str, Any]) -> Iterator[Addition]:
    """Yield insertions into a module's source that give regular expressions OPA's meaning."""
    own, source = own_names(policies, module), module["source"]["contents"].encode()
    for call in _below(module["ast"]["rules"], "Call"):
        called = _path_of(call["fcn"])
        for at, parameter in enumerate(call["params"]):
            translating = TRANSLATED.get(".".join(called), {}).get(at)
            if translating and called[0] not in own:
                ((_, argument),) = parameter.items()
                start, end = whole(source, argument)
                yield start, 0, f"{translating}(".encode()
                yield end, 0, b")"


def _head(rule: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the reference that a rule defines, and whether that is a function."""
    if "Default" in rule:
        return rule["Default"]["refr"], bool(rule["Default"]["args"])
    ((kind, head),) = rule["Spec"]["head"].items()
    return head["refr"], kind == "Func"


def _package(module: Mapping[str, Any]) -> tuple[str, ...]:
    return _path_of(module["ast"]["package"]["refr"])


def _imports(module: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what stands for which path below ``data``; ``data`` itself does."""
    yield "data", ()
    source = module["source"]["contents"].encode()
    for each in module["ast"]["imports"]:
        root, *path = _path_of(each["refr"])
        if root == "data" and path:
            alias = each.get("as")
            yield source[alias["start"] : alias["end"]].decode() if alias else path[-1], tuple(path)


def _path_of(reference: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the constant parts that a reference begins with."""
    ((kind, value),) = reference.items()
    if kind == "Var":
        return (value["value"],)
    if kind == "RefDot":
        return (*_path_of(value["refr"]), value["field"][1])
    if kind == "RefBrack" and "String" in value["index"]:
        return (*_path_of(value["refr"]), value["index"]["String"]["value"])
    return _path_of(value["refr"]) if "refr" in value else ("",)


def _text_in(node: Mapping[str, Any]) -> str:
    """Return a constant text, empty where a node is none."""
    return str((node.get("String") or node.get("RawString") or {"value": ""})["value"])


def _is_dynamic(reference: Mapping[str, Any]) -> bool:
    ((kind, value),) = reference.items()
    if kind == "Var":
        return False
    return (kind == "RefBrack" and "String" not in value["index"]) or _is_dynamic(value["refr"])


def _line_of(node: Mapping[str, Any]) -> int:
    ((_, value),) = node.items()
    line: int = value["span"]["line"]
    return line


def _below(node: Any, kind: str) -> Iterator[Mapping[str, Any]]:
    """Yield all nodes of a kind below a node."""
    below = [node]
    while below:
        each = below.pop()
        if isinstance(each, dict):
            if kind in each:
                yield each[kind]
            below.extend(each.values())
        elif isinstance(each, list):
            below.extend(each)
