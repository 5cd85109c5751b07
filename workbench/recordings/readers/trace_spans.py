"""A span of any tracing format in one shape, and spans as steps: keys, exact durations, statuses, errors once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.recordings.model import Node, Note, RecordedError, Run, Step
from workbench.recordings.readers.lenient import as_list, as_text, as_whole, milliseconds
from workbench.recordings.steps import RawStep, finish_steps

_READ = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_WROTE = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")


class Attributes:
    """The attributes of one span by key, each decoded only when it is asked for: most hold vectors or whole bodies."""

    def __init__(
        self,
        raw: Mapping[str, object],
        decode: Callable[[object], object] = lambda value: value,
        items: Callable[[object], list[object]] = as_list,
    ) -> None:
        self._raw = raw
        self._decode = decode
        self._items = items

    def __contains__(self, key: str) -> bool:
        return key in self._raw

    def get(self, *keys: str) -> object:
        """Give the first of these that is there and not null."""
        for key in keys:
            if key in self._raw:
                value = self._decode(self._raw[key])
                if value is not None:
                    return value
        return None

    def text(self, *keys: str) -> str | None:
        """Give the first of these that is a string or a number, as text."""
        for key in keys:
            text = as_text(self.get(key))
            if text is not None:
                return text
        return None

    def length(self, key: str) -> int:
        """Give how many items a list has, which is not decoded for that; 0 when it is none."""
        return len(self._items(self._raw.get(key)))

    def starting(self, prefix: str) -> list[str]:
        """Give the keys that begin so, in their order."""
        return [key for key in self._raw if key.startswith(prefix)]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that a span reports at one moment (an exception)."""

    name: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class RawSpan:
    """One span as its format wrote it.

    Attributes:
        trace, id, parent: as hex in lower case; None when missing.
        name: what it is called.
        start_ns, end_ns: whole nanoseconds since 1970; None when not set.
        attributes: by dotted key.
        failed: whether its status is an error, None when it has none.
        message: the words of the status.
        events: what it reports.
        lost: how many of its events and attributes the producer dropped.
        node: where it stands.
    """

    trace: str | None
    id: str | None
    parent: str | None
    name: str
    start_ns: int | None
    end_ns: int | None
    attributes: Attributes
    node: Node
    failed: bool | None = None
    message: str | None = None
    events: tuple[SpanEvent, ...] = ()
    lost: int = 0
    resource: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        """What tells it from all others: ids of spans are unique within a trace only."""
        return None if self.id is None else f"{self.trace or ''}/{self.id}"

    @property
    def parent_key(self) -> str | None:
        """The key of its parent."""
        return None if self.parent is None else f"{self.trace or ''}/{self.parent}"

    @property
    def duration_ns(self) -> int | None:
        """How long it took; negative when its clocks disagree."""
        return None if self.start_ns is None or self.end_ns is None else self.end_ns - self.start_ns

    @property
    def error(self) -> str | None:
        """What went wrong, in its own words; None when nothing did."""
        said = _exception(self.events)
        if not self.failed:
            return None
        return self.message or said or "the span ended as an error and does not say why"


def _exception(events: Sequence[SpanEvent]) -> str | None:
    for event in events:
        if event.name == "exception":
            kind = event.attributes.text("exception.type")
            message = event.attributes.text("exception.message")
            if kind and message:
                return f"{kind}: {message}"
            if kind or message:
                return kind or message
    return None


def raw_step(span: RawSpan, kind: str) -> RawStep:
    """Give a span as a step. An end before its start stays before it, however little rounding leaves of that."""
    start, end = milliseconds(span.start_ns), milliseconds(span.end_ns)
    if start is not None and end is not None and (span.duration_ns or 0) < 0 and end >= start:
        end = math.nextafter(start, -math.inf)
    status = "error" if span.failed else "ok" if span.failed is False else None
    if span.end_ns is None and span.start_ns is not None and not span.failed:
        status = "unfinished"
    return RawStep(
        key=span.key,
        parent=span.parent_key,
        kind=kind,
        name=span.name,
        start_ms=start,
        end_ms=end,
        status=status,
        error=span.error,
        spans=(span.node.span,),
        tokens=(as_whole(span.attributes.get(*_READ)), as_whole(span.attributes.get(*_WROTE))),
    )


def finish_spans(raw: Sequence[RawStep], durations_ns: Mapping[str, int]) -> tuple[tuple[Step, ...], tuple[Note, ...]]:
    """Give the steps numbers; durations come from whole nanoseconds, since epoch milliseconds have no room for them."""
    steps, notes = finish_steps(raw)
    exact: list[Step] = []
    for step in steps:
        known = durations_ns.get(step.key) if step.key is not None else None
        duration = milliseconds(known) if known is not None and known >= 0 else step.duration_ms
        exact.append(step if duration == step.duration_ms else replace(step, duration_ms=duration))
    return tuple(exact), notes


def errors_once(steps: Sequence[Step]) -> tuple[RecordedError, ...]:
    """List the errors of steps, each at the innermost step that has it: callers repeat what their callee said."""
    above: set[tuple[int, str]] = set()
    for step in steps:
        at = step.parent
        while step.error is not None and at is not None and (at, step.error) not in above:
            above.add((at, step.error))
            at = steps[at - 1].parent
    return tuple(
        RecordedError(step.n, step.error)
        for step in steps
        if step.error is not None and (step.n, step.error) not in above
    )


@dataclass(slots=True)
class RunFacts:
    """What the spans say together of the run, gathered one by one."""

    traces: dict[str, None] = field(default_factory=dict)
    services: dict[str, None] = field(default_factory=dict)
    first_ns: int | None = None
    last_ns: int | None = None
    lost: int = 0

    def add(self, span: RawSpan) -> None:
        """Take one more span into account."""
        if span.trace is not None:
            self.traces.setdefault(span.trace)
        service = span.resource.get("service.name")
        if service:
            self.services.setdefault(service)
        if span.start_ns is not None:
            self.first_ns = span.start_ns if self.first_ns is None else min(self.first_ns, span.start_ns)
        if span.end_ns is not None:
            self.last_ns = span.end_ns if self.last_ns is None else max(self.last_ns, span.end_ns)
        self.lost += span.lost

    def run(self) -> Run:
        """Give the header. Spans do not say whether all of a trace is in the file, so completeness stays unknown."""
        manifest = [("service", service) for service in self.services]
        if len(self.traces) > 1:
            manifest.append(("traces", f"{len(self.traces):,}"))
        lost = (
            (f"the producer dropped {self.lost:,} attributes and events of its spans to keep to a limit",)
            if self.lost
            else ()
        )
        return Run(
            id=next(iter(self.traces)) if len(self.traces) == 1 else None,
            started_ms=milliseconds(self.first_ns),
            ended_ms=milliseconds(self.last_ns),
            not_recorded=lost,
            manifest=tuple(manifest),
        )
