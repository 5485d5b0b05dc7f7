"""Evaluate Rego policies with regorus in a separate process (docs/decisions/0113, 0176)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidegate.policies.rules.plan_secrets import masking
from tidegate.policies.rules.policy import PolicyVerdict
from tidegate.policies.rules.results import RuleResult, findings, plan_addresses
from tidegate.policies.rules.tested_policies import TestedPolicies, TestedRule

#: Memory limit in bytes.
MEMORY = 2_500 << 20
_PROGRAM = "tidegate.policies.rego.program"
_SUFFIXES = (".rego", ".json", ".yaml", ".yml")
#: Exit status after exceeding the memory limit.
_TOO_MUCH = 77
#: Bytes of the engine's message after a crash.
_LAST_WORDS = 2000
#: The engine's message for variables without a value: it continues, but the rule would never match.
_UNORDERED = b"could not schedule all statements"
#: The inherited environment: library paths. The rest holds credentials.
_KEPT = ("LD_LIBRARY_PATH", "PATH", "TMPDIR")


class RegoEngine:
    """The port ``PolicyEngine``. A process that exceeds its time limit, or ``memory`` bytes, is killed."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory

    def check(
        self, policy_set: str, files: Mapping[str, bytes], namespaces: Sequence[str], plan: bytes, seconds: int
    ) -> PolicyVerdict:
        answer = self._answer({"mode": "check", "namespaces": list(namespaces), "seconds": seconds}, files, plan)
        if "error" in answer:
            return PolicyVerdict(policy_set, (), answer["error"], answer.get("file", ""), answer.get("line", 0))
        results = [RuleResult(each["package"], each["name"], tuple(each["values"])) for each in answer["rules"]]
        document = json.loads(plan)
        found, mask = findings(results, answer["exceptions"], plan_addresses(document)), masking(document)
        shown = tuple(replace(each, message=mask(each.message), address=mask(each.address)) for each in found)
        return PolicyVerdict(policy_set, shown, omitted=sum(each["more"] for each in answer["rules"]))

    def test(self, files: Mapping[str, bytes], seconds: int) -> TestedPolicies:
        answer = self._answer({"mode": "test", "seconds": seconds}, files, b"")
        if "error" in answer:
            return TestedPolicies((), answer["error"], answer.get("file", ""), answer.get("line", 0))
        return TestedPolicies(tuple(TestedRule(**each) for each in answer["tests"]))

    def _answer(self, request: Mapping[str, Any], files: Mapping[str, bytes], plan: bytes) -> dict[str, Any]:
        texts = {}
        for path, content in files.items():
            if path.endswith(_SUFFIXES):
                try:
                    texts[path] = content.decode("utf-8-sig")
                except UnicodeDecodeError:
                    return {"error": "This file is not UTF-8", "file": path}
        line = json.dumps({**request, "files": texts, "memory": self._memory}).encode()
        return self._run(b"%s\n%s" % (line, plan), request["seconds"])

    def _run(self, given: bytes, seconds: int) -> dict[str, Any]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**kept, "PYTHONPATH": paths, "RUST_BACKTRACE": "0"}
        try:
            ended = subprocess.run(
                [sys.executable, "-B", "-m", _PROGRAM],
                input=given,
                capture_output=True,
                env=environment,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": _too_long(seconds)}
        try:
            answer: dict[str, Any] = json.loads(ended.stdout)
        except ValueError:
            return {"error": self._ending(ended.returncode, ended.stderr[-_LAST_WORDS:], seconds)}
        if _UNORDERED in ended.stderr and "error" not in answer:
            return {"error": "A rule has an unbound variable, or variables that depend on each other"}
        return answer

    def _ending(self, code: int, words: bytes, seconds: int) -> str:
        if -code in {signal.SIGXCPU, signal.SIGKILL}:
            return _too_long(seconds)
        if code == _TOO_MUCH or b"memory allocation of" in words:
            return self._too_much()
        return "The Rego engine crashed. Typical causes are recursive functions and deep nesting. Simplify the policies"

    def _too_much(self) -> str:
        return f"The policies exceeded the memory limit of {self._memory >> 20} MiB. Simplify them"


def _too_long(seconds: int) -> str:
    return f"The policies exceeded the time limit of {seconds} s. Simplify them"
