"""Recordings that tests and snapshots show: the run of the design, one cut short, one in which nothing was searched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from tests.tui import scenes
from tests.tui.fakes import FakeReader, FakeRecording, FakeSource
from workbench.checkup.recording_report import RecordingReport, VectorTotals
from workbench.checkup.recordings import judge_joined, judge_recording
from workbench.core.ceiling import ChunkCeiling
from workbench.core.fingerprint import Fingerprint
from workbench.crosscheck.indexed import IndexedNamespace
from workbench.crosscheck.joining import Joined, JoinedChunk, JoinedRetrieval
from workbench.crosscheck.spaces import Against, WrongSpace
from workbench.index.problems import SourceError
from workbench.recordings.heaviest import Heaviest, HeavyPlace
from workbench.recordings.model import Candidate, Note, Passage, RecordedError, Retrieval, Run, Span, Step

RUN = "support/recordings/run-0742-1.json"
CUT = "support/recordings/run-0801-1.jsonl"
PLAIN = "support/recordings/run-0742-2.json"
INDEX = "support/index.duckdb"

_SMALL = Fingerprint("text-embedding-3-small", 1536)
_ADA = Fingerprint("text-embedding-ada-002", 1536)
_START = 1_700_000_000_000.0


PAYLOAD = {
    "query": "refund after 40 days",
    "queryVec": [0.5] * 1_536,
    "topK": 12,
    "minScore": 0.6,
    "authorization": "Bearer abcdefghijklmnop",
    "usage": {"total_tokens": 2_577},
    "results": [{"id": "refunds.md#4", "embedding": {"dims": 1_536, "norm": 1}, "text": "Orders can be returned"}],
    "odd\x1b[31m": "\x1b]0;title\x07 [bold]no markup[/bold] \u202e",
}


class _Text:
    """The payloads one after another, each where its step says."""

    def __init__(self, payloads: Mapping[int, object]) -> None:
        self.data = b""
        self._spans: dict[int, Span] = {}
        for number, payload in payloads.items():
            data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
            self._spans[number] = Span(len(self.data), len(self.data) + len(data))
            self.data += data + b"\n"

    def span_of(self, number: int) -> Span:
        """Where the payload of a step is; an empty object where none is given."""
        return self._spans.get(number, self._spans[0])


_ARGUMENTS = json.dumps({"order": {"id": "A-1017", "days": 40}, "reason": "opened"})
_ASKED = [{"role": "system", "content": "Answer from the handbook. " * 8}, {"role": "user", "content": "refund?"}]

TEXT = _Text(
    {
        0: {},
        4: {"model": "chat-1", "messages": _ASKED, "usage": {"total_tokens": 2_126}},
        7: PAYLOAD,
        8: {"model": "chat-1", "tool_calls": [{"name": "refund_lookup", "arguments": _ARGUMENTS}]},
        9: b'{"url": "https://shop.test/refunds", "status": 200, "status": 503, "body": "try again later"}',
        10: {"status": 503},
    }
)


def _step(
    n: int, parent: int | None, kind: str, name: str, start: float, took: float | None, error: str | None = None
) -> Step:
    spans = (TEXT.span_of(n),)
    status = "error" if error else "ok"
    return Step(n, parent, False, kind, name, status, _START + start, took, error, spans, f"step-{n}")


STEPS = (
    _step(1, None, "turn", "turn 1", 0, 4_100),
    _step(2, 1, "context", "context", 0, 50),
    _step(3, 1, "retrieval", "retrieve", 50, 210),
    _step(4, 1, "llm", "llm", 260, 3_700),
    _step(5, None, "turn", "turn 2", 4_100, 8_300),
    _step(6, 5, "context", "context", 4_100, 60),
    _step(7, 5, "retrieval", "retrieve", 4_160, 190),
    _step(8, 5, "llm", "llm", 4_350, 2_600),
    _step(9, 5, "tool", "refund_lookup", 6_950, 1_100, "HTTP 503"),
    _step(10, 5, "tool", "refund_lookup", 8_150, 900, "HTTP 503"),
    _step(11, 5, "retrieval", "retrieve", 9_150, 240),
    _step(12, 5, "llm", "llm", 9_400, 2_600),
    _step(13, None, "answer", "answer", 12_360, 40),
)

_LISTED = (
    ("guide/part-26.md#86", 0.8312, True, None),
    ("guide/part-11.md#0", 0.7104, True, None),
    ("guide/part-2.md#0", 0.6401, True, None),
    ("guide/part-3.md#0", 0.5811, False, "low score"),
    ("guide/part-8.md#0", 0.5702, False, "low score"),
    ("guide/part-11.md#1", 0.5503, False, "low score"),
    ("guide/part-4.md#1", 0.8301, False, "twin of 1"),
)

RETRIEVALS = tuple(
    Retrieval(
        n,
        step,
        query,
        fingerprint,
        "handbook",
        0.6,
        True,
        tuple(
            Candidate(id, rank, score, admitted, reason, id.partition("#")[0], "12", "Refunds")
            for rank, (id, score, admitted, reason) in enumerate(_LISTED, 1)
        ),
        (Passage(_LISTED[0][0], "Orders can be returned within thirty days of delivery. " * 4),),
    )
    for n, step, query, fingerprint in (
        (1, 3, "opening hours", _SMALL),
        (2, 7, "refund after 40 days", _SMALL),
        (3, 11, "refund when opened", _ADA),
    )
)


class _NoChunks:
    def chunk(self, id: str, job: object = None) -> None:
        return None


def _alone(retrieval: Retrieval) -> JoinedRetrieval:
    return JoinedRetrieval(retrieval, None, False, tuple(None for _ in retrieval.candidates or ()), None)


def _joined(retrieval: Retrieval) -> JoinedRetrieval:
    """With the index at hand: the best chunk was read only in part, the last query is of another model."""
    namespace = IndexedNamespace(INDEX, "handbook", _SMALL, ChunkCeiling(2_000, "embedder"), 8_214, _NoChunks())
    chunks = [JoinedChunk(INDEX, "handbook", 800, 0, 2_000) for _ in retrieval.candidates or ()]
    chunks[0] = JoinedChunk(INDEX, "handbook", 6_889, 4_889, 2_000, clipped=True)
    wrong = WrongSpace(Against.INDEX, _ADA, _SMALL, "model") if retrieval.fingerprint == _ADA else None
    return JoinedRetrieval(retrieval, namespace, False, tuple(chunks), wrong)


def report(
    path: str,
    retrievals: tuple[JoinedRetrieval, ...] = (),
    *,
    run: Run | None = None,
    steps: tuple[Step, ...] = STEPS,
    notes: tuple[Note, ...] = (),
    vectors: VectorTotals | None = None,
) -> RecordingReport:
    """Judge what is given as ``report_on`` does."""
    run = run or Run("run-0742", _START, _START + 12_400, True, 0)
    errors = tuple(RecordedError(step.n, step.error) for step in steps if step.error)
    joined = Joined(retrievals, (), errors)
    totals = vectors or VectorTotals(42, 0, 2_760_000, 1_620_000, {"embedding": 42})
    findings = judge_recording(run, notes, joined, totals)
    why = '"format" is "agentfootprint.recording.v1"'
    found = RecordingReport(path, "agentfootprint", why, run, steps, errors, joined, totals, notes, findings)
    indexes = tuple(dict.fromkeys(each.namespace.source for each in retrievals if each.namespace is not None))
    return replace(found, join_findings=judge_joined(joined), indexes=indexes)


def run() -> FakeRecording:
    """Give the run of the design."""
    alone = report(RUN, tuple(map(_alone, RETRIEVALS)))
    joined = report(RUN, tuple(map(_joined, RETRIEVALS)))
    return FakeRecording(alone, joined, TEXT.data, heavy=HEAVY)


HEAVY = Heaviest(
    (
        HeavyPlace("events[].payload.results[].embedding", 36, 977_400, 1_224, "embedding"),
        HeavyPlace("events[].payload.queryEmbedding.embedding", 3, 81_450, 102, "embedding"),
        HeavyPlace("snapshot.memory.embeddings[]", 3, 81_450, 102, "embeddings"),
    ),
    (HeavyPlace("events[].payload.output", 4, 30_720, 136, "W2"),),
    2_760_000,
)


def huge() -> FakeRecording:
    """Give one of which only the first steps are read, and the rest when its gate opens."""
    first = FakeRecording(
        report(RUN, steps=STEPS[:8], vectors=VectorTotals(0, 0, 1_070_000_000, None)),
        text=TEXT.data,
        size=1_070_000_000,
    )
    return replace(run(), first=first, size=1_070_000_000)


def cut_short() -> FakeRecording:
    """Give one with dropped events, a damaged line, no end."""
    run = Run(
        "run-0801", _START, None, False, 5, ("the runtime recorded lean boundaries: no payload of a tool is kept",)
    )
    notes = (Note("the last line is cut short and left out", line=3_120, byte=2_000_000, left_out=True),)
    return FakeRecording(
        report(CUT, run=run, steps=STEPS[:8], notes=notes, vectors=VectorTotals(0, 3, 2_760_000, None)), text=TEXT.data
    )


def plain() -> FakeRecording:
    """Nothing is wrong, and nothing was searched."""
    return FakeRecording(report(PLAIN, steps=STEPS[:2], vectors=VectorTotals(0, 0, 12_000, 12_000)), text=TEXT.data)


def reader() -> FakeReader:
    """Give a folder of three recordings beside the index that they searched."""
    paths: dict[str, FakeSource | FakeRecording | SourceError | tuple[str, ...]] = {
        "support/recordings": (RUN, CUT, PLAIN),
        RUN: run(),
        CUT: cut_short(),
        PLAIN: plain(),
        INDEX: scenes.index(),
    }
    return FakeReader(paths)


PATHS = (INDEX, "support/recordings")
"""What is opened of it."""

NAMES = (RUN, CUT, PLAIN)
