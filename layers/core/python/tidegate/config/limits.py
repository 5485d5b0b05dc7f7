"""The organization's limits on repositories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.roots.rules.root import Engine, EngineName


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits: the minimal review rule, None for none, and the allowed engines, None for any.

    ``engines`` has globs of versions for each allowed program. ``file`` and the lines give the source.
    """

    review: ReviewRule | None = None
    engines: Mapping[EngineName, tuple[str, ...]] | None = None
    file: str = ""
    line: int = field(default=0, compare=False)

    def reviewed(self, rule: ReviewRule) -> ReviewRule:
        """Return a review rule that is at least as strict as the minimum."""
        return rule if self.review is None else rule.and_also(self.review)

    def offered(self, engine: EngineName) -> tuple[str, ...]:
        """Return the exact versions of an engine that the organization allows; none where it allows patterns."""
        versions = (self.engines or {}).get(engine, ())
        return () if any(set("*?[") & set(each) for each in versions) else versions

    def problem(self, engine: Engine) -> str | None:
        """Return why an engine is not allowed, in sentences; None if it is.

        Without a version it is the installation's, which its operators chose.
        """
        if self.engines is None:
            return None
        versions = self.engines.get(engine.name)
        wanted = f"{engine.name}{f' {engine.version}' if engine.version else ''}"
        if versions is not None and (
            engine.version is None or any(fnmatchcase(engine.version, glob) for glob in versions)
        ):
            return None
        allowed = ", ".join(f"{name} {' or '.join(globs)}" for name, globs in self.engines.items())
        return f"{wanted} is not allowed: the organization's file ({self.file}:{self.line}) allows {allowed or 'none'}"
