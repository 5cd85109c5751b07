"""What a vector that never ranks does to the searches of the program that owns the file: one table of facts.

Measured with DuckDB 1.5.5 and 2.0.1; tests/checkup/test_consequences.py asks the DuckDB at hand again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from workbench.index.model import Flaw, Unusable


class Outcome(IntEnum):
    """What happens to a search, worst first."""

    FAILS = 0
    FIRST = 1
    UNORDERED = 2
    LAST = 3
    LEFT_OUT = 4
    NEVER = 5
    UNKNOWN = 6


@dataclass(frozen=True, slots=True)
class Consequence:
    """What one flaw does: the outcome, in a few words, and in a sentence that says on which engine and why."""

    outcome: Outcome
    brief: str
    sentence: str


_NEVER = Consequence(
    Outcome.NEVER,
    "never found",
    "Its similarity to any query is NULL, so no search finds it, however well its text fits.",
)
_FIRST = Consequence(
    Outcome.FIRST,
    "first on DuckDB 2.0, last on 1.x",
    "DuckDB 2.0 makes its cosine similarity NaN, and ORDER BY score DESC puts NaN above every match: it comes first in "
    "every search. DuckDB 1.x made it -1 and put it last, so an upgrade alone brings it to the top.",
)
_LAST = Consequence(
    Outcome.LAST,
    "last, but first on DuckDB 2.0",
    "This store asks for DuckDB below 1.4, which makes its cosine similarity -1 and puts it last. DuckDB 2.0 makes it "
    "NaN and puts it above every match: an upgrade alone brings it to the top of every search.",
)


def _fails(why: str) -> Consequence:
    return Consequence(
        Outcome.FAILS,
        "every search fails",
        f"Cosine similarity in DuckDB raises {why}, and one such row ends the whole query: every search of this "
        "table fails, on DuckDB 1.x and 2.0, until the row is gone.",
    )


_IN_SQL = {
    Flaw.ABSENT: _NEVER,
    Flaw.EMPTY: _fails("when a list is of another length than the query, an empty one too"),
    Flaw.OTHER_LENGTH: _fails("when a list is of another length than the query"),
    Flaw.NULL_ELEMENT: _fails("when an element is NULL"),
    Flaw.NOT_FINITE: _FIRST,
    Flaw.ZERO: _FIRST,
}


def _left_out(elsewhere: str) -> Consequence:
    return Consequence(
        Outcome.LEFT_OUT,
        "left out and counted",
        f"A search with workbench leaves it out and says so. A query of your own over the same table {elsewhere}.",
    )


_NATIVE = {
    **{flaw: _left_out("fails as a whole, on DuckDB 1.x and 2.0") for flaw in _IN_SQL},
    Flaw.ABSENT: _NEVER,
    Flaw.NOT_FINITE: _left_out("ranks it above every match with DuckDB 2.0, last with 1.x"),
    Flaw.ZERO: _left_out("ranks it above every match with DuckDB 2.0, last with 1.x"),
}

_SEED = {
    Flaw.ABSENT: Consequence(Outcome.NEVER, "never found", "The search passes over entries without a vector."),
    Flaw.EMPTY: Consequence(Outcome.NEVER, "never found", "The search passes over entries without a vector."),
    Flaw.OTHER_LENGTH: Consequence(
        Outcome.LEFT_OUT,
        "left out",
        "The search takes the length of the entry whose id sorts first and passes over all others: this one, or, if "
        "its own id sorts first, every entry of the right length.",
    ),
    Flaw.NOT_FINITE: Consequence(
        Outcome.UNORDERED,
        "spoils the order",
        "Its score is NaN, which passes every minScore and cannot be sorted: the order of all hits becomes a matter "
        "of chance, and the recording of the retrieval keeps no candidates.",
    ),
    Flaw.ZERO: Consequence(Outcome.LEFT_OUT, "left out", "The search passes over vectors without a direction."),
}

_FACTS = {
    "workbench": _NATIVE,
    "langchain": _IN_SQL,
    "llamaindex": {**_IN_SQL, Flaw.NOT_FINITE: _LAST, Flaw.ZERO: _LAST},
    "plain-table": _IN_SQL,
    "agentfootprint": _SEED,
}

_UNKNOWN = Consequence(Outcome.UNKNOWN, "cannot rank", "No search can rank it; what it does to one is not known here.")

_MOST_LIKELY = {
    Unusable.MISSING: Flaw.ABSENT,
    Unusable.WRONG_DIMS: Flaw.OTHER_LENGTH,
    Unusable.NON_FINITE: Flaw.NOT_FINITE,
    Unusable.ZERO: Flaw.ZERO,
}


def consequence_of(adapter: str, flaw: Flaw) -> Consequence:
    """Say what one flaw does to the searches of the program behind an adapter.

    Fixed arrays and lists differ only in which flaws they can hold: an empty or longer vector needs a list.
    """
    return _FACTS.get(adapter, {}).get(flaw, _UNKNOWN)


def consequence_of_kind(adapter: str, kind: Unusable, seen: frozenset[Flaw] = frozenset()) -> Consequence:
    """Say the worst that a kind of row does, of the flaws that were seen; before any was, of the usual one."""
    flaws = [flaw for flaw in Flaw if flaw in seen and flaw.reason is kind] or [_MOST_LIKELY[kind]]
    return min((consequence_of(adapter, flaw) for flaw in flaws), key=lambda found: found.outcome)
