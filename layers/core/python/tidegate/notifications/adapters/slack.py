"""The installation's apps in Slack: their signing secrets, and replies to clicks on buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidegate.notifications.adapters.receivers import post
from tidegate.notifications.rules.destination import url_problem
from tidegate.notifications.rules.outgoing import NotDelivered

#: Where Slack takes replies: no request makes Tidegate call another address.
REPLIES = "https://hooks.slack.com/"
#: Seconds that a reply may take: Slack waits for three in all.
_MOST_SECONDS = 1.5
_JSON = "application/json; charset=utf-8"


class HttpSlackApps:
    """The port ``SlackApps``. ``names`` are those of the apps' secrets, ``secret`` returns the fields of one.

    In the local cloud, replies also go to the loopback interface.
    """

    def __init__(
        self, names: Sequence[str], secret: Callable[[str], Mapping[str, str]], *, is_local: bool = False
    ) -> None:
        self._names, self._secret, self._is_local = names, secret, is_local

    def names(self) -> Sequence[str]:
        return self._names

    def signing_secret(self, name: str) -> str:
        return self._secret(name).get("signing_secret", "")

    def reply(self, url: str, body: bytes) -> None:
        is_slack = url.startswith(REPLIES)
        if url_problem(url, is_local=self._is_local) or not (is_slack or url.startswith("http://")):
            raise NotDelivered("Slack", f"replies go to {REPLIES} only")
        post("Slack", url, body, {"content-type": _JSON}, _MOST_SECONDS)
