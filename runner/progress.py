"""Which engine output may be shown before secret values are known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: Longer lines are no progress, and are ignored.
_LONGEST = 1000
#: Engines allow letters of any script in names.
_NAME = r"[^\W\d][\w-]*"
#: Instance keys are never secret: Terraform refuses sensitive ones.
_KEY = r"(?:\[(?:[0-9]+|\"(?:[^\"\\]|\\.)*\")\])?"
#: A resource's address. Engines escape quotes, backslashes and line breaks in keys.
ADDRESS = rf"{_NAME}{_KEY}(?:\.{_NAME}{_KEY})+"
_ACTS = r"(?:Refreshing state|Reading|Still reading|Preparing import|Importing|Opening|Still opening|Closing)\.\.\."
_DONE = r"(?:Read|Opening|Closing) complete after [0-9hms.]+"
_PROGRESS = re.compile(rf"(?P<shown>{ADDRESS}: (?:{_ACTS}|{_DONE}))(?: \[.*\])?")
_LOCKS = re.compile(r"(?:Acquiring|Releasing) state lock\. This may take a few moments\.\.\.")
#: The engine's line at the end of its progress: later lines contain values.
_TEXT_BEGINS = re.compile(
    r"(?:│ )?(?:Error|Warning): |╷|(?:Terraform|OpenTofu) (?:used the selected providers|will perform|has compared"
    r"|planned)|No changes\.|Changes to Outputs:|Note: Objects have changed outside|Planning failed"
)
#: The fixed words of an error's first line, up to a possible value, and its location.
_DIAGNOSTIC = re.compile(r"(?:│ )?(?:Error|Warning): |╷")
_HEADLINE = re.compile(r"(?:│ )?((?:Error|Warning): [A-Za-z][A-Za-z ,'-]{0,100})")
_LOCATION = re.compile(r"(?:│ )? {1,4}on ([A-Za-z0-9_./-]{1,200}) line ([0-9]{1,9})")
_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json", ".hcl")


class PlanProgress:
    """Progress lines of a plan, without the ids of read resources: providers choose these."""

    def __init__(self) -> None:
        self._over = False

    def __call__(self, line: str) -> str:
        """Return the part of a line that is shown immediately, empty for nothing."""
        line = line.removesuffix("\r")
        self._over = self._over or _TEXT_BEGINS.match(line) is not None
        if self._over or len(line) > _LONGEST:
            return ""
        if _LOCKS.fullmatch(line):
            return line
        progress = _PROGRESS.fullmatch(line)
        return progress["shown"] if progress else ""


def outline(lines: Iterable[str]) -> Iterator[str]:
    """Yield the kinds and locations of errors and warnings in these lines, without possible values."""
    for line in lines:
        if headline := _HEADLINE.match(line):
            yield headline[1].rstrip()
        elif location := _LOCATION.match(line):
            yield f"  on {location[1]} line {location[2]}"


def failed_before_values(lines: Iterable[str]) -> bool:
    """Tell whether these lines of a failed plan contain only errors, and quote only configuration.

    Everybody who may read the log may read the configuration anyway.
    """
    progress, errors = PlanProgress(), 0
    for line in lines:
        text = line.rstrip("\n")
        errors += _DIAGNOSTIC.match(text) is not None
        if not errors and text.strip() and not progress(text):
            return False
        location = _LOCATION.match(text)
        if location and not location[1].endswith(_CONFIGURATION):
            return False
    return errors > 0


def tells_secrets_of_failed_plans(engine: str, version: str) -> bool:
    """Tell whether an engine stores a plan that failed while values were computed: Terraform does since 1.6."""
    major, minor = (int(number) for number in version.split(".")[:2])
    return engine != "terraform" or (major, minor) >= (1, 6)
