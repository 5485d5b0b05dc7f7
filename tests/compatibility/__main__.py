"""Write what a release stores and sends: ``python -m tests.compatibility 1.0.0``, once, when it is released."""

from __future__ import annotations

import json
import sys

from tests.compatibility import filled, releases


def main(release: str) -> None:
    """Write the corpus of a release."""
    there = releases.CORPUS / release
    there.mkdir(parents=True)
    contents = {
        "records": {name: filled.filled_record(kind) for name, kind in filled.stored_records().items()},
        "messages": {name: filled.filled_message(kind) for name, kind in filled.messages().items()},
        "words": filled.words(),
        "api": releases.offered_api(),
        "events": releases.offered_events(),
    }
    for name, content in contents.items():
        (there / f"{name}.json").write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
