"""Which keys of a log may matter later: those of vectors that may be foreign, and those that no call has served yet.

A key is the name of a text in a namespace. Keys of vectors that are native beyond doubt are looked at and let go, so
that a log of a healthy night costs nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.core.routing import Leg, Outcome
from workbench.routing.model import Attempt, LoggedNamespace, Operation, Purpose

MOST_KEYS = 1_000_000
"""How many keys are held of one log; the rest are counted."""

_MOST_FAILED_CALLS = 1_000

Pair = tuple[str | None, int | None]
"""A model and the length of its vectors, compared together."""


@dataclass(slots=True)
class LooseBatch:
    """A batch of which some texts came back without a vector, and the log does not say which."""

    nulls: int
    keys: set[str]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """What is left of the keys at the end of a log, by row.

    Attributes:
        vectors: keys of the vectors of an attempt that may be foreign.
        missing: how many keys were last asked for by this attempt and served by none since.
        counted: how many keys an attempt named that failed or gave nulls.
        not_held: keys beyond the most that are held.
    """

    vectors: Mapping[int, tuple[str, ...]]
    missing: Mapping[int, int]
    counted: Mapping[int, int]
    not_held: int


@dataclass(slots=True)
class _Space:
    """What may be native to a namespace as far as the log was read: its own lines, else the first of the primary."""

    said: set[Pair] = field(default_factory=set)
    assumed: Pair | None = None


class Told(Protocol):
    """What an attempt says for itself, beside its shape: a record or a line."""

    @property
    def call_id(self) -> str | None:
        """What joins the attempts of a call."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """What names its texts."""
        ...

    @property
    def null_count(self) -> int | None:
        """How many came back without a vector."""
        ...

    @property
    def null_indexes(self) -> tuple[int, ...] | None:
        """Which of them."""
        ...


_OTHER, _DOCUMENT, _WATCHED = range(3)
"""Shapes by how their keys matter: not at all, as natives that may serve what waits, each."""


class KeyBook:
    """Follows keys through a log, piece by piece."""

    def __init__(self) -> None:
        self._spaces: dict[str | None, _Space] = {}
        self._stated: set[str] = set()
        self._only: str | None = None
        self._shapes: list[Attempt] = []
        self._watched = np.zeros(0, np.uint8)
        self._pending: dict[tuple[str | None, str], int] = {}
        self._loose: dict[int, LooseBatch] = {}
        self._loose_of: dict[tuple[str | None, str], list[int]] = {}
        self._failed: dict[str, tuple[str, ...]] = {}
        self._vectors: dict[int, tuple[str, ...]] = {}
        self._counted: dict[int, int] = {}
        self._held = 0
        self._not_held = 0

    def namespace(self, record: LoggedNamespace) -> None:
        """Take in what the log says of a namespace."""
        self._spaces.setdefault(record.name, _Space()).said.add((record.model, record.dims))
        self._stated.add(record.name)
        self._only = record.name if len(self._stated) == 1 else None
        self._watched = np.zeros(0, np.uint8)

    def shape(self, attempt: Attempt) -> None:
        """Take in the first attempt of its kind."""
        self._shapes.append(attempt)
        if attempt.leg is Leg.PRIMARY and attempt.outcome in (Outcome.VECTOR, Outcome.PARTIAL):
            space = self._spaces.setdefault(attempt.namespace, _Space())
            if space.assumed is None:
                space.assumed = (attempt.model, attempt.dims)

    def see(self, attempts: Sequence[Told], shape: NDArray[np.int64], first: int) -> None:
        """Look at the attempts of a piece whose keys may matter; ``first`` is the place of the first of them."""
        if len(self._watched) < len(self._shapes):
            new = [self._watches(each) for each in self._shapes[len(self._watched) :]]
            self._watched = np.concatenate([self._watched, np.array(new, np.uint8)])
        watched = self._watched[shape]
        begin = 0
        for at in np.flatnonzero(watched == _WATCHED).tolist():
            if self._pending or self._loose_of:
                self._pass(attempts, shape, watched, begin, at)
            self._take(self._shapes[shape[at]], attempts[at], first + at)
            begin = at + 1
        if self._pending or self._loose_of:
            self._pass(attempts, shape, watched, begin, len(attempts))

    def _pass(
        self,
        attempts: Sequence[Told],
        shape: NDArray[np.int64],
        watched: NDArray[np.uint8],
        begin: int,
        end: int,
    ) -> None:
        """Let native vectors serve keys that wait."""
        for at in (begin + np.flatnonzero(watched[begin:end] == _DOCUMENT)).tolist():
            keys = attempts[at].keys
            if keys:
                self._served(self._shapes[shape[at]].namespace, keys)

    def kept(self, rows: NDArray[np.int64]) -> Kept:
        """Give what is left, places turned into rows by ``rows``."""
        missing: dict[int, int] = {}
        for place in self._pending.values():
            missing[place] = missing.get(place, 0) + 1
        for place, batch in self._loose.items():
            missing[place] = missing.get(place, 0) + min(batch.nulls, len(batch.keys))
        return Kept(
            {int(rows[place]): keys for place, keys in self._vectors.items()},
            {int(rows[place]): count for place, count in missing.items() if count},
            {int(rows[place]): count for place, count in self._counted.items()},
            self._not_held,
        )

    def _watches(self, shape: Attempt) -> int:
        """Say whether attempts of a shape may be foreign or missing."""
        if not is_document(shape):
            return _OTHER
        return _WATCHED if shape.outcome is not Outcome.VECTOR or self._may_be_foreign(shape) else _DOCUMENT

    def _may_be_foreign(self, shape: Attempt) -> bool:
        space = self._spaces.get(shape.namespace, _Space())
        if shape.namespace is None and self._only is not None:
            space = _Space(self._spaces[self._only].said, space.assumed)
        mine = (shape.model, shape.dims)
        if space.said:
            return space.said != {mine} or (space.assumed is not None and space.assumed != mine)
        return shape.leg is Leg.FALLBACK or space.assumed != mine

    def _take(self, shape: Attempt, attempt: Told, place: int) -> None:
        keys = self._keys_of(shape, attempt)
        if not keys:
            return
        space, outcome = shape.namespace, shape.outcome
        if outcome in (Outcome.VECTOR, Outcome.PARTIAL):
            lacking = _lacking(attempt, keys)
            served = tuple(key for key in keys if key not in lacking) if lacking else keys
            self._served(space, served)
            self._hold(place, served)
            nulls = attempt.null_count or len(attempt.null_indexes or ())
            if nulls:
                self._counted[place] = len(keys)
                if attempt.null_indexes is None:
                    self._remember_loose(space, keys, nulls, place)
        else:
            self._counted[place] = len(keys)
            lacking = set(keys)
        for key in lacking:
            if self._room():
                self._pending[space, key] = place
            else:
                # What is not followed to its end is taken as missing, not as served.
                self._counted.pop(place, None)

    def _keys_of(self, shape: Attempt, attempt: Told) -> tuple[str, ...]:
        """Give the keys of an attempt; a rescue that names none has those of the failure before it."""
        call = attempt.call_id
        if call is None:
            return attempt.keys
        if shape.outcome in (Outcome.VECTOR, Outcome.PARTIAL):
            before = self._failed.pop(call, ())
            return attempt.keys or before
        if attempt.keys and shape.leg is Leg.PRIMARY:
            self._failed[call] = attempt.keys
            if len(self._failed) > _MOST_FAILED_CALLS:
                del self._failed[next(iter(self._failed))]
        return attempt.keys

    def _remember_loose(self, space: str | None, keys: tuple[str, ...], nulls: int, place: int) -> None:
        """Remember a batch of which the log does not say what came back without a vector."""
        if self._room(len(keys)):
            self._loose[place] = LooseBatch(nulls, set(keys))
            for key in keys:
                self._loose_of.setdefault((space, key), []).append(place)
        else:
            self._counted.pop(place, None)

    def _served(self, space: str | None, keys: Iterable[str]) -> None:
        pending, loose_of = self._pending, self._loose_of
        if not pending and not loose_of:
            return
        for key in keys:
            name = (space, key)
            pending.pop(name, None)
            for place in loose_of.pop(name, ()):
                batch = self._loose[place]
                batch.keys.discard(key)
                if not batch.keys:
                    del self._loose[place]

    def _hold(self, place: int, keys: tuple[str, ...]) -> None:
        if keys and self._room(len(keys)):
            self._vectors[place] = keys

    def _room(self, count: int = 1) -> bool:
        if self._held + count > MOST_KEYS:
            self._not_held += count
            return False
        self._held += count
        return True


def _lacking(attempt: Told, keys: tuple[str, ...]) -> set[str]:
    """Find the keys that came back without a vector, as far as the log says which."""
    return {keys[index] for index in attempt.null_indexes or () if index < len(keys)}


def is_document(attempt: Attempt) -> bool:
    """Say whether what an attempt made was to be written: a document, or what has a namespace and no purpose."""
    if attempt.op is Operation.HEALTHCHECK or attempt.purpose is Purpose.QUERY:
        return False
    return attempt.purpose is Purpose.DOCUMENT or attempt.namespace is not None
