"""Makes the ledger: every vector that was served held against the namespace that it went to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.core.routing import Leg, Outcome
from workbench.routing.calls import Calls
from workbench.routing.keys import Pair, is_document
from workbench.routing.ledger import (
    DENSE,
    ForeignModel,
    Ledger,
    LedgerRow,
    Written,
    checkpoints,
    classify,
    no_sums,
    pair_text,
)
from workbench.routing.model import Operation, Purpose
from workbench.routing.rows import Bytes, Flags, Ints, Rows


def make_ledger(calls: Calls) -> Ledger:
    """Hold everything that was served against the namespace that it went to."""
    return _Bookkeeping(calls).ledger()


class _Bookkeeping:
    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.rows: Rows = calls.rows
        self.names: dict[str, int] = {}
        for _, line in self.rows.namespaces:
            self.names.setdefault(line.name, len(self.names))
        self._only = len(self.names) == 1
        of_shape = [
            -1 if each.namespace is None else self.names.setdefault(each.namespace, len(self.names))
            for each in self.rows.shapes
        ]
        self._namespace_of_shape = np.array(of_shape, np.int64)
        self._only = self._only and len(self.names) == 1
        self.shape = self.rows.shape[calls.deciding]
        self.asked = self.rows.shape[calls.first]
        self._unnamed = np.zeros(self.calls.count, np.bool_)
        self.namespace = self._namespaces()
        self.told_later: dict[int, tuple[str, ...]] = {}
        self._take_writes()
        self.version = self._versions()
        self.pairs: list[Pair] = [(line.model, line.dims) for _, line in self.rows.namespaces]
        self._lines: dict[str, list[Pair]] = {}
        for _, line in self.rows.namespaces:
            self._lines.setdefault(line.name, []).append((line.model, line.dims))
        self._made: dict[int | None, Pair] = {}
        self._served: dict[int, Pair] = {}
        for each, namespace in zip(self.rows.shapes, of_shape, strict=True):
            if each.outcome in (Outcome.VECTOR, Outcome.PARTIAL):
                self._served.setdefault(namespace, (each.model, each.dims))
                if each.leg is Leg.PRIMARY and each.op is not Operation.HEALTHCHECK:
                    self._made.setdefault(namespace, (each.model, each.dims))
                    self._made.setdefault(None, (each.model, each.dims))

    def ledger(self) -> Ledger:
        """Judge every call, then sum them up."""
        calls, rows = self.calls, self.rows
        document = self._of_shapes([is_document(each) for each in rows.shapes])
        document |= self._of_shapes([each.purpose is Purpose.DOCUMENT for each in rows.shapes])
        document[list(self.told_later)] = True
        query = self._of_shapes([each.purpose is Purpose.QUERY for each in rows.shapes])
        null = np.array([each.outcome is Outcome.NULL for each in rows.shapes], np.bool_)[self.shape]
        placed = (self.namespace >= 0) & ~calls.health & (document | query)
        served = calls.serving >= 0
        items = self._items()
        nulls = np.where(null, items, np.minimum(rows.nulls[calls.deciding], items))
        vectors = np.where(served & placed, items - nulls, 0)
        written = np.zeros(calls.count, np.uint8)
        judged = np.flatnonzero(vectors > 0)
        written[judged] = self._judge(judged, query[judged])
        missing = np.where(placed & document & ~query, np.where(served, nulls, items), 0)
        self._correct_missing(missing, served)
        size = max(1, len(self.names))
        unplaced = int(((self.namespace < 0) & ~calls.health & served).sum())
        empty = Ledger((), self.namespace, written, vectors, missing, unplaced, rows.kept.not_held, no_sums(size))
        sums = checkpoints(empty, size)
        wrong = np.flatnonzero(empty.foreign)
        wrong = wrong[np.argsort(self.namespace[wrong], kind="stable")]
        edges = np.searchsorted(self.namespace[wrong], np.arange(size + 1))
        made = tuple(
            self._row(name, wrong[edges[number] : edges[number + 1]], empty, sums[-1][number])
            for name, number in self.names.items()
        )
        return Ledger(made, self.namespace, written, vectors, missing, unplaced, rows.kept.not_held, sums)

    def _namespaces(self) -> Ints:
        """Find the namespace of each call: its own, else the only one that the log speaks of."""
        found = self._namespace_of_shape[self.shape] if len(self.rows.shapes) else np.zeros(0, np.int64)
        unknown = found < 0
        if unknown.any():
            found[unknown] = self._namespace_of_shape[self.asked[unknown]]
            self._unnamed = found < 0
            if self._only:
                found[self._unnamed] = 0
        return found

    def _take_writes(self) -> None:
        """Place calls that do not say where their vectors went and of which a later record does."""
        if not self.rows.writes:
            return
        calls = np.flatnonzero(self._unnamed & ~self.calls.health)
        first = self.calls.first[calls]
        ids = zip(self.rows.instance[first].tolist(), self.rows.call[first].tolist(), strict=True)
        known = dict(zip(ids, calls.tolist(), strict=True))
        instances = {name: number for number, name in enumerate(self.rows.instances)}
        alone = len(instances) == 1
        for write in self.rows.writes:
            instance = 0 if alone and write.instance is None else instances.get(write.instance, -1)
            call = None if write.call_id is None else known.get((instance, hash(write.call_id)))
            if call is not None:
                self.namespace[call] = self.names.setdefault(write.namespace, len(self.names))
                self.told_later[call] = write.keys

    def _of_shapes(self, says: list[bool]) -> Flags:
        """Say of each call whether the attempt that decided it, or its first, is of such a shape."""
        table = np.array(says, np.bool_)
        found: Flags = table[self.shape] | table[self.asked] if len(table) else np.zeros(0, np.bool_)
        return found

    def _items(self) -> Ints:
        rows = self.rows
        items = np.maximum(rows.items[self.calls.deciding], rows.items[self.calls.first])
        most: Ints = np.maximum(items, 0)
        return most

    def _versions(self) -> Ints:
        """Find the line of the log that speaks of each call's namespace when it ends, -1 when none did yet."""
        lines = self.rows.namespaces
        if not lines:
            return np.full(self.calls.count, -1, np.int64)
        keys = np.array([(self.names[line.name] << 40) + place for place, line in lines], np.int64)
        order = np.argsort(keys, kind="stable")
        wanted = (self.namespace << 40) + self.calls.deciding
        at = np.searchsorted(keys[order], wanted, "right") - 1
        line = order[np.maximum(at, 0)]
        own = (at >= 0) & (keys[line] >> 40 == self.namespace)
        found: Ints = np.where(own, line, -1)
        return found

    def _judge(self, judged: Ints, query: Flags) -> Bytes:
        """Hold vectors against their namespaces, once for each shape in each."""
        versions, shapes = len(self.pairs), len(self.rows.shapes)
        space = np.where(self.version >= 0, self.version, versions + self.namespace)[judged]
        mixed = space * shapes + self.shape[judged]
        size = (versions + len(self.names)) * shapes
        if size <= DENSE:
            found = np.flatnonzero(np.bincount(mixed, minlength=size))
            table = np.zeros(size, np.uint8)
            table[found] = [self._verdict(*divmod(each, shapes)) for each in found.tolist()]
            verdict = table[mixed]
        else:
            found, inverse = np.unique(mixed, return_inverse=True)
            verdicts = [self._verdict(*divmod(each, shapes)) for each in found.tolist()]
            verdict = np.array(verdicts, np.uint8)[inverse]
        asked = np.where(verdict == Written.NATIVE, Written.ASKED, Written.ASKED_ACROSS)
        judged_all: Bytes = np.where(query, asked, verdict).astype(np.uint8)
        return judged_all

    def _verdict(self, space: int, shape: int) -> Written:
        made = self.rows.shapes[shape]
        versions = len(self.pairs)
        pair = self.pairs[space] if space < versions else self.assumed(space - versions)
        return classify(pair, (made.model, made.dims))

    def assumed(self, namespace: int) -> Pair:
        """Give what the primary makes, as the log shows it first: there, else anywhere; else what it was asked for."""
        for found in (self._made.get(namespace), self._made.get(None)):
            if found is not None:
                return found
        for each in self.rows.shapes:
            if each.leg is Leg.PRIMARY and each.request_model is not None:
                return each.request_model, each.requested_dims
        return self._served.get(namespace, (None, None))

    def _correct_missing(self, missing: Ints, served: Flags) -> None:
        """Where keys are given, leave only those that no later call served."""
        kept, calls = self.rows.kept, self.calls
        if not kept.counted:
            return
        keyed: dict[int, int] = {}
        left: dict[int, int] = {}
        for row, count in kept.counted.items():
            call = int(calls.of_row[row])
            keyed[call] = max(keyed.get(call, 0), count)
        for row, count in kept.missing.items():
            call = int(calls.of_row[row])
            # A rescue that names no keys served those of the failure before it.
            if not served[call] or row == calls.deciding[call]:
                left[call] = left.get(call, 0) + count
        for call, count in keyed.items():
            if missing[call]:
                without_keys = 0 if served[call] else max(0, int(missing[call]) - count)
                missing[call] = left.get(call, 0) + without_keys

    def _row(self, name: str, mine: Ints, ledger: Ledger, counts: Ints) -> LedgerRow:
        lines = self._lines.get(name, [])
        pair = lines[-1] if lines else self.assumed(self.names[name])
        first, last = (int(mine[0]), int(mine[-1])) if len(mine) else (None, None)
        return LedgerRow(
            namespace=name,
            fingerprint=pair_text(pair),
            assumed=not lines,
            model=pair[0],
            dims=pair[1],
            native=int(counts[Written.NATIVE]),
            foreign_same_dims=int(counts[Written.FOREIGN_SAME_DIMS]),
            foreign_dims_mismatch=int(counts[Written.FOREIGN_DIMS]),
            missing=int(counts[Written.NOTHING]),
            cross_space_queries=int(counts[Written.ASKED_ACROSS]),
            first_call=None if first is None else first + 1,
            last_call=None if last is None else last + 1,
            first_at_ms=None if first is None else float(self.calls.started[first]),
            last_at_ms=None if last is None else float(self.calls.started[last]),
            keys=tuple(dict.fromkeys(self._keys(mine, ledger))),
            foreign=self._models(mine, ledger),
            restated=len(set(lines)) > 1,
        )

    def _keys(self, calls: Ints, ledger: Ledger) -> Iterator[str]:
        vectors = self.rows.kept.vectors
        writing = calls[ledger.written[calls] != Written.ASKED_ACROSS]
        for call, row in zip(writing.tolist(), self.calls.deciding[writing].tolist(), strict=True):
            yield from vectors.get(row) or self.told_later.get(call, ())

    def _models(self, calls: Ints, ledger: Ledger) -> tuple[ForeignModel, ...]:
        found: dict[str, list[int]] = {}
        shapes, asked = self.shape[calls], ledger.written[calls] == Written.ASKED_ACROSS
        for queries in (False, True):
            chosen = asked == queries
            counts = np.bincount(shapes[chosen], weights=ledger.vectors[calls][chosen], minlength=1)
            for shape in np.flatnonzero(counts).tolist():
                made = self.rows.shapes[shape]
                numbers = found.setdefault(pair_text((made.model, made.dims)) or "?", [0, 0])
                numbers[queries] += int(counts[shape])
        models = (ForeignModel(name, *numbers) for name, numbers in found.items())
        return tuple(sorted(models, key=lambda each: (-each.vectors, -each.queries, each.fingerprint)))
