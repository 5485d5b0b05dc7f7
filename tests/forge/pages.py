"""The forge's pages as a browser without scripts asks for them and reads them."""

from __future__ import annotations

import http.client
import re
import urllib.parse
from html.parser import HTMLParser

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3))<form action=//evil.invalid>"


def ask(forge, method, path, form=None, user="maintainer", **headers):
    """Return status, headers and text of one request, redirects not followed."""
    connection = http.client.HTTPConnection("127.0.0.1", forge.port, timeout=60)
    body = urllib.parse.urlencode(form) if form is not None else None
    kind = {"Content-Type": "application/x-www-form-urlencoded"} if form is not None else {}
    connection.request(method, path, body, {"Cookie": f"forge_user={user}", **kind, **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def tags_of(page):
    """Return every tag of a page with its attributes, as a browser reads them."""

    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, dict(attrs)))

    Reader().feed(page)
    return found


def csrf(page):
    return re.search(r'name="csrf" value="([0-9a-f]+)"', page).group(1)
