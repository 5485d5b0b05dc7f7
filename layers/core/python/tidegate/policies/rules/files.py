"""The stored files of a policy set: one document, identified by its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

#: Where documents are in the artifact bucket, and where operators put the organization's sets.
STORED, ORGANIZATION = "policies/", "configuration/policies/"
#: Bytes of all files, and of one. Policies are written by hand; more is a mistake.
MAXIMUM_FILES, MAXIMUM_BYTES, MAXIMUM_FILE = 500, 4 << 20, 1 << 20
_SUFFIXES = (".rego", ".json", ".yaml", ".yml")
_TEST = "_test.rego"
#: Directories for tests of policies.
_TEST_DATA = "testdata"


def is_policy_file(path: str) -> bool:
    """Tell whether a file is a policy or its data, and no test: used for evaluating plans."""
    parts = path.split("/")
    return path.endswith(_SUFFIXES) and not path.endswith(_TEST) and _TEST_DATA not in parts[:-1]


def is_file_of_tests(path: str) -> bool:
    """Tell whether a file is used for testing policies: policies, their tests, and data except that of tests."""
    return is_policy_file(path) or path.endswith(_TEST)


def is_below(path: str, directory: str) -> bool:
    """Tell whether a file is in a directory or below it; ``.`` is the top."""
    return directory == "." or path.startswith(f"{directory}/")


def problem_with(files: Mapping[str, bytes]) -> str:
    """Return why these files are no policy set, empty where they are one."""
    if not any(path.endswith(".rego") for path in files):
        return "There are no policies: no file name there ends in .rego."
    if len(files) > MAXIMUM_FILES or sum(map(len, files.values())) > MAXIMUM_BYTES:
        return (
            f"The policy set is too large. The limit is {MAXIMUM_FILES} files and {MAXIMUM_BYTES >> 20} MiB in total."
        )
    return next((f"{path} is not UTF-8." for path, content in files.items() if not _is_text(content)), "")


def packed(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Return the key and the content of the document that holds the files, which are UTF-8."""
    texts = {path: content.decode() for path, content in sorted(files.items())}
    content = json.dumps({"files": texts}, ensure_ascii=False).encode()
    return f"{STORED}{sha256(content).hexdigest()}.json", content


def unpacked(content: bytes) -> Mapping[str, bytes]:
    """Return the files of a document."""
    files: dict[str, str] = json.loads(content)["files"]
    return {path: text.encode() for path, text in files.items()}


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
