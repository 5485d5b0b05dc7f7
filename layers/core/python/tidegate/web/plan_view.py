"""What pages show of a structured plan: chips, groups of rows, and attributes of those that are open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from tidegate.plans.rules.attributes import AttributeLine
from tidegate.plans.rules.plan import Plan
from tidegate.plans.rules.structured import Kind, PlanRow, Section, counted
from tidegate.plans.rules.structured_file import StructuredPlan
from tidegate.web.rendering import address

#: Rows of one page, and of one where all are expanded.
PAGE_ROWS, EXPANDED_ROWS = 5000, 100
#: A plan of this many rows and attribute lines at most is sent with all attributes; of others each row has a link.
WHOLE_ROWS, WHOLE_LINES = 100, 1500
#: A plan of at most these many rows and lines of attributes is shown open: nobody has to unfold the only resource.
OPEN_ROWS, OPEN_LINES = 3, 40
#: Characters of a filter.
LONGEST_FILTER = 200
#: How each kind reads as a sign, as what happens, and in a count.
SIGNS: Mapping[Kind, tuple[str, str, str]] = {
    Kind.ADD: ("+", "create", "to add"),
    Kind.CHANGE: ("~", "change", "to change"),
    Kind.DESTROY: ("\N{MINUS SIGN}", "destroy", "to destroy"),
    Kind.REPLACE: ("±", "replace", "to replace"),
    Kind.MOVE: ("→", "move", "to move"),
    Kind.IMPORT: ("↓", "import", "to import"),
    Kind.FORGET: ("\N{MULTIPLICATION SIGN}", "remove from the state, without destroying it", "to forget"),
    Kind.READ: ("≤", "read", "to read"),
    Kind.RUN: ("▸", "run", "to run"),
}
_HEADINGS = {
    Section.RESOURCES: "Resources",
    Section.OUTPUTS: "Outputs",
    Section.ACTIONS: "Actions",
    Section.DEFERRED: "Deferred to a later apply",
    Section.DRIFT: "Changed outside of this root's deployments",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asks to see: one kind of change, rows with a text in their address, a single address, all
    attributes, or rows from a place.
    """

    kind: Kind | None = None
    words: str = ""
    resource: str = ""
    expand: bool = False
    after: int = 0

    @property
    def is_narrow(self) -> bool:
        return bool(self.kind or self.words or self.resource)


EVERYTHING = Asked()


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row. ``lines`` are its attributes, None if they are a link away; ``anchor`` is its id on the page."""

    row: PlanRow
    anchor: str
    lines: Sequence[AttributeLine] | None
    is_open: bool

    @property
    def sign(self) -> str:
        return SIGNS[self.row.kind][0]

    @property
    def does(self) -> str:
        """Return what happens to it, in words."""
        if self.row.kind is Kind.REPLACE:
            return "replace: create, then destroy" if self.row.creates_first else "replace: destroy, then create"
        return SIGNS[self.row.kind][1]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a section, of one module if it is of resources."""

    section: Section
    module: str
    rows: Sequence[ShownRow]

    @property
    def heading(self) -> str:
        return _HEADINGS[self.section]


@dataclass(frozen=True, slots=True)
class Chip:
    """A count that filters: ``kind`` is None for all rows."""

    kind: Kind | None
    sign: str
    text: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan as a page shows it. ``url`` is that of its own page; ``more_url`` leads to the rows after these.

    ``is_complete``: all rows of the plan are on this page, so a script can filter them.
    """

    url: str
    groups: Sequence[Group]
    chips: Sequence[Chip]
    asked: Asked
    matching: int
    total: int
    shown: int
    left_out: int
    more_url: str

    @property
    def needs_filters(self) -> bool:
        return self.total > OPEN_ROWS

    @property
    def is_complete(self) -> bool:
        return self.shown == self.total

    def url_of(self, *, expand: bool) -> str:
        """Return the URL of the same rows with all attributes, or without."""
        return plan_address(self.url, self.asked, expand=expand)


def plan_view(
    plan: Plan, found: StructuredPlan, asked: Asked = EVERYTHING, most: int = PAGE_ROWS, prefix: str = ""
) -> PlanView:
    """Return what a page shows of a plan: at most ``most`` of its rows.

    ``prefix`` tells the anchors of several plans on one page apart. Raise ValueError for a plan that cannot be read.
    """
    places = [place for place, row in enumerate(found.rows) if _matches(row, asked)]
    most = min(most, EXPANDED_ROWS) if asked.expand else most
    shown = places[asked.after : asked.after + most]
    rows = list(_rows(found, shown, asked, prefix))
    url = f"/jobs/{quote(plan.job)}/plan"
    rest = asked.after + len(shown)
    return PlanView(
        url,
        [Group(*key, list(its)) for key, its in groupby(rows, key=lambda each: (each.row.section, each.row.module))],
        list(_chips(url, found.rows, asked)),
        asked,
        len(places),
        len(found.rows),
        len(shown),
        found.left_out,
        plan_address(url, asked, after=rest) if rest < len(places) else "",
    )


def plan_address(url: str, asked: Asked, after: int = 0, *, expand: bool | None = None) -> str:
    """Return the URL of the same rows from a place."""
    expand = asked.expand if expand is None else expand
    return address(
        url,
        show=asked.kind,
        filter=asked.words or None,
        resource=asked.resource or None,
        expand="yes" if expand else None,
        after=after or None,
    )


def anchor_of(row: PlanRow) -> str:
    """Return the id of a row on a page: its address, and its section unless it is a resource's."""
    section = "" if row.section is Section.RESOURCES else f"{row.section}:"
    deposed = f":{row.deposed}" if row.deposed else ""
    return quote(f"{section}{row.address}{deposed}", safe="[]:.,-_")


def _matches(row: PlanRow, asked: Asked) -> bool:
    if asked.kind is not None and (row.kind is not asked.kind or row.section is not Section.RESOURCES):
        return False
    if asked.resource and row.address != asked.resource:
        return False
    return asked.words.lower() in row.address.lower()


def _rows(found: StructuredPlan, places: Sequence[int], asked: Asked, prefix: str) -> Iterator[ShownRow]:
    is_open = asked.expand or bool(asked.resource) or _is_short(found)
    sends = is_open or len(places) <= WHOLE_ROWS
    left = WHOLE_LINES
    for place in places:
        row = found.rows[place]
        lines: Sequence[AttributeLine] | None = () if not row.has_details else None
        if row.has_details and sends and (left > 0 or asked.resource):
            lines = found.lines(place)
            left -= len(lines)
        yield ShownRow(row, prefix + anchor_of(row), lines, is_open and lines is not None)


def _is_short(found: StructuredPlan) -> bool:
    if len(found.rows) > OPEN_ROWS:
        return False
    places = (place for place, row in enumerate(found.rows) if row.has_details)
    return sum(len(found.lines(place)) for place in places) <= OPEN_LINES


def _chips(url: str, rows: Sequence[PlanRow], asked: Asked) -> Iterator[Chip]:
    words = asked.words or None
    yield Chip(None, "", f"All {len(rows):,}", address(url, filter=words), asked.kind is None)
    for kind, count in counted(rows).items():
        sign, _, text = SIGNS[kind]
        yield Chip(kind, sign, f"{count:,} {text}", address(url, show=kind, filter=words), asked.kind is kind)
