"""REST routes: each names its method, path and the permission that it needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.identity import Caller
from tidegate_local.forge.records import Repository
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.store import R

if TYPE_CHECKING:
    from tidegate_local.forge.hosting import Hosting

#: GitHub's list pages: how many entries unless asked, and at most.
PAGE_SIZE, LARGEST_PAGE = 30, 100


@dataclass(frozen=True, slots=True)
class Call:
    """One REST call: the forge behind it, who calls, the repository it names and the rest of the path."""

    hosting: Hosting
    request: Request
    caller: Caller
    path: dict[str, Any]
    found: Repository | None = None

    @property
    def repository(self) -> Repository:
        """The repository that the path names; routes with a repository always have it."""
        if self.found is None:
            raise RuntimeError("this route has no repository")
        return self.found

    def found_record(self, kind: type[R]) -> R:
        """Return the record of the repository that the path names by ``id``. Raise Refusal (404)."""
        try:
            record: R = self.hosting.store.get(kind, self.path["id"])
        except KeyError:
            raise not_found() from None
        if record.repository != self.repository.repository:
            raise not_found()
        return record

    def body(self) -> dict[str, Any]:
        """Return the request's JSON object. Raise Refusal (400)."""
        try:
            body = json.loads(self.request.get_data() or b"{}")
        except ValueError:
            raise Refusal(400, "Problems parsing JSON") from None
        if not isinstance(body, dict):
            raise Refusal(400, "Body should be a JSON object")
        return body

    def page(self) -> tuple[int, int]:
        """Return the number and size of the page of a list that is asked for."""
        size = self.request.args.get("per_page", PAGE_SIZE, type=int)
        return max(1, self.request.args.get("page", 1, type=int)), min(max(1, size), LARGEST_PAGE)


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """``needs`` is a permission such as ``checks:write``; ``who`` limits the kind of caller: none needs no credentials.

    ``readers`` says that people need no more than to read, as everybody who sees a pull request may speak there.
    """

    method: str
    path: str
    handler: Handler
    needs: str | None
    who: tuple[str, ...]
    readers: bool = False

    def allows(self, caller: Caller) -> bool:
        """Tell whether a caller of the right kind may do this."""
        if self.needs is None:
            return True
        return caller.may(
            f"{self.needs.partition(':')[0]}:read" if self.readers and caller.kind == "person" else self.needs
        )


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes of one module, in the order of their definition."""

    routes: list[Route] = field(default_factory=list)

    def add(
        self,
        method: str,
        path: str,
        needs: str | None = None,
        *,
        who: tuple[str, ...] = ("installation", "person"),
        readers: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Make the decorated function answer ``method path``."""

        def keep(handler: Handler) -> Handler:
            self.routes.append(Route(method, path, handler, needs, who, readers))
            return handler

        return keep


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON answer."""
    return Response(json.dumps(body), status, headers, content_type="application/json; charset=utf-8")


def page_of(call: Call, everything: list[Any], show: Callable[[Any], Any], inside: str | None = None) -> Response:
    """Return one page of a list with GitHub's Link header; ``inside`` is the key of lists with a total."""
    number, size = call.page()
    last = max(1, -(-len(everything) // size))
    part = [show(one) for one in everything[(number - 1) * size : number * size]]
    body: Any = part if inside is None else {"total_count": len(everything), inside: part}
    return answer(body, headers=_link(call, number, last))


def _link(call: Call, number: int, last: int) -> dict[str, str]:
    pages = {"prev": number - 1, "next": number + 1, "first": 1, "last": last}
    wanted = {name for name in pages if (number > 1 if name in {"prev", "first"} else number < last)}
    links = [f'<{_address(call, pages[name])}>; rel="{name}"' for name in pages if name in wanted]
    return {"Link": ", ".join(links)} if links else {}


def _address(call: Call, number: int) -> str:
    return f"{call.hosting.urls.home}{call.request.path}?{urlencode({**call.request.args.to_dict(), 'page': number})}"
