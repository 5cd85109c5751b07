"""Retrievals of agentfootprint's runs: the final evidence where it is kept, else the event; and reports of indexing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.core.fingerprint import Fingerprint, parse_fingerprint
from workbench.recordings.model import (
    Candidate,
    ClippedChunk,
    Document,
    IndexReport,
    LoadedEntry,
    Node,
    Passage,
    Retrieval,
)
from workbench.recordings.readers.agentfootprint_rows import Event, Row
from workbench.recordings.readers.agentfootprint_steps import run_key, subflow_key
from workbench.recordings.readers.lenient import as_list, as_number, as_object, as_text, as_whole

_EVIDENCE = "retrievalEvidence_"
_UNKNOWN = "unknown"


def find_retrievals(
    document: Document, snapshot: Node | None, events: list[Event], rows: list[Row], numbers: Mapping[str, int]
) -> tuple[Retrieval, ...]:
    """Give a retrieval for each event of one, and for each final evidence that has lost its event."""
    evidence = list(_final_evidence(document, snapshot, rows))
    prompts = list(_prompts(document, snapshot, events))
    loaded = {row.stage: row for row in rows if row.type == "subflow.exit"}
    found: list[Retrieval] = []
    used: set[int] = set()
    query: tuple[str, Fingerprint] | None = None
    for event in events:
        if event.type == "embedding.generated":
            payload = event.payload(document)
            if as_text(payload.get("inputKind")) != "document":
                query = (event.stage.rpartition("/")[0], _generated(payload))
        elif event.type == "memory.retrieved":
            payload = event.payload(document)
            place = _matching(evidence, payload, used)
            final = payload
            if place is not None:
                used |= {index for index, each in enumerate(evidence) if _same(each, payload)}
                final = {**payload, **evidence[place]}
            asked = query[1] if query is not None and query[0] == event.stage.rpartition("/")[0] else None
            row = _row_around(event.stage, loaded)
            entries = _entries(document, row) or _entries_of_snapshot(snapshot, event.stage)
            step = numbers.get(subflow_key(row.stage)) if row is not None else None
            found.append(_retrieval(len(found) + 1, step, final, asked, prompts, entries))
            query = None
    for index, each in enumerate(evidence):
        if index not in used:
            used |= {place for place, other in enumerate(evidence) if _same(other, each)}
            found.append(_retrieval(len(found) + 1, numbers.get(run_key()), each, None, prompts, ()))
    return tuple(found)


def _retrieval(
    n: int,
    step: int | None,
    evidence: Mapping[str, object],
    asked: Fingerprint | None,
    prompts: list[str],
    entries: tuple[LoadedEntry, ...],
) -> Retrieval:
    candidates = evidence.get("candidates")
    listed = [as_object(each) for each in as_list(candidates)]
    placed = sorted(
        (as_whole(each.get("promptPosition")) or 0, index)
        for index, each in enumerate(listed)
        if as_text(each.get("promptFragment")) is not None
    )
    complete, empty = evidence.get("candidatesComplete"), evidence.get("corpusEmpty")
    hashed = as_text(evidence.get("queryHash"))
    return Retrieval(
        n=n,
        step=step,
        query=next((text for text in prompts if hashed is not None and query_hash(text) == hashed), None),
        fingerprint=asked or _stated(evidence),
        namespace=as_text(evidence.get("namespace")),
        threshold=as_number(evidence.get("threshold")),
        complete=complete if isinstance(complete, bool) else None,
        candidates=tuple(_candidate(each, entries) for each in listed) if isinstance(candidates, list) else None,
        passages=tuple(
            Passage(as_text(listed[index].get("id")), as_text(listed[index].get("promptFragment")) or "")
            for _position, index in placed
        ),
        entries=entries,
        corpus_empty=empty if isinstance(empty, bool) else None,
        top_k=as_whole(evidence.get("k")),
        note=as_text(evidence.get("candidatesOmittedReason")),
    )


def _candidate(fields: Mapping[str, object], entries: tuple[LoadedEntry, ...]) -> Candidate:
    admitted, id = fields.get("admitted"), as_text(fields.get("id"))
    return Candidate(
        id=id,
        rank=as_whole(fields.get("rank")),
        score=as_number(fields.get("score")),
        admitted=admitted if isinstance(admitted, bool) else None,
        reason=as_text(fields.get("reason")),
        document=as_text(fields.get("docUri")),
        page=as_text(fields.get("page")),
        heading=as_text(fields.get("heading")),
        # what was written into the prompt is wrapped in words that are not the chunk's
        text=next((each.text for each in entries if each.id is not None and each.id == id), None),
    )


def _generated(payload: Mapping[str, object]) -> Fingerprint:
    model = as_text(payload.get("model"))
    return Fingerprint(None if model == _UNKNOWN else model, as_whole(payload.get("dimension")) or 0)


def _stated(evidence: Mapping[str, object]) -> Fingerprint | None:
    dims = as_whole(evidence.get("dimensions"))
    name = as_text(evidence.get("embedderId"))
    return None if dims is None and name is None else Fingerprint(name, dims or 0)


def _final_evidence(document: Document, snapshot: Node | None, rows: list[Row]) -> Iterator[dict[str, object]]:
    """Give the evidence as it was when the prompt was written: of the shared state, and of each reading subflow."""
    shared = snapshot.get("sharedState") if snapshot is not None else None
    if shared is not None and shared.kind == "object":
        for name, node in shared.children():
            if isinstance(name, str) and name.startswith(_EVIDENCE):
                fields = as_object(node.value())
                if fields:
                    yield fields
    for row in rows:
        if row.type == "subflow.exit" and "memory-read" in row.stage:
            fields = as_object(as_object(row.field(document, "payload")).get("retrieved"))
            if "queryHash" in fields or "candidates" in fields:
                yield fields


def _matching(evidence: list[dict[str, object]], payload: Mapping[str, object], used: set[int]) -> int | None:
    for index, each in enumerate(evidence):
        if index not in used and _same(each, payload):
            return index
    return None


def _same(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return all(one.get(key) == other.get(key) for key in ("queryHash", "namespace", "k", "threshold"))


def _prompts(document: Document, snapshot: Node | None, events: list[Event]) -> Iterator[str]:
    """Give the texts that may have been asked; which one it was is told by its hash."""
    for event in events:
        if event.type == "agent.turn_start":
            text = as_text(event.payload(document).get("userPrompt"))
            if text is not None:
                yield text
    message = snapshot.get("sharedState", "userMessage") if snapshot is not None else None
    text = as_text(message.value()) if message is not None else None
    if text is not None:
        yield text


def query_hash(text: str) -> str:
    """Hash a query as the producer does: 32-bit FNV-1a over UTF-16 code units, in hexadecimal without padding."""
    code = 0x811C9DC5
    units = text.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(units), 2):
        code = ((code ^ (units[at] | units[at + 1] << 8)) * 0x01000193) & 0xFFFFFFFF
    return format(code, "x")


def _row_around(stage: str, loaded: Mapping[str, Row]) -> Row | None:
    """Find the subflow in which a stage ran: ``sf-memory-read-docs/load-relevant#2`` lies in the last one begun."""
    around = stage.rpartition("/")[0]
    number = as_whole(stage.rpartition("#")[2]) or 0
    best: Row | None = None
    for name, row in loaded.items():
        base, _, begun = name.rpartition("#")
        if base == around and (as_whole(begun) or 0) <= number:
            best = row
    return best


def _entries(document: Document, row: Row | None) -> tuple[LoadedEntry, ...]:
    if row is None:
        return ()
    return _loaded(as_object(row.field(document, "payload")).get("loaded"))


def _entries_of_snapshot(snapshot: Node | None, stage: str) -> tuple[LoadedEntry, ...]:
    around = stage.rpartition("/")[0]
    if snapshot is None or not around:
        return ()
    node = snapshot.get("subflowResults", around, "treeContext", "globalContext", "loaded")
    return () if node is None else _loaded(node.value())


def _loaded(value: object) -> tuple[LoadedEntry, ...]:
    entries = []
    for each in as_list(value):
        fields = as_object(each)
        vector = fields.get("embedding")
        dims = len(vector) if isinstance(vector, list) else as_whole(as_object(vector).get("dims"))
        id, model = as_text(fields.get("id")), as_text(fields.get("embeddingModel"))
        entries.append(LoadedEntry(id, model, dims, as_text(as_object(fields.get("value")).get("text"))))
    return tuple(entries)


def find_reports(
    document: Document, snapshot: Node | None, events: list[Event], numbers: Mapping[str, int]
) -> tuple[IndexReport, ...]:
    """Find the reports of indexing runs: results of tools, and the report of an index chart."""
    found: list[IndexReport] = []
    for event in events:
        if event.type == "stream.tool_end":
            payload = event.payload(document)
            step = numbers.get(f"tool:{event.stage}:{as_text(payload.get('toolCallId')) or ''}")
            report = _report(as_object(payload.get("result")), step)
            if report is not None:
                found.append(report)
    node = snapshot.get("sharedState", "report") if snapshot is not None else None
    report = _report(as_object(node.value()), None) if node is not None else None
    return (*found, report) if report is not None else tuple(found)


def _report(fields: Mapping[str, object], step: int | None) -> IndexReport | None:
    if not isinstance(fields.get("truncated"), list) or "chunks" not in fields:
        return None
    clipped = tuple(
        ClippedChunk(as_text(each.get("id")), as_whole(each.get("chars")))
        for each in map(as_object, as_list(fields.get("truncated")))
    )
    fingerprint = as_text(fields.get("embedderFingerprint"))
    count = as_whole(fields.get("truncatedCount"))
    return IndexReport(
        step=step,
        namespace=as_text(fields.get("namespace")),
        fingerprint=None if fingerprint is None else parse_fingerprint(fingerprint),
        chunks=as_whole(fields.get("chunks")),
        ceiling=as_whole(fields.get("maxChunkChars")),
        clipped=clipped,
        clipped_count=len(clipped) if count is None else count,
    )
