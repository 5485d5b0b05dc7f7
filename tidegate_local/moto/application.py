"""moto's server application, which finds out only once which backend serves a host."""

from __future__ import annotations

import functools
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app


class MotoApplication(DomainDispatcherApplication):
    """A WSGI application; bodies must be in memory. moto's own lists the package's directory twice for each request."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._backends = functools.lru_cache(256)(super().get_backend_for_host)

    def get_backend_for_host(self, host: str | None) -> Any:
        """Return the name of the backend that serves this host, or None."""
        return self._backends(host)
