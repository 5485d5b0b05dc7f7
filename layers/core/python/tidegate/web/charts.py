"""Charts as SVG without scripts: bars over time. Each goes with a table of the same values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

#: Size of a chart, and of its margins: left for the numbers, below for the dates.
WIDTH, HEIGHT = 360, 170
_LEFT, _TOP, _BOTTOM = 50, 8, 22
_PLOT_WIDTH, _PLOT_HEIGHT = WIDTH - _LEFT - 4, HEIGHT - _TOP - _BOTTOM
#: Lines of the scale.
_LINES = 3
#: Dates below at most: more would touch.
_DATES = 4


@dataclass(frozen=True, slots=True)
class Series:
    """Values over time, None where there is none; ``look`` is the class of its bars."""

    name: str
    look: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its table. ``words`` makes a value readable; ``note`` says what is shown."""

    id: str
    title: str
    note: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    words: Callable[[float], str]
    #: Whether series stand on each other. Otherwise a later one is a narrower bar in front of an earlier one.
    stacked: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(any(each.values) for each in self.series)

    @property
    def picture(self) -> Markup:
        """The chart as SVG."""
        top = self._highest()
        lines = Markup().join(self._line(top * number / _LINES, top) for number in range(_LINES + 1))
        bars = Markup().join(self._bars(place, top) for place in range(len(self.labels)))
        every = -(-len(self.labels) // _DATES)
        dates = Markup().join(self._date(place) for place in range(0, len(self.labels), every))
        # The function's own markup; every text in it is escaped by ``format``.
        return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}</svg>').format(
            WIDTH, HEIGHT, f"{self.title}: bars over time. The table below has all values.", lines, bars, dates
        )

    def _highest(self) -> float:
        """Return the end of the scale: the highest bar; for counts, which are stacked, one with whole numbers."""
        columns = zip(*([value or 0 for value in each.values] for each in self.series), strict=True)
        if self.stacked:
            return max(1, -(-max(map(sum, columns)) // _LINES)) * _LINES
        return max(map(max, columns)) or 1

    def _bars(self, place: int, top: float) -> Markup:
        slot = _PLOT_WIDTH / len(self.labels)
        base, drawn = 0.0, []
        for number, one in enumerate(self.series):
            value = one.values[place]
            if not value:
                continue
            share = 0.7 if self.stacked else 0.7 - 0.35 * number
            x, width = _LEFT + slot * (place + (1 - share) / 2), slot * share
            y, height = _y(base + value, top), _PLOT_HEIGHT * value / top
            text = f"{self.labels[place]}, {one.name}: {self.words(value)}"
            bar = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>')
            drawn.append(bar.format(one.look, _short(x), _short(y), _short(width), _short(height), text))
            base += value if self.stacked else 0
        return Markup().join(drawn)

    def _line(self, value: float, top: float) -> Markup:
        y = _y(value, top)
        return Markup(
            '<line x1="{}" x2="{}" y1="{}" y2="{}"/><text class="end" x="{}" y="{}" aria-hidden="true">{}</text>'
        ).format(_LEFT, WIDTH - 4, _short(y), _short(y), _LEFT - 6, _short(y + 4), self.words(value))

    def _date(self, place: int) -> Markup:
        x = _LEFT + _PLOT_WIDTH / len(self.labels) * (place + 0.5)
        text = Markup('<text class="middle" x="{}" y="{}" aria-hidden="true">{}</text>')
        return text.format(_short(x), HEIGHT - 6, self.labels[place])


def rows(chart: Chart) -> Sequence[tuple[str, Sequence[str]]]:
    """Return the rows of a chart's table: a label, and the value of each series in words."""
    columns = zip(*(each.values for each in chart.series), strict=True)
    return [
        (label, ["\N{EN DASH}" if value is None else chart.words(value) for value in column])
        for label, column in zip(chart.labels, columns, strict=True)
    ]


def _y(value: float, top: float) -> float:
    return _TOP + _PLOT_HEIGHT * (1 - value / top)


def _short(number: float) -> str:
    return f"{number:.1f}"
