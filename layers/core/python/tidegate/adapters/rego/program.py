"""The program that evaluates policies: a process of its own, with limits, for code of others.

It is started by ``adapters/rego/engine.py``. Standard input is a line of JSON, the request, and then the plan; the
answer is a document of JSON on standard output. What the policies print goes nowhere.

The engine may also end with a signal, of a policy that needs too much or of a defect: that is the answer then.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regopy
import yaml

from tidegate.adapters.rego.source import rewritten
from tidegate.adapters.rego.values import Failed, answer, held

#: Conftest's rules, and those of tests.
_RULES = re.compile(r"(?:deny|violation|warn)(?:_[A-Za-z0-9_]+)?")
_TESTS = re.compile(r"test_\w+")
_TEST_FILE = "_test.rego"
#: The package of the rules that ask for the policies' results.
_ASKING = "tidegate_asking"
#: Values of one rule, and letters of one value's JSON, that are told; more are counted, and cut.
_VALUES, _LETTERS = 2000, 8000
#: Functions that would tell what surrounds the engine; those that reach further are not known to it anyway.
_REFUSED = frozenset({"opa.runtime"})
#: How the engine tells where something is: the file's name after its length, an offset in bytes, and a length.
_PLACE = re.compile(r"\d+:(m\d+\.rego)\|(\d+)\|\d+")
_MESSAGE = re.compile(r"\(errormsg (?:(\d+):|\|\d+\|\d+:?)?(.*?)\)\n", re.DOTALL)
_BYTES_OF_FILES = 64 << 20
#: Seconds between two looks at the memory, and how the process ends that used too much.
_GLANCE = 0.02
TOO_MUCH = 77


class Unusable(Exception):  # It is told to whoever wrote the policies.
    """Policies or data that cannot be evaluated, and where they are wrong."""

    def __init__(self, problem: str, file: str = "", line: int = 0) -> None:
        super().__init__(problem)
        self.problem, self.file, self.line = problem, file, line

    def told(self) -> dict[str, Any]:
        return {"error": self.problem, "file": self.file, "line": self.line}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by the parts of its package, and its name."""

    package: tuple[str, ...]
    name: str

    @property
    def reference(self) -> str:
        return "data" + "".join(f"[{json.dumps(part)}]" for part in (*self.package, self.name))

    @property
    def shown(self) -> str:
        return ".".join((*self.package, self.name))


@dataclass(slots=True)
class Policies:
    """The sources by the names that the engine knows them by, and what they are called."""

    modules: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)

    def unusable(self, text: str, about: str = "") -> Unusable:
        """Return what the engine said of its failure, with the place, which may be found by a name that it tells."""
        problem = _told_message(text)
        place = _PLACE.search(text)
        if place is not None and place[1] in self.modules:
            before = self.modules[place[1]].encode()[: int(place[2])]
            return Unusable(problem, self.paths[place[1]], before.count(b"\n") + 1)
        file, line = self.find(_named(problem) or about)
        return Unusable(problem, file, line)

    def find(self, name: str) -> tuple[str, int]:
        """Return the first place where a name stands at all, or nothing."""
        wanted = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w])") if name else None
        for module, source in self.modules.items() if wanted else ():
            for number, line in enumerate(source.split("\n"), 1):
                if wanted and wanted.search(line.partition("#")[0]):
                    return self.paths[module], number
        return "", 0


def main() -> None:
    """Answer the request. What nobody expected ends the process, which its starter tells."""
    answers = os.dup(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    request = json.loads(sys.stdin.buffer.readline())
    _limit(request["memory"], request["seconds"])
    try:
        answer = _answer(request, sys.stdin.buffer.read())
    except Unusable as problem:
        answer = problem.told()
    except MemoryError:
        os._exit(TOO_MUCH)
    with os.fdopen(answers, "w") as output:
        json.dump(answer, output)


def _limit(memory: int, seconds: int) -> None:
    """Limit this process. The engine's allocator reserves far more addresses than it uses: what it uses is watched."""
    threading.Thread(target=_watch, args=(memory,), daemon=True).start()
    for limit, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, _BYTES_OF_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(limit, (value, value))


def _watch(memory: int) -> None:
    """End this process when it has used more memory than it may. Calls of the engine do not hold up this thread."""
    unit = 1 if sys.platform == "darwin" else 1024
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit <= memory:
        time.sleep(_GLANCE)
    os._exit(TOO_MUCH)


def _answer(request: Mapping[str, Any], plan: bytes) -> dict[str, Any]:
    if request["mode"] == "test":
        return _tested(_read(request["files"], tests=True))
    return _checked(_read(request["files"], tests=False), request["namespaces"], plan)


def _read(files: Mapping[str, str], *, tests: bool) -> Policies:
    """Return policies and data. Tests are no part of what plans are held against."""
    policies = Policies()
    for path, content in sorted(files.items()):
        if path.endswith(".rego"):
            if tests or not path.endswith(_TEST_FILE):
                name = f"m{len(policies.modules)}.rego"
                policies.modules[name], policies.paths[name] = rewritten(content) if tests else content, path
        else:
            _merge(policies.data, _document(path, content), path)
    if not policies.modules:
        raise Unusable("There are no policies: no file ends in .rego")
    return policies


def _document(path: str, content: str) -> dict[str, Any]:
    try:
        found = json.loads(content) if path.endswith(".json") else yaml.safe_load(content)
    except json.JSONDecodeError as error:
        raise Unusable(f"This is not JSON: {error.msg}", path, error.lineno) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Unusable("This is not YAML", path, mark.line + 1 if mark else 0) from None
    except RecursionError:
        raise Unusable("This is nested too deeply", path) from None
    except ValueError as error:  # Such as a day that no month has, or a number of thousands of digits.
        raise Unusable(f"A value cannot be read: {error}", path) from None
    if not isinstance(found, dict):
        raise Unusable("Data is a mapping at its top, and this is not", path, 1)
    return found


def _merge(data: dict[str, Any], more: Mapping[str, Any], path: str, above: tuple[str, ...] = ()) -> None:
    for key, value in more.items():
        known = data.get(str(key))
        if isinstance(known, dict) and isinstance(value, dict):
            _merge(known, value, path, (*above, str(key)))
        elif str(key) in data and known != value:
            raise Unusable(f"Two files of data differ in {'.'.join((*above, str(key)))}", path)
        else:
            data[str(key)] = value


def _checked(policies: Policies, namespaces: Sequence[str], plan: bytes) -> dict[str, Any]:
    rules = [rule for rule in _rules(policies) if ".".join(rule.package) in namespaces and _RULES.fullmatch(rule.name)]
    if not rules:
        raise Unusable(
            f"There is no rule deny, violation or warn in the package {' or '.join(namespaces)}. "
            "Write one, or name its package in 'namespaces'"
        )
    exceptions = [Rule(tuple(each.split(".")), "exception") for each in namespaces]
    _refuse_hidden(policies, exceptions)
    results = dict(zip([*rules, *exceptions], _results(policies, [*rules, *exceptions], _input(plan)), strict=True))
    return {
        "rules": [_told_rule(policies, rule, results[rule]) for rule in rules],
        "exceptions": {".".join(rule.package): _elements(policies, rule, results[rule]) for rule in exceptions},
    }


def _tested(policies: Policies) -> dict[str, Any]:
    rules = [rule for rule in _rules(policies) if _TESTS.fullmatch(rule.name)]
    tests: list[dict[str, Any]] = []
    for rule, result in zip(rules, _results(policies, rules, None), strict=True):
        file, line = policies.find(rule.name)
        error = result.problem if isinstance(result, Unusable) else ""
        holds = isinstance(result, list) and result[2] is True
        tests.append({"name": rule.shown, "passed": holds, "error": error, "file": file, "line": line})
    return {"tests": tests}


def _input(plan: bytes) -> Any:
    """Return the plan as the engine takes it. No rule says anything of what is no plan: that must not pass."""
    try:
        document = json.loads(plan)
        if isinstance(document, dict):
            return held(document)
    except (ValueError, RecursionError):
        pass
    raise Unusable("The plan is not JSON that can be read as a plan")


def _engine(policies: Policies) -> regopy.Interpreter:
    engine = regopy.Interpreter()
    engine.log_level = regopy.LogLevel.NONE
    for name, source in policies.modules.items():
        try:
            engine.add_module(name, source)
        except regopy.RegoError as error:
            raise policies.unusable(str(error)) from None
    if policies.data:
        engine.add_data_json(json.dumps(policies.data, default=str, ensure_ascii=False))
    return engine


def _rules(policies: Policies) -> list[Rule]:
    """Return all rules and functions, by what the policies are compiled to. Refuse functions that do not work here.

    The engine takes a call of a function that it cannot carry out for undefined: a rule with it would never refuse
    anything.
    """
    engine = _engine(policies)
    compiled = _compiled(policies, engine, None)
    with tempfile.TemporaryDirectory() as directory:
        engine.save_bundle(directory, compiled)
        plan = json.loads((Path(directory) / "plan.json").read_bytes())
    for used in plan["static"].get("builtin_funcs") or ():
        name = used["name"]
        if name in _REFUSED or not engine.is_builtin(name):
            file, line = policies.find(name)
            raise Unusable(f"The function {name} is not available to policies here", file, line)
    packages = sorted({_package(source) for source in policies.modules.values()}, key=len, reverse=True)
    found = (_rule(function["name"], packages) for function in plan["funcs"]["funcs"])
    rules = list(dict.fromkeys(rule for rule in found if rule is not None))
    _refuse_hidden(policies, rules)
    return rules


def _refuse_hidden(policies: Policies, rules: Iterable[Rule]) -> None:
    """Refuse data of the name of a rule: to the engine it is there in place of the rule."""
    for path in [(_ASKING,), *((*rule.package, rule.name) for rule in rules)]:
        above: Any = policies.data
        for part in path[:-1]:
            above = above.get(part) if isinstance(above, dict) else None
        if isinstance(above, dict) and path[-1] in above:
            raise Unusable(f"Data has the name of a rule, {'.'.join(path)}, and would hide it. Give it another one")


def _rule(function: str, packages: Iterable[tuple[str, ...]]) -> Rule | None:
    name = function.partition(".data.")[2]
    for package in packages:
        before = ".".join(package) + "."
        if name.startswith(before):
            return Rule(package, name.removeprefix(before))
    return None


_PACKAGE = re.compile(
    r"""^\s*package\s+([A-Za-z_]\w*)((?:\s*\.\s*[A-Za-z_]\w*|\s*\[\s*"[^"\n]*"\s*\])*)""", re.MULTILINE
)
_PART = re.compile(r"""\.\s*([A-Za-z_]\w*)|\[\s*"([^"\n]*)"\s*\]""")


def _package(source: str) -> tuple[str, ...]:
    found = _PACKAGE.search(source)
    if found is None:
        return ()
    return (found[1], *(plain or quoted for plain, quoted in _PART.findall(found[2])))


def _compiled(policies: Policies, engine: regopy.Interpreter, entrypoints: Sequence[str] | None) -> regopy.Bundle:
    bundle = engine.build(None if entrypoints else "true", entrypoints or ())
    if not bundle.ok():
        raise policies.unusable(_text_of(bundle.node()))
    return bundle


def _results(policies: Policies, rules: Sequence[Rule], plan: Any) -> Iterator[list[Any] | Unusable | None]:
    """Yield for each rule its type, the elements or keys, and the value; None where it is undefined.

    Sets of Rego's older syntax are objects to the engine, whose keys are their elements.
    """
    if not rules:
        return
    asking = [
        f"r{number} := [[type_name(x), [k | x[k]], x] | x := {rule.reference}]" for number, rule in enumerate(rules)
    ]
    engine = _engine(policies)
    engine.add_module("asking.rego", "\n".join((f"package {_ASKING}", "import rego.v1", *asking)))
    bundle = _compiled(policies, engine, [f"{_ASKING}/r{number}" for number in range(len(rules))])
    if plan is not None:
        engine.set_input(plan)
    for number, rule in enumerate(rules):
        yield _result(policies, rule, engine, bundle, f"{_ASKING}/r{number}")


def _result(
    policies: Policies, rule: Rule, engine: regopy.Interpreter, bundle: regopy.Bundle, entrypoint: str
) -> list[Any] | Unusable | None:
    try:
        found: list[list[Any]] = answer(engine, bundle, entrypoint) or []
    except (regopy.RegoError, Failed) as error:
        return policies.unusable(str(error), rule.name)
    return found[0] if found else None


def _told_rule(policies: Policies, rule: Rule, result: list[Any] | Unusable | None) -> dict[str, Any]:
    values = _elements(policies, rule, result)
    return {
        "package": ".".join(rule.package),
        "name": rule.name,
        "values": [_bounded(value) for value in values[:_VALUES]],
        "more": max(0, len(values) - _VALUES),
    }


def _elements(policies: Policies, rule: Rule, result: list[Any] | Unusable | None) -> list[Any]:
    if isinstance(result, Unusable):
        result.problem = f"{rule.shown}: {result.problem}"
        raise result
    if result is None:
        return []
    kind, keys, value = result
    if kind in {"set", "object"}:
        return list(keys)
    if kind == "array":
        return list(value)
    if kind == "string":
        return [value]
    if value is False or value is None:
        return []
    file, line = policies.find(rule.name)
    raise Unusable(
        f"{rule.shown} is a {kind}, and is to be a set of messages: {rule.name} contains msg if {{ … }}", file, line
    )


def _bounded(value: Any) -> Any:
    """Return a value as it is, or what can be said of one that is too large."""
    if len(json.dumps(value)) <= _LETTERS:
        return value
    if isinstance(value, dict):
        return {key: value[key] for key in ("msg", "address", "resource") if _is_short(value.get(key))} or {
            "msg": str(value.get("msg", value))[:_LETTERS]
        }
    return (value if isinstance(value, str) else json.dumps(value))[:_LETTERS]


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LETTERS // 4


def _text_of(node: regopy.Node) -> str:
    """Return an error's text, of the first where there are several."""
    text = str(node)
    return text if "(errormsg" in text or not len(node) else str(node.at(0))


def _told_message(text: str) -> str:
    """Return the sentence in the engine's description of an error."""
    found = _MESSAGE.search(text)
    return found[2].strip()[:500] if found else "The engine cannot evaluate this"


def _named(problem: str) -> str:
    """Return the name that an error is about, such as that of an unknown function."""
    found = re.search(r"(?:not found|rule body): (?:data\.)?([\w.]+)", problem)
    return found[1].rpartition(".")[2] if found else ""


if __name__ == "__main__":
    main()
