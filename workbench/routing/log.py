"""The routing log, read: what its lines say, as records and as problems, however damaged the file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, BinaryIO

import msgspec
import numpy as np
import orjson

from workbench.core.fingerprint import parse_fingerprint
from workbench.core.routing import Leg, Outcome, RoutingDialect
from workbench.routing.log_format import ABORTED, ABORTS, CANCELLED, AttemptLine, Line, epoch_ms
from workbench.routing.log_lines import LineBlock, line_blocks
from workbench.routing.model import (
    Attempt,
    LoggedConfig,
    LoggedNamespace,
    LoggedReset,
    LoggedStart,
    LoggedTransition,
    LoggedWrite,
    LogProblem,
    Operation,
    Record,
)

_MOST_PROBLEMS = 20
_MOST_KINDS = 5
_LINE_FEED, _BRACE = b"\n{"

_decoder = msgspec.json.Decoder(Line)
_attempts = msgspec.json.Decoder(AttemptLine)
_FIELDS = {field.encode_name: field for field in msgspec.structs.fields(Line)}


class Piece:
    """Lines that follow one another and decoded without a fault, not turned into records yet.

    Whoever needs only columns of a million attempts is spared a million records by it.

    Attributes:
        first: the number of the first line, from 1.
        lines: as they stand.
    """

    def __init__(self, block: LineBlock, lines: list[AttemptLine], reading: _Reading) -> None:
        self.first = block.first
        self.lines = lines
        self._data = block.data
        self._raw: list[bytes] | None = None
        self._reading = reading

    def record(self, at: int) -> Record | LogProblem | None:
        """Give what the line at an index says; None when it says nothing that is kept. To be asked once."""
        line = self._line(at)
        return (
            self._reading.problem(self.first + at, _NO_OBJECT)
            if line is None
            else self._reading.record(self.first + at, line)
        )

    def attempt(self, at: int) -> Attempt | None:
        """Give the line at an index as an attempt, None when it is no usable one; as often as wanted."""
        line = self._line(at)
        if line is None or line.record != "attempt":
            return None
        if line.timestamp is None:
            # Whether it says when is another question, with another answer for each line of this spelling.
            line.timestamp = 0.0
        found = _Reading().record(self.first + at, line)
        return found if isinstance(found, Attempt) else None

    def _line(self, at: int) -> Line | None:
        if self._raw is None:
            self._raw = self._data.split(b"\n")
        try:
            return _decoder.decode(self._raw[at])
        except (msgspec.DecodeError, RecursionError, ValueError):
            # What the columns leave alone (keys, ends of a transition) may not be of its type.
            return _loosely(self._raw[at])[0]


def read_log(file: BinaryIO) -> Iterator[Record | LogProblem]:
    """Give what a log says, in its order, reading on as it is asked; ``file`` stands at its beginning.

    Never raises for what the file holds: a line that says nothing usable is a ``LogProblem``, and after twenty of them
    the rest are counted in one at the end, as are records of unknown kinds and attempts that their caller cancelled.
    """
    reading = _Reading()
    for block in line_blocks(file):
        yield from reading.block(block)
    yield from reading.summary()


def read_pieces(file: BinaryIO) -> Iterator[Piece | Record | LogProblem]:
    """Give what ``read_log`` gives, with lines that are as they should be in pieces."""
    reading = _Reading()
    for block in line_blocks(file):
        try:
            lines = _attempts.decode_lines(block.data) if _each_begins(block) else []
        except (msgspec.DecodeError, RecursionError, ValueError):
            lines = []
        if lines and len(lines) == block.count:
            yield Piece(block, lines, reading)
        else:
            yield from reading.block(block)
    yield from reading.summary()


def _each_begins(block: LineBlock) -> bool:
    """Say whether every line begins as an object: an empty one would shift the numbers of those after it."""
    # Looked at as numbers: a search for two bytes costs a tenth of all that a replay does.
    octets = np.frombuffer(block.data, np.uint8)
    begins = np.flatnonzero(octets[:-1] == _LINE_FEED) + 1
    return block.data.startswith(b"{") and bool((octets[begins] == _BRACE).all())


def _decode_block(block: LineBlock) -> list[Line] | None:
    """Decode all lines at once; None when one of them needs a closer look."""
    try:
        lines = _decoder.decode_lines(block.data) if _each_begins(block) else []
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return lines if lines and len(lines) == block.count else None


class _Reading:
    """What has been found out about a log so far, beside its records."""

    def __init__(self) -> None:
        self.problems = 0
        self.kinds: dict[str, int] = {}
        self.unknown = 0
        self.cancelled = 0

    def said(self, line: int, message: str) -> Iterator[LogProblem]:
        """Give one problem with a line, as long as there have not been too many."""
        self.problems += 1
        if self.problems <= _MOST_PROBLEMS:
            yield LogProblem(line, f"line {line:,} {message}")

    def problem(self, line: int, message: str) -> LogProblem | None:
        """Give one problem with a line, None when there have been too many."""
        return next(self.said(line, message), None)

    def block(self, block: LineBlock) -> Iterator[Record | LogProblem]:
        """Read the lines of a block."""
        if block.too_long:
            yield from self.said(block.first, "is longer than a line of a log can be, and was passed over")
            return
        lines = _decode_block(block)
        if lines is None:
            yield from self.line_by_line(block)
            return
        for number, line in enumerate(lines, block.first):
            found = self.record(number, line)
            if found is not None:
                yield found

    def line_by_line(self, block: LineBlock) -> Iterator[Record | LogProblem]:
        """Read the lines of a block in which one is not as it should be."""
        unfinished = not block.data.endswith(b"\n")
        # Not splitlines(): only a line feed ends a line, and a carriage return before it is white space to JSON.
        raw_lines = block.data.split(b"\n")
        if not unfinished:
            raw_lines.pop()
        for number, raw in enumerate(raw_lines, block.first):
            if not raw.strip():
                continue
            try:
                line = _decoder.decode(raw)
            except msgspec.ValidationError:
                loose, wrong = _loosely(raw)
                for message in wrong:
                    yield from self.said(number, message)
                if loose is None:
                    continue
                line = loose
            except (msgspec.DecodeError, RecursionError, ValueError):
                last = unfinished and number == block.first + len(raw_lines) - 1
                yield from self.said(number, _HALF_WRITTEN if last else _NO_OBJECT)
                continue
            found = self.record(number, line)
            if found is not None:
                yield found

    def record(self, number: int, line: Line) -> Record | LogProblem | None:
        """Turn a line of any kind into what it says; None when it says nothing that is kept."""
        if line.record == "attempt":
            if line.leg is None:
                return self.problem(number, "does not say which leg was asked (primary or fallback)")
            return self.attempt(number, line)
        make = _OTHER_RECORDS.get(line.record)
        if make is None:
            self.unknown += 1
            if line.record in self.kinds or len(self.kinds) < _MOST_KINDS:
                self.kinds[line.record] = self.kinds.get(line.record, 0) + 1
            return None
        try:
            return make(number, line)
        except _Unusable as unusable:
            return self.problem(number, str(unusable))

    def attempt(self, number: int, line: Line) -> Attempt | LogProblem | None:
        """Turn the line of an attempt into one."""
        started_ms = epoch_ms(line.timestamp)
        if started_ms is None:
            return self.problem(number, "does not say when the attempt began (timestamp)")
        keys, null_count, error_type = line.keys, line.null_count, line.error_type
        input_count = line.input_count if line.input_count is not None else (len(keys) or 1)
        if null_count is None:
            null_count = 0 if line.null_indexes is None else len(line.null_indexes)
        if line.outcome == "success":
            outcome = Outcome.PARTIAL if null_count else Outcome.VECTOR
        elif line.outcome == CANCELLED:
            if line.leg is not Leg.FALLBACK or line.op is Operation.HEALTHCHECK:
                self.cancelled += 1
                return None
            outcome, error_type = Outcome.ABORT, error_type or ABORTED
        else:
            known = _OUTCOMES.get(line.outcome or "")
            if known is None:
                said = "no outcome" if line.outcome is None else f"an outcome that is not known: {line.outcome[:40]}"
                return self.problem(number, f"gives {said}")
            outcome = Outcome.ABORT if known is Outcome.ERROR and error_type in ABORTS else known
            if outcome is Outcome.NULL and not null_count:
                null_count = input_count
        return Attempt(
            line=number,
            instance=line.instance,
            call_id=line.call_id,
            leg=line.leg or Leg.PRIMARY,
            op=line.op,
            started_ms=started_ms,
            duration_ms=line.duration_ms,
            outcome=outcome,
            error_type=error_type,
            error_message=line.error_message,
            provider=line.provider,
            request_model=line.request_model,
            response_model=line.response_model,
            requested_dims=line.requested_dims,
            observed_dims=line.observed_dims,
            input_count=input_count,
            null_count=null_count,
            null_indexes=line.null_indexes,
            purpose=line.purpose,
            namespace=line.namespace,
            keys=keys,
            status_code=line.status_code,
            server=line.server,
        )

    def summary(self) -> Iterator[LogProblem]:
        """Say at the end what was only counted."""
        if self.problems > _MOST_PROBLEMS:
            more = self.problems - _MOST_PROBLEMS
            yield LogProblem(None, f"{more:,} more problems with lines like those above")
        if self.unknown:
            kinds = ", ".join(f"{kind[:40]} ({count:,})" for kind, count in self.kinds.items())
            yield LogProblem(None, f"{self.unknown:,} records of unknown kinds were passed over: {kinds}")
        if self.cancelled:
            yield LogProblem(None, f"{self.cancelled:,} attempts were cancelled by their caller and count for nothing")


_NO_OBJECT = "is no JSON object, and was passed over"
_HALF_WRITTEN = "is the last one and half written, as a process that was killed leaves it; it was passed over"
_OUTCOMES = {
    "error": Outcome.ERROR,
    "not_permitted": Outcome.CIRCUIT_OPEN,
    "null": Outcome.NULL,
}


class _Unusable(Exception):
    """Why a record says too little."""


def _config(number: int, line: Line) -> LoggedConfig:
    return LoggedConfig(
        line=number,
        instance=line.instance,
        failure_streak_threshold=_number(line.failure_streak_threshold),
        cooldown_ms=_number(line.cooldown_ms),
        dialect=_dialect(line.dialect),
    )


def _number(value: float | str | None) -> float | None:
    """Read a number that JSON cannot spell, such as a threshold of ``Infinity``, from its word."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return None


def _dialect(said: str | list[str] | dict[str, bool] | None) -> RoutingDialect | None:
    """Read the switches that are on, by their names; ``documented`` is none of them."""
    if said is None:
        return None
    if isinstance(said, str):
        said = said.split(",")
    on = [name for name, switched in said.items() if switched] if isinstance(said, dict) else said
    names = {name.strip().replace("-", "_") for name in on}
    return RoutingDialect(**{field.name: field.name in names for field in fields(RoutingDialect)})


def _namespace(number: int, line: Line) -> LoggedNamespace:
    name = line.id if line.id is not None else line.namespace
    if name is None:
        raise _Unusable("does not name its namespace (id)")
    model, dims = line.model, line.dimensions
    if line.fingerprint is not None:
        stated = parse_fingerprint(line.fingerprint)
        model = stated.id if model is None else model
        dims = int(stated.dims) or None if dims is None else dims
    return LoggedNamespace(line=number, name=name, model=model, dims=dims)


def _transition(number: int, line: Line) -> LoggedTransition:
    if line.origin is None or line.target is None:
        raise _Unusable("does not say between which legs the route changed (from, to)")
    return LoggedTransition(
        line=number,
        instance=line.instance,
        at_ms=epoch_ms(line.timestamp),
        origin=line.origin,
        target=line.target,
        message=line.message,
    )


def _reset(number: int, line: Line) -> LoggedReset:
    return LoggedReset(line=number, instance=line.instance, at_ms=epoch_ms(line.timestamp))


def _start(number: int, line: Line) -> LoggedStart:
    return LoggedStart(line=number, instance=line.instance, at_ms=epoch_ms(line.timestamp))


def _write(number: int, line: Line) -> LoggedWrite:
    if line.namespace is None:
        raise _Unusable("does not name the namespace that was written")
    return LoggedWrite(
        line=number,
        instance=line.instance,
        at_ms=epoch_ms(line.timestamp),
        call_id=line.call_id,
        namespace=line.namespace,
        keys=line.keys,
    )


_OTHER_RECORDS: dict[str, Callable[[int, Line], Record]] = {
    "config": _config,
    "namespace": _namespace,
    "transition": _transition,
    "reset": _reset,
    "start": _start,
    "write": _write,
}


def _loosely(raw: bytes) -> tuple[Line | None, list[str]]:
    """Read a line in which values are not of their types: what can be understood is, the rest is taken as not said."""
    try:
        entries = orjson.loads(raw)
    except ValueError:
        return None, [_NO_OBJECT]
    if not isinstance(entries, dict):
        return None, [_NO_OBJECT]
    line, wrong = Line(), []
    for key, value in entries.items():
        field = _FIELDS.get(key)
        if field is None or value is None:
            continue
        try:
            setattr(line, field.name, _understood(key, value, field.type))
        except (ValueError, OverflowError, RecursionError):
            wrong.append(f"has a value of {key} that is not one, taken as not said")
    return line, wrong


def _understood(key: str, value: Any, kind: Any) -> Any:  # noqa: ANN401 (any value of a line)
    """Convert a value to its type, numbers and times also from text; raises ValueError when it is none."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        if not isinstance(value, str):
            raise
        if key != "timestamp":
            return msgspec.convert(value.strip().lower(), kind, strict=False)
    try:
        return float(value)
    except ValueError:
        if value[16:19] == ":60":
            # RFC 3339 has leap seconds, and the calendar of Python has none.
            return datetime.fromisoformat(f"{value[:16]}:59{value[19:]}") + timedelta(seconds=1)
        return datetime.fromisoformat(value)
