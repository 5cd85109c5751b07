"""Errors of agentfootprint's runs, each once; a refusal of an embedder, which is prose only, is read back from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from workbench.core.fingerprint import fingerprint_conflict, parse_fingerprint
from workbench.recordings.model import Document, Mismatch, Node, RecordedError
from workbench.recordings.readers.agentfootprint_rows import Event, Row
from workbench.recordings.readers.agentfootprint_steps import errors_by_stage, run_key, subflow_key
from workbench.recordings.readers.lenient import as_text

_PREFIXES = re.compile(r"^(?:The AI call failed: |[A-Z][A-Za-z]*Error: )+")
_PAIR = re.compile(r"'([^'\n]{0,400}@[0-9.e+]{1,24})'")
_NO_CHANCE = 40
_NAMESPACE = re.compile(r"namespace '([^'\n]{0,400})'")


def find_errors(
    document: Document, snapshot: Node | None, events: list[Event], rows: list[Row], numbers: Mapping[str, int]
) -> tuple[RecordedError, ...]:
    """Give every error once: where it happened, in the words that name it without a prefix."""
    found: list[RecordedError] = []
    for step, message in _told(document, snapshot, events, rows, numbers):
        plain = _PREFIXES.sub("", message)
        if any(_same(plain, each.message) for each in found):
            continue
        found.append(RecordedError(step, plain, read_mismatch(plain)))
    return tuple(found)


def _same(one: str, other: str) -> bool:
    """Say whether two messages tell one error: equal, or one inside the other and too long for that to be chance."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= _NO_CHANCE and shorter in longer)


def _told(
    document: Document, snapshot: Node | None, events: list[Event], rows: list[Row], numbers: Mapping[str, int]
) -> Iterator[tuple[int | None, str]]:
    """Tell each error as often as it is recorded, the nearest to where it happened first."""
    tree = snapshot.get("executionTree") if snapshot is not None else None
    for stage, message in errors_by_stage(tree).items():
        yield numbers.get(subflow_key(stage), numbers.get(f"stage:{stage}", numbers.get(run_key()))), message
    for row in rows:
        error = row.facts.get("error")
        if isinstance(error, str):
            key = run_key() if row.family == "run" else f"tool:{row.stage}:{as_text(row.facts.get('toolCallId')) or ''}"
            yield numbers.get(key), error
    for event in events:
        if event.type == "error.fatal":
            message_of_event = as_text(event.payload(document).get("error"))
            if message_of_event is not None:
                yield numbers.get(run_key()), message_of_event
        elif event.type == "stream.tool_end":
            payload = event.payload(document)
            if payload.get("error") is True:
                key = f"tool:{event.stage}:{as_text(payload.get('toolCallId')) or ''}"
                yield numbers.get(key), as_text(payload.get("result")) or "the tool failed"


def read_mismatch(message: str) -> Mismatch | None:
    """Read the pair of fingerprints back from the words of a refusal; None when there is no such pair."""
    pair = _PAIR.findall(message)
    if len(pair) < 2:
        return None
    indexed, incoming = parse_fingerprint(pair[0]), parse_fingerprint(pair[1])
    namespace = _NAMESPACE.search(message)
    return Mismatch(
        namespace.group(1) if namespace else None, indexed, incoming, fingerprint_conflict(indexed, incoming)
    )
