"""An HTTP server's answers as GitHub gives them, by method and path."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

REPOSITORY, INSTALLATION = "acme/infrastructure", 7
INSTALLED = f"/repos/{REPOSITORY}/installation"
TOKENS = f"/app/installations/{INSTALLATION}/access_tokens"
NOW = 1_800_000_000.0


@dataclass
class Received:
    method: str
    path: str
    authorization: str
    body: dict | None


@dataclass
class GitHubStub:
    """Answers requests from ``script`` (method and path to a line of answers; the last one stays)."""

    url: str = ""
    script: dict[tuple[str, str], deque] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    tokens: int = 0

    def on(self, method, path, *answers):
        self.script[method, path] = deque(answers)

    def answer(self, request):
        self.received.append(request)
        path = request.path.partition("?")[0]
        if (request.method, path) == ("POST", TOKENS) and ("POST", TOKENS) not in self.script:
            self.tokens += 1
            return 201, {"token": f"token-{self.tokens}", "expires_at": "2027-01-15T09:00:00Z"}, {}
        if request.method == "GET" and path.endswith("/installation") and ("GET", path) not in self.script:
            return 200, {"id": INSTALLATION, "account": {"login": path.split("/")[2]}}, {}
        answers = self.script[request.method, path]
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        return answer if len(answer) == 3 else (*answer, {})

    def asked(self, method, path):
        return [
            request for request in self.received if (request.method, request.path.partition("?")[0]) == (method, path)
        ]


def repo(path):
    return f"/repos/{REPOSITORY}/{path}"
