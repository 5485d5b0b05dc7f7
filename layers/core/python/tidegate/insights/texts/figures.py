"""How figures read on pages, in the terminal and in CSV files."""

from __future__ import annotations

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))
#: Characters that a spreadsheet takes for a formula at the beginning of a cell, in East Asian languages also their wide
#: forms: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def lasting(seconds: float) -> str:
    """Return a duration in its largest unit, such as ``3.5 h``."""
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    number = seconds / size
    return f"{number:.1f} {unit}" if number < 10 and number % 1 >= 0.05 else f"{number:.0f} {unit}"  # noqa: PLR2004


def dollars(amount: float) -> str:
    """Return an amount of dollars; small ones with more digits."""
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.3f}"


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{share * 100:.0f} %"


def cell(text: str) -> str:
    """Return a name for a CSV file: no spreadsheet takes it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
