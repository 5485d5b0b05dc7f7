"""The forge's records in one SQLite file: by kind, as JSON."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar


class Record(Protocol):
    """A frozen dataclass of records.py."""

    __dataclass_fields__: Any

    @property
    def id(self) -> int: ...

    @property
    def repository(self) -> str: ...


R = TypeVar("R", bound=Any)

SCHEMA = """
create table if not exists records (
  kind text not null, id integer not null, repository text not null, body text not null, primary key (kind, id)
);
create index if not exists by_repository on records (kind, repository, id);
create index if not exists by_commit on records (kind, repository, body ->> '$.head_sha', id);
create index if not exists by_suite on records (kind, repository, body ->> '$.suite', id);
create index if not exists by_id on records (id);
create table if not exists notes (name text primary key, value text not null);
"""


class Store:
    """Records by kind and id, found by the values of their fields. Safe for threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = off")
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def add(self, make: Callable[[int], R]) -> R:
        """Store what ``make`` returns for a fresh id, and return it. Ids are unique over all kinds."""
        with self._lock:
            (last,) = self._db.execute("select coalesce(max(id), 1000) from records").fetchone()
            record = make(1 + max(last, int(self.note("last-removed") or 0)))
            self._write(record)
            return record

    def change(self, kind: type[R], number: int, change: Callable[[R], R]) -> R:
        """Replace a record by what ``change`` makes of it, and return that. Raise KeyError."""
        with self._lock:
            record: R = change(self.get(kind, number))
            self._write(record)
            return record

    def remove(self, kind: type[R], number: int) -> None:
        """Forget a record; its id is not given again."""
        with self._lock:
            self._db.execute("delete from records where kind = ? and id = ?", (kind.__name__, number))
            self.keep_note("last-removed", str(max(number, int(self.note("last-removed") or 0))))

    def get(self, kind: type[R], number: int) -> R:
        """Return a record. Raise KeyError."""
        with self._lock:
            row = self._db.execute(
                "select body from records where kind = ? and id = ?", (kind.__name__, number)
            ).fetchone()
        if row is None:
            raise KeyError(number)
        found: R = kind(**json.loads(row[0]))
        return found

    def find(self, kind: type[R], repository: str | None = None, **fields: Any) -> list[R]:
        """Return the records whose fields have these values, oldest first."""
        question, values = "select body from records where kind = ?", [kind.__name__]
        if repository is not None:
            question, values = f"{question} and repository = ?", [*values, repository]
        for name, value in fields.items():
            # The field's name stands in the text, as it does in the indexes, and is a name of this program.
            question, values = f"{question} and body ->> '$.{name}' is ?", [*values, value]
        with self._lock:
            rows = self._db.execute(f"{question} order by id", values).fetchall()
        return [kind(**json.loads(body)) for (body,) in rows]

    def newest(self, kind: type[R], limit: int, *, before: int | None = None) -> list[R]:
        """Return at most ``limit`` records with ids below ``before``, newest first."""
        question = "select body from records where kind = ? and id < ? order by id desc limit ?"
        with self._lock:
            rows = self._db.execute(question, (kind.__name__, before or sys.maxsize, limit)).fetchall()
        return [kind(**json.loads(body)) for (body,) in rows]

    def first(self, kind: type[R], repository: str | None = None, **fields: Any) -> R | None:
        """Return the oldest record whose fields have these values."""
        return next(iter(self.find(kind, repository, **fields)), None)

    def first_or_add(self, kind: type[R], make: Callable[[int], R], repository: str | None = None, **fields: Any) -> R:
        """Return the oldest record whose fields have these values, or store what ``make`` returns."""
        with self._lock:
            return self.first(kind, repository, **fields) or self.add(make)

    def note(self, name: str) -> str | None:
        """Return a single value that was kept under a name."""
        with self._lock:
            row = self._db.execute("select value from notes where name = ?", (name,)).fetchone()
        return row[0] if row else None

    def keep_note(self, name: str, value: str) -> None:
        """Keep a single value under a name."""
        with self._lock:
            self._db.execute("insert or replace into notes values (?, ?)", (name, value))

    def _write(self, record: Any) -> None:
        row = (type(record).__name__, record.id, record.repository, json.dumps(asdict(record)))
        self._db.execute("insert or replace into records values (?, ?, ?, ?)", row)
