"""The supervising process of a local cloud: starts it, prints its addresses, and ends it on request.

``python -m tidegate_local.serve`` reads its options as one JSON line from standard input, prints its
steps and then its information as JSON, a line each, and runs until SIGINT, SIGTERM or the end of standard input.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import traceback

from tidegate_local.cloud import Cloud
from tidegate_local.options import Options
from tidegate_local.stack.synth import SynthFailed

#: Characters of a message: moto adds whole definitions of states to what fails in them.
_LONGEST = 1000


class Short(logging.Formatter):
    """Messages without what nobody reads to its end."""

    def format(self, record: logging.LogRecord) -> str:
        lines = (
            line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …" for line in super().format(record).split("\n")
        )
        return "\n".join(lines)


def main() -> int:
    """Serve until told to end. Return the exit code."""
    if logging.lastResort is not None:  # Nothing else is set up: what warns goes to standard error.
        logging.lastResort.setFormatter(Short())
    # Dozens of threads pass small requests on to each other: by default each may keep the others waiting for 5 ms.
    sys.setswitchinterval(0.0005)
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    options = Options.model_validate_json(sys.stdin.readline())
    cloud = Cloud(options, lambda step: print(json.dumps({"step": step}), file=answers, flush=True))
    threading.Thread(target=_until_left_alone, args=(end,), daemon=True).start()
    code = 0
    try:
        cloud.start()
        print(json.dumps(cloud.info()), file=answers, flush=True)
        end.wait()
    except Exception as error:  # noqa: BLE001 - the edge of the process: the caller is told.
        print(json.dumps(_told(error)), file=answers, flush=True)
        code = 1
    finally:
        cloud.close()
    return code


def _told(error: Exception) -> dict[str, str]:
    """Return what the caller is told: what the app refuses as it is, and of all else the trace as well."""
    if isinstance(error, SynthFailed):
        return {"error": str(error)}
    return {"error": f"{type(error).__name__}: {error}", "trace": "".join(traceback.format_exception(error))}


def _until_left_alone(end: threading.Event) -> None:
    """End with the process that started us: then standard input is closed."""
    while sys.stdin.readline():
        pass
    end.set()


if __name__ == "__main__":
    _code = main()
    sys.stderr.flush()
    # Threads that still serve something must not hold the process back.
    os._exit(_code)
