"""Tables without lines, of which nothing is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

#: Characters between two columns.
_GAP = 2
#: More than any terminal has: what a cell would need.
_ANY_WIDTH = 10_000


@dataclass(frozen=True, slots=True)
class Heading:
    """A column: ``right`` are numbers, ``whole`` is not broken, and ``spare`` is left out where there is no room."""

    name: str
    right: bool = False
    whole: bool = False
    spare: bool = False


@dataclass(slots=True)
class WholeTable:
    """A table that breaks lines between words only.

    Where there is no room, it leaves out spare columns, the last one first. Where that is not enough, each row becomes
    a paragraph: its first cell, and below it the others with their headings.
    """

    headings: Sequence[Heading]
    _rows: list[Sequence[str | Text]] = field(default_factory=list)

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, with a cell for each column."""
        self._rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Print the table, or the paragraphs."""
        places = list(range(len(self.headings)))
        ranges = [self._range(console, options, place) for place in places]

        def room() -> int:
            return options.max_width - sum(ranges[place].minimum + _GAP for place in places) + _GAP

        while room() < 0 and (spare := [place for place in places if self.headings[place].spare]):
            places.remove(spare[-1])
        if room() < 0:
            yield from self._paragraphs(places)
        else:
            yield self._table(places, [ranges[place] for place in places], room())

    def _range(self, console: Console, options: ConsoleOptions, place: int) -> Measurement:
        """Return how wide a column is at least, with its longest word in a line, and at most, with all in a line."""
        heading, free = self.headings[place], options.update(width=_ANY_WIDTH)
        measured = [Measurement.get(console, free, row[place]) for row in self._rows]
        most = max([len(heading.name), *(each.maximum for each in measured)])
        least = max([len(heading.name), *(each.minimum for each in measured)])
        return Measurement(most if heading.whole else least, most)

    def _table(self, places: Sequence[int], ranges: Sequence[Measurement], room: int) -> Table:
        """Return the table. Of the ``room`` that is left, columns that lack little get it first."""
        widths = [each.minimum for each in ranges]
        for done, each in enumerate(sorted(range(len(ranges)), key=lambda place: ranges[place].span)):
            share = min(ranges[each].span, room // (len(ranges) - done))
            widths[each] += share
            room -= share
        made = Table(box=None, padding=(0, _GAP, 0, 0), header_style="bold", pad_edge=False)
        for place, width in zip(places, widths, strict=True):
            heading = self.headings[place]
            side: JustifyMethod = "right" if heading.right else "left"
            made.add_column(heading.name, overflow="fold", justify=side, no_wrap=heading.whole, width=width)
        for row in self._rows:
            made.add_row(*(row[place] for place in places))
        return made

    def _paragraphs(self, places: Sequence[int]) -> Iterator[str | Text]:
        for row in self._rows:
            yield row[places[0]]
            for place in places[1:]:
                cell = Text.assemble(row[place])
                if cell.plain.strip() not in {"", "-"}:
                    yield Text.assemble(f"  {self.headings[place].name}: ", cell)
