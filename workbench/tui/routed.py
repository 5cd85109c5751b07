"""A routing log as the screens keep it: its replay, what open indexes know of its keys, and what stands on its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.tui.draw import Tone, number
from workbench.tui.signs import Signs
from workbench.tui.state import State

if TYPE_CHECKING:
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.routing.opening import ReplayedLog
    from workbench.routing.replay import Replay


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """A routing log that was replayed.

    Attributes:
        log: the replay, with its path and format.
        doubts: what is odd about the log or was read with a guess, in sentences.
        joined: what the open indexes hold of the keys of each contaminated namespace.
        looked_up: whether any index was looked into.
        marks: of each namespace of an open index, by the path of that and its name, the ids that hold a foreign vector.
    """

    log: ReplayedLog
    doubts: tuple[str, ...] = ()
    joined: tuple[ContaminatedRows, ...] = ()
    looked_up: bool = False
    marks: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    @property
    def replay(self) -> Replay:
        """Give the replay under the configuration that the log states."""
        return self.log.replay

    @property
    def foreign(self) -> int:
        """Vectors of another embedder, in all namespaces."""
        return sum(row.foreign_vectors for row in self.replay.ledger.rows)


def arrange_log(log: ReplayedLog) -> Routed:
    """Find out whatever a screen needs at once. It takes time by the number of calls: not for the event loop."""
    from workbench.checkup.routing_wording import odd

    replay = log.replay
    prepare(replay)
    return Routed(log, (*(problem.message for problem in replay.problems), *odd(replay)))


def with_joined(routed: Routed, joined: Sequence[ContaminatedRows], *, looked_up: bool) -> Routed:
    """Give the log with what open indexes hold of its keys. It takes time by their number: not for the event loop."""
    from workbench.crosscheck.ledger import contaminated_ids

    places = dict.fromkeys(
        (each.source, each.namespace) for each in joined if each.source is not None and each.namespace is not None
    )
    marks = {place: contaminated_ids(joined, *place) for place in places}
    return replace(routed, joined=tuple(joined), looked_up=looked_up, marks=marks)


def prepare(replay: Replay) -> None:
    """Let a replay find out what it would otherwise find out when it is first asked, on the event loop."""
    _ = replay.divergences, replay.contaminated, replay.transition_calls, replay.at(0.0)


def routed_state(routed: Routed) -> State:
    """Give the worst of a log: something contaminated, or a call that went against the machine."""
    if len(routed.replay.divergences):
        return State.BAD
    return State.WARN if routed.replay.ledger.contaminated else State.OK


def routed_tag(routed: Routed, signs: Signs) -> tuple[str, Tone]:
    """Give the worst thing about it in one word."""
    if routed.foreign:
        return f"{signs.differs} {number(routed.foreign)}", Tone.ERROR
    if len(routed.replay.divergences):
        return "parts", Tone.ERROR
    across = sum(row.cross_space_queries for row in routed.replay.ledger.rows)
    return (f"{signs.differs} {number(across)}", Tone.WARN) if across else ("", Tone.MUTED)
