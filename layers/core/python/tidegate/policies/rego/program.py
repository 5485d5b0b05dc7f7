"""The program that evaluates policies: a separate process with limits, because policies are untrusted code.

``policies/rego/engine.py`` starts it. Standard input is a line of JSON, the request, followed by the plan; the answer
is a JSON document on standard output. Output of the policies is dropped.

A policy that needs too much, or a defect, may crash the engine with a signal, which its parent reports.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import regorus
import yaml

from tidegate.policies.rego.builtins import add_missing
from tidegate.policies.rego.negation import UnsafeNegation, with_arguments_first
from tidegate.policies.rego.policies import (
    Policies,
    Rule,
    Unusable,
    own_names,
    refuse_hidden,
    refuse_unknown,
    translated_patterns,
)

#: Conftest's rules, and those of tests.
_RULES = re.compile(r"(?:deny|violation|warn)(?:_[A-Za-z0-9_]+)?")
_TESTS = re.compile(r"test_\w+")
_TEST_FILE = "_test.rego"
#: Values of one rule, and characters of one value's JSON, in the answer; more are counted, and cut.
_VALUES, _CHARACTERS = 2000, 8000
_BYTES_OF_FILES = 64 << 20
#: Limits of a policy file: the engine's own are too low for generated files.
_COLUMNS, _LINES, _BYTES = 1 << 20, 1 << 20, 8 << 20
#: Exit status after exceeding the memory limit.
TOO_MUCH = 77


def main() -> None:
    """Answer the request. An unexpected error ends the process, which its parent reports."""
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
    """Limit this process. A failed allocation ends it; macOS does not limit memory."""
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, _BYTES_OF_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        if limit != resource.RLIMIT_AS or sys.platform != "darwin":
            resource.setrlimit(limit, (value, value))


def _answer(request: Mapping[str, Any], plan: bytes) -> dict[str, Any]:
    if request["mode"] == "test":
        return _tested(*read(request["files"], tests=True))
    policies, engine = read(request["files"], tests=False)
    return _checked(policies, engine, request["namespaces"], plan)


def read(files: Mapping[str, str], *, tests: bool) -> tuple[Policies, regorus.Engine]:
    """Return the policies, and an engine with them and the data. Plans are evaluated without tests.

    Refuse policies that the engine would evaluate differently from OPA.
    """
    paths = sorted(path for path in files if path.endswith(".rego") and (tests or not path.endswith(_TEST_FILE)))
    if not paths:
        raise Unusable("There are no policies: no file name ends in .rego")
    data: dict[str, Any] = {}
    for path, content in sorted(files.items()):
        if not path.endswith(".rego"):
            _merge(data, _document(path, content), path)
    modules = [_parsed(number, files[path], paths) for number, path in enumerate(paths)]
    policies = Policies(paths, modules)
    refuse_unknown(policies)
    refuse_hidden([*policies.rules, *map(Rule, policies.functions)], data)
    engine = _engine()
    try:
        for module, path in zip(modules, paths, strict=True):
            engine.set_rego_v0(not module["ast"]["rego_v1"])
            engine.add_policy(module["source"]["file"], _as_evaluated(policies, module, path))
        engine.add_data_json(json.dumps(data, default=str, ensure_ascii=False))
        engine.eval_query_as_json("true")  # This makes the engine check variables.
    except RuntimeError as error:
        raise Unusable.of(error, paths) from None
    return policies, engine


def _engine() -> regorus.Engine:
    engine = regorus.Engine()
    engine.set_gather_prints(True)
    engine.set_policy_length_config(max_col=_COLUMNS, max_file_bytes=_BYTES, max_lines=_LINES)
    add_missing(engine)
    return engine


def _parsed(number: int, source: str, paths: Sequence[str]) -> dict[str, Any]:
    """Return a file's syntax tree in its version of the syntax: 1, or 0 if it is not valid in 1.

    No file is valid in both with two meanings. An invalid file fails with the later of the two errors: a file in the
    other version fails at its first rule.
    """
    mistakes = []
    for version0 in (False, True):
        engine = _engine()
        engine.set_rego_v0(version0)
        try:
            engine.add_policy(f"m{number}.rego", source)
        except RuntimeError as error:
            mistakes.append(Unusable.of(error, paths))
        else:
            (module,) = json.loads(engine.get_ast_as_json())
            return module  # type: ignore[no-any-return]  # It is JSON.
    raise max(mistakes, key=lambda mistake: (mistake.line, mistake.column))


def _as_evaluated(policies: Policies, module: Mapping[str, Any], path: str) -> str:
    try:
        own, patterns = own_names(policies, module), translated_patterns(policies, module)
        return with_arguments_first(module, own, patterns)
    except UnsafeNegation as unsafe:
        raise Unusable(f"The variable {unsafe.name} has no value inside not", path, unsafe.line) from None


def _document(path: str, content: str) -> dict[str, Any]:
    try:
        found = json.loads(content) if path.endswith(".json") else yaml.safe_load(content)
    except json.JSONDecodeError as error:
        raise Unusable(f"Invalid JSON: {error.msg}", path, error.lineno) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Unusable("Invalid YAML", path, mark.line + 1 if mark else 0) from None
    except RecursionError:
        raise Unusable("The document is nested too deep", path) from None
    except ValueError as error:  # Such as an impossible date, or a number of thousands of digits.
        raise Unusable(f"Invalid value: {error}", path) from None
    if not isinstance(found, dict):
        raise Unusable("The top level of a data file must be a mapping", path, 1)
    return found


def _merge(data: dict[str, Any], more: Mapping[str, Any], path: str, above: tuple[str, ...] = ()) -> None:
    for key, value in more.items():
        known = data.get(str(key))
        if isinstance(known, dict) and isinstance(value, dict):
            _merge(known, value, path, (*above, str(key)))
        elif str(key) in data and known != value:
            raise Unusable(f"Two data files set different values for {'.'.join((*above, str(key)))}", path)
        else:
            data[str(key)] = value


def _checked(policies: Policies, engine: regorus.Engine, namespaces: Sequence[str], plan: bytes) -> dict[str, Any]:
    judging = _of(policies, namespaces, _RULES)
    if not judging:
        raise Unusable(
            f"The package {' or '.join(namespaces)} has no rule deny, violation or warn. Add one, or list its package "
            "in 'namespaces'"
        )
    exceptions = _of(policies, namespaces, re.compile("exception"))
    _set_input(engine, plan)
    return {
        "rules": [_told_rule(policies, engine, rule) for rule in judging],
        "exceptions": {".".join(rule.package): _elements(policies, engine, rule) for rule in exceptions},
    }


def _of(policies: Policies, namespaces: Sequence[str], names: re.Pattern[str]) -> list[Rule]:
    rules = sorted(policies.rules)
    return [rule for rule in rules if ".".join(rule.package) in namespaces and names.fullmatch(rule.name)]


def _set_input(engine: regorus.Engine, plan: bytes) -> None:
    """Give the engine the plan. Rules say nothing about an invalid plan: that must not pass."""
    try:
        engine.set_input_json(plan.decode())
        if evaluated(engine, "is_object(input)") is True:
            return
    except (RuntimeError, UnicodeDecodeError):
        pass
    raise Unusable("The plan's JSON cannot be read")


def _tested(policies: Policies, engine: regorus.Engine) -> dict[str, Any]:
    tests: list[dict[str, Any]] = []
    for rule in sorted(rule for rule in policies.rules if _TESTS.fullmatch(rule.name)):
        error, holds = "", False
        try:
            holds = evaluated(engine, rule.reference) is True
        except RuntimeError as problem:
            error = Unusable.of(problem, policies.paths).problem
        file, line = policies.rules[rule]
        tests.append({"name": rule.shown, "passed": holds, "error": error, "file": file, "line": line})
    return {"tests": tests}


def evaluated(engine: regorus.Engine, query: str) -> Any:
    """Return the value of an expression, None where it is undefined. Sets are lists."""
    found = json.loads(engine.eval_query_as_json(query)).get("result")
    return found[0]["expressions"][0]["value"] if found else None


def _told_rule(policies: Policies, engine: regorus.Engine, rule: Rule) -> dict[str, Any]:
    values = _elements(policies, engine, rule)
    return {
        "package": ".".join(rule.package),
        "name": rule.name,
        "values": [_bounded(value) for value in values[:_VALUES]],
        "more": max(0, len(values) - _VALUES),
    }


def _elements(policies: Policies, engine: regorus.Engine, rule: Rule) -> list[Any]:
    """Return the elements of a set of messages. Conftest takes a list and a text as well."""
    file, line = policies.rules[rule]
    try:
        found = evaluated(engine, f"[type_name({rule.reference}), {rule.reference}]")
    except RuntimeError as error:
        problem = Unusable.of(error, policies.paths)
        raise Unusable(f"{rule.shown}: {problem.problem}", problem.file or file, problem.line or line) from None
    kind, value = found or ("undefined", None)
    if isinstance(value, list):
        return value
    if kind == "string":
        return [value]
    if value is False or value is None:
        return []
    raise Unusable(
        f"{rule.shown} has the type {kind}, but must be a set of messages: {rule.name} contains msg if {{ … }}",
        file,
        line,
    )


def _bounded(value: Any) -> Any:
    """Return a value unchanged, or a placeholder for one that is too large."""
    if len(json.dumps(value)) <= _CHARACTERS:
        return value
    if isinstance(value, dict):
        return {key: value[key] for key in ("msg", "address", "resource") if _is_short(value.get(key))} or {
            "msg": str(value.get("msg", value))[:_CHARACTERS]
        }
    return (value if isinstance(value, str) else json.dumps(value))[:_CHARACTERS]


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _CHARACTERS // 4


if __name__ == "__main__":
    main()
