"""Has asl-validator look at the state machines: ``make lint`` runs it. Exits 1 on any finding.

It comes from npm, locked with its hashes in validator/, and runs on the node of the Python environment. It knows less
than AWS of two forms, which it is shown as expressions that mean the same:

- ``Output`` of a text that is no expression: AWS takes any JSON value
  (https://docs.aws.amazon.com/step-functions/latest/dg/state-succeed.html).
- ``Assign``, ``Arguments`` or ``Output`` with an empty text: any JSON value as well
  (https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stepfunctions.render import every_machine
from tidegate_cdk.node import NODE, npm_program, path_with_node

HERE = Path(__file__).resolve().parent
_INSTALLED = HERE.parent / "build" / "asl-validator"
_LOOK = """
const validate = require("asl-validator");
const found = validate(JSON.parse(require("fs").readFileSync(0)));
for (const error of found.errors) console.log(error["Error code"] + ": " + error.Message);
process.exit(found.isValid ? 0 : 1);
"""


def as_expressions(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition in which plain texts stand as expressions where the validator knows nothing else."""
    states = {}
    for name, state in definition["States"].items():
        shown = dict(state)
        output = shown.get("Output")
        if isinstance(output, str) and not output.startswith("{%"):
            shown["Output"] = f"{{% {json.dumps(output)} %}}"
        shown |= {key: _without_empty(shown[key]) for key in ("Assign", "Arguments", "Output") if key in shown}
        if "ItemProcessor" in shown:
            shown["ItemProcessor"] = as_expressions(shown["ItemProcessor"])
        states[name] = shown
    return {**definition, "States": states}


def _without_empty(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_empty(each) for key, each in value.items()}
    return "{% '' %}" if value == "" else value


def findings(definition: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the validator says of a definition. Raise CalledProcessError when it cannot be installed."""
    done = subprocess.run(
        [str(NODE), "-e", _LOOK],
        input=json.dumps(as_expressions(definition)),
        cwd=_installed(),
        capture_output=True,
        text=True,
        check=False,
    )
    yield from told(done)


def told(done: subprocess.CompletedProcess[str]) -> Iterator[str]:
    """Yield what the validator wrote if it did not succeed; at least that, if it ended without a word."""
    if done.returncode:
        yield from (done.stdout + done.stderr).splitlines() or [f"It ended with {done.returncode} and said nothing."]


def _installed() -> Path:
    """Return the directory that the validator is installed in, as its lock file says."""
    lock = (HERE / "validator" / "package-lock.json").read_bytes()
    mark = _INSTALLED / "installed.json"
    if not mark.is_file() or mark.read_bytes() != lock:
        _INSTALLED.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / "validator" / name, _INSTALLED / name)
        install = [*npm_program("npm"), "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(install, cwd=_INSTALLED, env={**os.environ, "PATH": path_with_node()}, check=True)
        mark.write_bytes(lock)
    return _INSTALLED


def main() -> int:
    """Look at every state machine and return the exit code."""
    found = [f"{name}: {line}" for name, text in every_machine() for line in findings(json.loads(text))]
    sys.stdout.writelines(f"asl-validator: {line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
