"""The root modules of the soak: each apply leaves a mark in the state, and a line in a journal outside of it."""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass
from pathlib import Path

#: What a policy of the repository denies.
FORBIDDEN = "forbidden"
#: What every secret begins with: no log, page or comment may ever hold one.
SECRET = "canary"  # noqa: S105 - so that it is found.
_MARK, _KIND = re.compile(r"^# mark: (\S+)$", re.MULTILINE), re.compile(r"^# kind: (.+)$", re.MULTILINE)
_BROKEN, _FAILS, _DENIED = "plan fails", "apply fails", "is denied"
_MODULE = """# mark: {mark}
# kind: {kind}
terraform {{
  backend "s3" {{
    bucket         = "{bucket}"
    key            = "{prefix}/{root}.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }}
}}

variable "password" {{
  default   = "{secret}"
  sensitive = true
}}

resource "terraform_data" "record" {{
  input            = {value}
  triggers_replace = "{mark}"
  provisioner "local-exec" {{
    command = "echo {root} {mark} begin $(date +%s.%N) >> {journal}; echo {secret}; sleep {seconds}; {last}"
  }}
}}

resource "terraform_data" "secret" {{
  input = var.password
}}

resource "terraform_data" "policed" {{
  input = "{policed}"
}}

resource "terraform_data" "outside" {{
  input = fileexists("{outside}") ? file("{outside}") : ""
}}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """Where the modules of a repository keep their states, and where they write what they do."""

    bucket: str
    prefix: str
    directory: Path

    @property
    def journal(self) -> Path:
        """The file to which applies write."""
        return self.directory / "journal"

    @property
    def plans(self) -> Path:
        """The file to which plans write."""
        return self.directory / "plans"

    def outside(self, root: str) -> Path:
        """Return the file that changes what a root should be, without any commit."""
        return self.directory / f"{root}.outside"

    def module(self, root: str, mark: str, chance: random.Random, faults: int = 6, denied: int = 0) -> str:
        """Return a root module: most work, of 100 so many fail when planned, as many when applied, and are denied."""
        kinds, odds = ("works", _BROKEN, _FAILS, _DENIED), (100 - 2 * faults - denied, faults, faults, denied)
        kind = chance.choices(kinds, odds)[0]
        end = f"echo {root} {mark} end $(date +%s.%N) >> {self.journal}"
        return _MODULE.format(
            mark=mark,
            kind=kind,
            root=root,
            bucket=self.bucket,
            prefix=self.prefix,
            journal=self.journal,
            outside=self.outside(root),
            secret=f"{SECRET}-{hashlib.sha256(f'{self.prefix} {root} {mark}'.encode()).hexdigest()[:24]}",
            policed=FORBIDDEN if kind == _DENIED else "allowed",
            seconds=chance.choice((0, 0, 0.2, 1.5)),
            value="var.missing" if kind == _BROKEN else f'"{mark}"',
            last="exit 3" if kind == _FAILS else end,
        )


def mark_of(module: str) -> str:
    """Return the mark of a module's text."""
    return _said(_MARK, module)


def cannot_be_planned(module: str) -> bool:
    """Tell whether a module's text has a mistake that every plan finds."""
    return _said(_KIND, module) == _BROKEN


def is_denied(module: str) -> bool:
    """Tell whether a policy of the repository denies what a module's text makes."""
    return _said(_KIND, module) == _DENIED


def _said(line: re.Pattern[str], module: str) -> str:
    found = line.search(module)
    return found.group(1) if found else ""
