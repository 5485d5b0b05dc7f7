"""A program that reads the engine's credentials as AWS's own library does, and prints what a test looks for."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time

from botocore.credentials import ContainerProvider
from botocore.exceptions import CredentialRetrievalError, MetadataRetrievalError

#: As a line of a shell.
COMMAND = shlex.join([sys.executable, __file__])


def main(arguments: list[str]) -> int:
    """Print the key that is given now; with ``another``, wait for the next one, or why there is none."""
    given: list[str] = []
    wanted = 2 if arguments == ["another"] else 1
    deadline = time.monotonic() + 30
    while len(given) < wanted and time.monotonic() < deadline:
        try:
            loaded = ContainerProvider(environ=dict(os.environ)).load()
            assert loaded is not None
            key = loaded.get_frozen_credentials().access_key
        except (CredentialRetrievalError, MetadataRetrievalError) as error:
            print(f"refused: {json.dumps(str(error))}")  # noqa: T201  # A program of steps.
            return 1
        if key not in given:
            given.append(key)
            print(f"given: {key}", flush=True)  # noqa: T201  # A program of steps.
        time.sleep(0.05)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
