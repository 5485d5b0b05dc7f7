"""Hold the engine of policies against the cases of this directory, which say how OPA evaluates Rego.

``python run.py`` prints the cases that fail, and exits with 1 if there are any: the image of the function
``check_policies`` is not built with an engine that judges otherwise than the one that was tested.

A case is an ``expr``, or a module's rules in ``v1`` and in ``v0``, the two versions of the syntax, of which ``p`` is
asked. It wants a value (``want``; sets are lists, in OPA's order), ``undefined``, or ``refused``: true, or what the
refusal names. ``input``, ``data`` and other ``modules`` are optional.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tidegate.policies.rego.policies import Unusable
from tidegate.policies.rego.program import read

HERE = Path(__file__).parent
FILES = sorted(path.stem for path in HERE.glob("*.yaml"))


def cases(file: str) -> list[dict[str, Any]]:
    """Return the cases of a file."""
    found: list[dict[str, Any]] = yaml.load((HERE / f"{file}.yaml").read_text(), yaml.CSafeLoader)
    return found


def failures(file: str) -> Iterator[str]:
    """Yield what the engine does otherwise than a file's cases say."""
    for case in cases(file):
        for version in ("v0", "v1"):
            rules = case.get(version) or (f"p := {case['expr']}" if "expr" in case else None)
            if rules is not None:
                found, wanted = _evaluated(case, version, rules), _wanted(case)
                if not _agree(found, wanted):
                    yield f"{file}: {version}: {case.get('note') or case['expr']}: {found!r}, and not {wanted!r}"


def _wanted(case: dict[str, Any]) -> tuple[str, Any]:
    if "refused" in case:
        return "refused", case["refused"]
    return ("undefined", None) if case.get("undefined") else ("value", case["want"])


def _evaluated(case: dict[str, Any], version: str, rules: str) -> tuple[str, Any]:
    # A rule that is valid in one version only makes the file one of that version.
    mark = "version_1 if true" if version == "v1" else "version_0 { true }"
    imports = "import future.keywords.in\n" if version == "v0" and "expr" in case else ""
    files = {"t.rego": f"package t\n{imports}{rules}\n{mark}\n"}
    files |= {f"{number}.rego": module for number, module in enumerate(case.get("modules", ()))}
    if "data" in case:
        files["data.json"] = json.dumps(case["data"])
    try:
        _, engine = read(files, tests=False)
        if "input" in case:
            engine.set_input_json(json.dumps(case["input"]))
        (result,) = json.loads(engine.eval_query_as_json("[x | x := data.t.p]"))["result"]
    except (Unusable, RuntimeError) as error:
        return "refused", error.problem if isinstance(error, Unusable) else str(error)
    values = result["expressions"][0]["value"]
    return ("value", values[0]) if values else ("undefined", None)


def _agree(found: tuple[str, Any], wanted: tuple[str, Any]) -> bool:
    if wanted[0] != "refused" or found[0] != "refused":
        return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)
    return wanted[1] is True or wanted[1] in found[1]


def main() -> int:
    """Print what fails, and how many cases there are."""
    failed = [line for file in FILES for line in failures(file)]
    number = sum(len(cases(file)) for file in FILES)
    sys.stdout.write("".join(f"{line}\n" for line in (*failed, f"{number} cases, {len(failed)} failures")))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
