"""Which of the embedders in a foreign log is the primary and which the fallback: told by who is asked after whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.core.routing import Leg
from workbench.routing.foreign.asked import Asked, OpenFailures
from workbench.routing.model import LogProblem

_MOST_NAMES = 1_000
_LONGEST_NAME = 80
_MOST_LISTED = 3

Names = tuple[str | None, ...]


@dataclass(slots=True)
class Legs:
    """The two legs of a log by name, why, and what belongs to neither.

    Attributes:
        level: which of the names of an attempt tells its leg.
        primary, fallbacks: the names there.
        why: one sentence.
    """

    level: int
    primary: str | None
    fallbacks: frozenset[str | None]
    why: str
    left_out: Counter[str | None] = field(default_factory=Counter)

    def leg_of(self, names: Names) -> Leg | None:
        """Give the leg of an attempt; None, and counted, when it is neither."""
        name = names[self.level]
        if name == self.primary:
            return Leg.PRIMARY
        if name in self.fallbacks:
            return Leg.FALLBACK
        if name in self.left_out or len(self.left_out) < _MOST_NAMES:
            self.left_out[name] += 1
        return None

    def said(self) -> Iterator[LogProblem]:
        """Say how the legs were told, and what was left out."""
        yield LogProblem(None, self.why)
        if self.left_out:
            some = ", ".join(f"{_quoted(name)} ({count:,})" for name, count in self.left_out.most_common(_MOST_LISTED))
            more = ", …" if len(self.left_out) > _MOST_LISTED else ""
            yield LogProblem(
                None, f"{self.left_out.total():,} attempts belong to neither leg and were left out: {some}{more}"
            )


class LegVotes:
    """Looks at all attempts of a log, in its order, before any is given a leg."""

    def __init__(self) -> None:
        self._failures: OpenFailures[Names] = OpenFailures()
        self._levels: list[tuple[Counter[str | None], Counter[tuple[str | None, str | None]]]] = []

    def see(self, asked: Asked) -> None:
        """Count who was asked, and after whose failure."""
        while len(self._levels) < len(asked.names):
            self._levels.append((Counter(), Counter()))
        before = self._failures.take(asked)
        for level, name in enumerate(asked.names):
            seen, followed = self._levels[level]
            if name in seen or len(seen) < _MOST_NAMES:
                seen[name] += 1
                if before is not None and before[level] != name:
                    followed[before[level], name] += 1
        if asked.failed:
            self._failures.add(asked, asked.names)

    def decide(self, primary: str | None = None) -> Legs:
        """Tell the legs: by the name given, else by who is asked after whose failure, else by who is asked first."""
        if primary is not None:
            for level, (seen, followed) in enumerate(self._levels):
                if primary in seen:
                    after = _reached(primary, followed) or {name for name in seen if name != primary}
                    return Legs(level, primary, frozenset(after), f"{_quoted(primary)} is the primary, as asked for")
        legs = self._told()
        if primary is not None:
            some = ", ".join(_quoted(name) for name in list(self._levels[0][0])[:_MOST_LISTED]) if self._levels else ""
            legs.why = f"nobody named {_quoted(primary)} is asked in this log (but {some or 'no one'}); {legs.why}"
        return legs

    def _told(self) -> Legs:
        for level, (seen, followed) in enumerate(self._levels):
            if followed:
                return self._by_votes(level, seen, followed)
        for level, (seen, _) in enumerate(self._levels):
            if len(seen) == 2:
                first, second = seen
                return Legs(
                    level,
                    first,
                    frozenset({second}),
                    f"{_quoted(first)} is taken to be the primary and {_quoted(second)} the fallback, because it is "
                    "asked first; no call shows one asked after a failure of the other",
                )
        seen = self._levels[0][0] if self._levels else Counter()
        first = next(iter(seen), None)
        return Legs(0, first, frozenset(), f"{_quoted(first)} is taken to be the primary; the log shows no fallback")

    def _by_votes(
        self, level: int, seen: Counter[str | None], followed: Counter[tuple[str | None, str | None]]
    ) -> Legs:
        lead: Counter[str | None] = Counter()
        for (before, after), count in followed.items():
            lead[before] += count
            lead[after] -= count
        primary = max(seen, key=lambda name: lead[name])
        fallbacks = _reached(primary, followed)
        times = sum(count for (before, _), count in followed.items() if before == primary)
        named = " and ".join(_quoted(name) for name in list(seen) if name in fallbacks)
        return Legs(
            level,
            primary,
            frozenset(fallbacks),
            f"{_quoted(primary)} is taken to be the primary and {named} the fallback, asked after its failures "
            f"({times:,} {'time' if times == 1 else 'times'})",
        )


def _reached(primary: str | None, followed: Counter[tuple[str | None, str | None]]) -> set[str | None]:
    """Find who is asked after the primary, and after those: a chain of fallbacks is one leg."""
    found: set[str | None] = set()
    waiting = [primary]
    while waiting:
        name = waiting.pop()
        for before, after in followed:
            if before == name and after != primary and after not in found:
                found.add(after)
                waiting.append(after)
    return found


def _quoted(name: str | None) -> str:
    if name is None:
        return "an embedder without a name"
    return f"'{name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + '…'}'"
