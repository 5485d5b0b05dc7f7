"""The root modules of the soak: each apply leaves a mark in the state, and a line in a journal outside of it."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

_MARK = re.compile(r"^# mark: (\S+)$", re.MULTILINE)
_MODULE = """# mark: {mark}
terraform {{
  backend "s3" {{
    bucket         = "{bucket}"
    key            = "soak/{root}.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }}
}}

resource "terraform_data" "record" {{
  input            = {value}
  triggers_replace = "{mark}"
  provisioner "local-exec" {{
    command = "echo {root} {mark} begin $(date +%s.%N) >> {journal}; sleep {seconds}; {last}"
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """Where modules keep their states, and where they write what they do."""

    bucket: str
    journal: Path

    def module(self, root: str, mark: str, chance: random.Random, faults: int = 6) -> str:
        """Return a root module: most work, of 100 so many fail when they are planned, as many when they are applied."""
        kind = chance.choices(("works", "plan fails", "apply fails"), (100 - 2 * faults, faults, faults))[0]
        end = f"echo {root} {mark} end $(date +%s.%N) >> {self.journal}"
        return _MODULE.format(
            mark=mark,
            root=root,
            bucket=self.bucket,
            journal=self.journal,
            seconds=chance.choice((0, 0, 0.2, 1.5)),
            value="var.missing" if kind == "plan fails" else f'"{mark}"',
            last="exit 3" if kind == "apply fails" else end,
        )


def mark_of(module: str) -> str:
    """Return the mark of a module's text."""
    found = _MARK.search(module)
    return found.group(1) if found else ""
