"""What a smoke test calls all that it makes: everything begins with its prefix."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

_PREFIX = re.compile(r"smoke-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one smoke test. ``prefix`` is the installation's, and no other installation's."""

    prefix: str

    @property
    def stack(self) -> str:
        """The stack, as the template's settings derive it from the prefix."""
        return self.prefix.capitalize()

    @property
    def root(self) -> str:
        """The root that is deployed: its name, and its directory in the repository."""
        return self.prefix

    @property
    def webhook_secret(self) -> str:
        return f"{self.prefix}/webhook-secret"

    @property
    def app_secret(self) -> str:
        return f"{self.prefix}/github-app"

    @property
    def probe(self) -> str:
        """The queue that hears what the alarm topic delivers."""
        return f"{self.prefix}-alarm-probe"

    def state_bucket(self, account: str, region: str) -> str:
        """The bucket of the root's state. Buckets of all accounts have names of their own."""
        return f"{self.prefix}-states-{account}-{region}"

    def is_ours(self, name: str) -> bool:
        """Tell whether something of this name belongs to this smoke test: no name of another one begins so."""
        own = name.rpartition("/")[2] if name.startswith("/aws/") else name
        begin, rest = own[: len(self.prefix)].lower(), own[len(self.prefix) :]
        return begin == self.prefix and not rest[:1].isalnum()


def new_names() -> Names:
    """Return names that nothing has yet, but by a chance of one in four billions."""
    return Names(f"smoke-{secrets.token_hex(4)}")


def is_prefix(text: str) -> bool:
    """Tell whether this is the prefix of a smoke test: no other installation's is taken for one."""
    return _PREFIX.fullmatch(text) is not None
