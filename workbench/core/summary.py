"""A vector as its shape instead of its bytes: ``{dims, norm}``, and every vector of a recording replaced by it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import ne
from typing import cast

from workbench.core.numbers import is_number, plain, round_half_up, to_float

_SCALE = 1e4  # norms keep four decimals
_SCALARS = frozenset({float, int, str, bool, type(None)})


@dataclass(frozen=True, slots=True)
class EmbeddingSummary:
    """How many numbers a vector has, and its L2 norm to four decimals (an int when whole; may be infinite or NaN)."""

    dims: int
    norm: float


def summarize_vector(vector: Sequence[float]) -> EmbeddingSummary:
    """Give length and norm of a vector, the norm bit for bit as the seed library computes it."""
    return EmbeddingSummary(len(vector), plain(_norm(vector)))


def _norm(vector: Sequence[float]) -> float:
    """Give the norm of the left-to-right sum, from an accurate norm wherever both must round to the same number.

    For k elements the left-to-right sum of squares is off by at most k units of 2**-53 (relative), so its root by
    half of that and one unit more; ``hypot`` is off by two, the scaling by one on each side. The margin is more than
    twice that sum. It does not hold where squares leave the range of float64, hence the bounds on the norm.
    """
    try:
        accurate = math.hypot(*vector)
    except OverflowError:  # a whole number beyond float64
        return _left_to_right(vector)
    if not 1e-100 < accurate < 1e100:
        return _left_to_right(vector)
    scaled = accurate * _SCALE
    below = math.floor(scaled)
    beyond_half = scaled - below - 0.5
    if abs(beyond_half) <= scaled * (len(vector) + 8) * 2.3e-16:
        return _left_to_right(vector)
    return (below + 1 if beyond_half > 0 else below) / _SCALE


def _left_to_right(vector: Iterable[float]) -> float:
    """Add the squares in order, each step rounded to float64: sum() is compensated since Python 3.12, fsum exact."""
    total = 0.0
    for value in vector:
        number = to_float(value)
        total += number * number
    return round_half_up(math.sqrt(total) * _SCALE) / _SCALE


def is_numeric_vector(value: object) -> bool:
    """Say whether ``value`` is a list with at least one item, every item an int or float (no bool)."""
    if not isinstance(value, list) or not value:
        return False
    kinds = set(map(type, value))
    return kinds <= {float, int} or all(map(is_number, value))


def summarize_embeddings(value: object) -> object:
    """Replace every numeric vector under ``embedding``, and in a list under ``embeddings``, by ``{dims, norm}``.

    The rules are those of the seed library. Only ``dict`` (no subclass, those are live objects) and ``list`` are
    walked, to any depth. The input is never changed: what holds a vector is copied, everything else stays the very
    same object. A part that is met twice is copied once; a reference back into a cycle stays the original. A part
    that holds a NaN counts as changed, since NaN equals nothing.
    """
    walked: dict[int, object] = {}
    if not _is_container(value):
        return value
    stack = [_Frame(value, None)]
    walked[id(value)] = value
    while True:
        frame = stack[-1]
        below = frame.advance(walked)
        if below is not None:
            if not below.batch:
                walked[id(below.node)] = below.node
            stack.append(below)
            continue
        stack.pop()
        result = frame.node if frame.copy is None else frame.copy
        if not frame.batch:
            walked[id(frame.node)] = result
        if not stack:
            return result
        stack[-1].put(frame.slot, frame.node, result)


def _is_container(value: object) -> bool:
    return type(value) is dict or isinstance(value, list)


def _holds_only_scalars(value: object) -> bool:
    """Spot, without a look at each item, the lists that nothing can change in: raw vectors under other keys, tags."""
    if not isinstance(value, list):
        return False
    kinds = set(map(type, value))
    return kinds <= _SCALARS and not (float in kinds and any(map(ne, value, value)))


class _Frame:
    """One container on the way: how far it is walked, and its copy once something in it has changed.

    A ``batch`` is the list under ``embeddings`` when it holds vectors: what it becomes depends on that key, so it is
    not remembered for other places that hold the same list.
    """

    __slots__ = ("batch", "copy", "node", "rest", "slot")

    def __init__(self, node: object, slot: object, *, batch: bool = False) -> None:
        self.node = node
        self.slot = slot
        self.batch = batch
        self.copy: dict[object, object] | list[object] | None = None
        self.rest = self._children()

    def _children(self) -> Iterator[tuple[object, object]]:
        if isinstance(self.node, dict):
            return iter(self.node.items())
        return iter(enumerate(cast("list[object]", self.node)))

    def advance(self, walked: dict[int, object]) -> _Frame | None:
        """Settle children until one must be walked first, and give that one; None when all are settled."""
        keyed = isinstance(self.node, dict)
        for slot, child in self.rest:
            if not _is_container(child):
                self.put(slot, child, child)
            elif (self.batch or (keyed and slot == "embedding")) and is_numeric_vector(child):
                summary = summarize_vector(cast("list[float]", child))
                self.put(slot, child, {"dims": summary.dims, "norm": summary.norm})
            elif keyed and slot == "embeddings" and isinstance(child, list) and any(map(is_numeric_vector, child)):
                return _Frame(child, slot, batch=True)
            elif id(child) in walked:
                self.put(slot, child, walked[id(child)])
            elif _holds_only_scalars(child):
                walked[id(child)] = child
            else:
                return _Frame(child, slot)
        return None

    def put(self, slot: object, before: object, after: object) -> None:
        """Set a child in the copy, which is made at the first difference."""
        if before is after and not _is_nan(after):
            return
        if self.copy is None:
            self.copy = dict(self.node) if isinstance(self.node, dict) else list(cast("list[object]", self.node))
        cast("dict[object, object]", self.copy)[slot] = after


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
