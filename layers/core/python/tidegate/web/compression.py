"""Compression of answers: API Gateway passes on what a function sends, as it is."""

from __future__ import annotations

import base64
import gzip
import io
import secrets
from collections.abc import Mapping
from typing import Any

#: Bytes from which an answer is worth it.
_LEAST = 2000
#: Random bytes at most in an answer's header. Pages have secret tokens of forms beside what others chose: the length
#: of an answer must not tell whether these are alike (BREACH; Django's middleware does the same, "Heal the Breach").
_PADDING = 100


def compressed(answer: dict[str, Any], request: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer with its text compressed, if the request's headers accept that and it is worth it."""
    body = answer["body"] or ""
    accepts = any(word.strip().partition(";")[0] == "gzip" for word in request.get("accept-encoding", "").split(","))
    if answer["isBase64Encoded"] or not accepts or len(body) < _LEAST:
        return answer
    target = io.BytesIO()
    name = "x" * secrets.randbelow(_PADDING)
    with gzip.GzipFile(name, "wb", compresslevel=6, fileobj=target, mtime=0) as file:
        file.write(body.encode())
    headers = {**answer["headers"], "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    text = base64.b64encode(target.getvalue()).decode()
    return {**answer, "headers": headers, "body": text, "isBase64Encoded": True}
