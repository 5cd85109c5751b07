"""Sources without files: namespaces whose answers are given, and a reader that hands them out at the test's word."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from workbench.checkup.incoming import judge_incoming
from workbench.checkup.namespace import check_namespace
from workbench.checkup.options import CheckOptions
from workbench.checkup.recording_report import RecordingReport
from workbench.checkup.report import IncomingVerdict, NamespaceReport
from workbench.core.ceiling import ChunkCeiling
from workbench.core.fingerprint import Fingerprint
from workbench.core.job import Job
from workbench.crosscheck.indexed import IndexedNamespace
from workbench.crosscheck.ledger import ContaminatedRows, join_ledger
from workbench.index.model import (
    Chunk,
    ChunkLength,
    ChunkRow,
    ClipCount,
    DuplicateIds,
    FingerprintCount,
    IndexSource,
    Namespace,
    NormBins,
    NormSpread,
    Problem,
    SearchResult,
    SourceError,
    UnusableRow,
    VectorHealth,
)
from workbench.index.query import ListingQuery, SortBy
from workbench.recordings.browsing import InMemory
from workbench.recordings.heaviest import Heaviest
from workbench.recordings.model import RecordingError, Span, Unreadable
from workbench.routing.ledger import Ledger
from workbench.routing.opening import ReplayedLog
from workbench.tui.file_change import FileStamp
from workbench.tui.reading import FirstLook
from workbench.tui.recorded import OpenRecording

_PROSE = " ".join(
    f"Section {part}. Orders can be returned within thirty days of delivery, and the refund is paid back as it was "
    "paid. Exceptions apply when the order was made to measure, opened and not resealable, or delivered abroad."
    for part in range(60)
)

NOW_MS = 1_700_000_000_000


class FakeLengths:
    """Answers from a list of lengths."""

    basis = "stored"

    def __init__(self, lengths: Sequence[int]) -> None:
        self._lengths = np.asarray(lengths, dtype=np.int64)

    @property
    def total(self) -> int:
        return len(self._lengths)

    @property
    def longest(self) -> Sequence[ChunkLength]:
        order = np.argsort(-self._lengths, kind="stable")[:1000]
        return tuple(ChunkLength(f"chunk-{place}", int(self._lengths[place])) for place in order)

    def clip(self, ceiling: int) -> ClipCount:
        over = self._lengths[self._lengths > ceiling]
        return ClipCount(ceiling, len(over), self.total, int((over - ceiling).sum()), int(self._lengths.sum()), 0)

    def histogram(self, width: int) -> NDArray[np.int64]:
        return np.bincount(self._lengths // width).astype(np.int64)


@dataclass
class FakeNamespace:
    """One namespace; ``gate`` keeps its reading waiting until it is set or the job is cancelled."""

    name: str
    adapter: str = "workbench"
    recorded: Fingerprint | None = None
    keeps_records: bool = True
    declared_dims: int | None = 4
    max_input_chars: int | None = None
    no_text: str | None = None
    alternative: str = "point at another namespace"
    notes: tuple[str, ...] = ()
    lengths_: Sequence[int] = (800, 1200)
    counts: tuple[FingerprintCount, ...] = ()
    missing: int = 0
    zero: int = 0
    non_finite: int = 0
    wrong_dims: int = 0
    unusable: tuple[UnusableRow, ...] = ()
    expired: int = 0
    norms: NormSpread = field(default_factory=lambda: NormSpread(0.9998, 1.0, 1.0002))
    norm_bins: NormBins | None = None
    duplicated: DuplicateIds = field(default_factory=lambda: DuplicateIds(0, 0))
    texts: Sequence[tuple[str, str]] = ()
    metadata: str | None = None
    gate: threading.Event | None = None
    started: threading.Event = field(default_factory=threading.Event)
    fails: Exception | None = None
    pages: list[int] = field(default_factory=list)

    def _work(self, job: Job | None) -> None:
        self.started.set()
        if self.fails is not None:
            raise self.fails
        if self.gate is None:
            return
        if job is None:
            self.gate.wait()
            return
        job.progress(412, 1004)
        with job.watching(_Sets(self.gate)):
            self.gate.wait()
        job.checkpoint()

    def count(self, job: Job | None = None) -> int:
        return len(self.lengths_)

    def fingerprints(self, job: Job | None = None) -> tuple[FingerprintCount, ...]:
        self._work(job)
        return self.counts

    def health(self, now_ms: int, job: Job | None = None) -> VectorHealth:
        norm = self.norms if self.lengths_ else None
        return VectorHealth(
            len(self.lengths_),
            self.declared_dims,
            self.missing,
            self.wrong_dims,
            self.non_finite,
            self.zero,
            self.expired,
            norm,
            self.norm_bins,
        )

    def unusable_rows(self, limit: int, job: Job | None = None) -> tuple[UnusableRow, ...]:
        return self.unusable[:limit]

    def lengths(self, token_limit: int | None = None, job: Job | None = None) -> FakeLengths | None:
        return None if self.no_text is not None else FakeLengths(self.lengths_)

    def long_texts(self, more_bytes: int, job: Job | None = None) -> Iterator[Sequence[str]]:
        return iter(())

    def duplicates(self, job: Job | None = None) -> DuplicateIds:
        return self.duplicated

    def row(self, place: int) -> ChunkRow:
        """Make the row at a place of the source; ids and texts follow from the place unless they were given."""
        counts = self.counts or (FingerprintCount(f"?@{self.declared_dims}", len(self.lengths_)),)
        fingerprint = next((each.fingerprint for each in counts if place < each.count), counts[-1].fingerprint)
        text = self.text(place)
        return ChunkRow(
            place, self.id(place), self.lengths_[place], text[:200], fingerprint, self.declared_dims, self.source(place)
        )

    def id(self, place: int) -> str:
        return self.texts[place][0] if self.texts else f"guide/part-{place % 90}.md#{place // 90}"

    def source(self, place: int) -> str | None:
        return None if self.texts else f"guide/part-{place % 90}.md"

    def text(self, place: int) -> str:
        return self.texts[place][1] if self.texts else _PROSE[: self.lengths_[place]]

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        self._work(job)
        return tuple(self.row(place) for place in range(start, min(start + limit, len(self.lengths_))))

    @property
    def sortable(self) -> tuple[SortBy, ...]:
        return tuple(SortBy)

    def listing(
        self, query: ListingQuery, job: Job | None = None, found: Callable[[int], None] | None = None
    ) -> FakeListing:
        self._work(job)
        if found is not None:
            found(0)
        return FakeListing(self, query)

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        place = next((place for place in range(len(self.lengths_)) if self.id(place) == id), None)
        return None if place is None else self.chunk_at(place)

    def chunk_at(self, place: int) -> Chunk:
        row = self.row(place)
        metadata = self.metadata if self.metadata is not None else '{"heading":"Refunds","level":2,"tags":["a","b"]}'
        return Chunk(row.id, self.text(place), row.chars, metadata, row.fingerprint, row.dims, 1.0, row.source)

    def vector(self, id: str, job: Job | None = None) -> NDArray[np.float64] | None:
        return None

    def search(
        self,
        vector: NDArray[np.float64],
        *,
        k: int,
        now_ms: int,
        tiers: Sequence[str] | None = None,
        without: str | None = None,
        model: str | None = None,
        with_text: bool = True,
        job: Job | None = None,
    ) -> SearchResult:
        return SearchResult((), 0)


class FakeListing:
    """Orders and filters by going over all rows; a namespace without texts and filters is never gone over."""

    sql = "SELECT id FROM ix.main.t;"

    def __init__(self, namespace: FakeNamespace, query: ListingQuery) -> None:
        self.query = query
        self._namespace = namespace
        self._places: Sequence[int] = range(len(namespace.lengths_))
        if query.contains or query.min_chars is not None:
            self._places = [place for place in self._places if self._fits(place)]
        if query.sort is not SortBy.STORED:
            self._places = sorted(self._places, key=self._value, reverse=query.descending)
        elif query.descending:
            self._places = self._places[::-1]

    def _fits(self, place: int) -> bool:
        namespace, needle = self._namespace, self.query.contains.lower()
        if self.query.min_chars is not None and namespace.lengths_[place] <= self.query.min_chars:
            return False
        return needle in namespace.id(place).lower() or needle in namespace.text(place).lower()

    def _value(self, place: int) -> tuple[int, str]:
        row = self._namespace.row(place)
        if self.query.sort is SortBy.CHARS:
            return (row.chars or 0, "")
        return (0, {SortBy.ID: row.id, SortBy.SOURCE: row.source}.get(self.query.sort, row.fingerprint) or "")

    @property
    def total(self) -> int:
        return len(self._places)

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        self._namespace._work(job)
        self._namespace.pages.append(start)
        these = self._places[start : start + limit]
        return tuple(replace(self._namespace.row(place), position=start + at) for at, place in enumerate(these))

    def position_of(self, id: str, job: Job | None = None) -> int | None:
        return next((at for at, place in enumerate(self._places) if self._namespace.id(place) == id), None)

    def chunk(self, position: int, job: Job | None = None) -> Chunk | None:
        return self._namespace.chunk_at(self._places[position]) if position < self.total else None


@dataclass
class _Sets:
    """An interrupt that only opens the gate, as a database's makes its query return."""

    gate: threading.Event

    def interrupt(self) -> None:
        self.gate.set()


@dataclass
class FakeSource:
    """One opened index."""

    path: str
    all: tuple[FakeNamespace, ...]
    container: str = "duckdb"
    adapter: str = "workbench"
    notes: tuple[str, ...] = ()
    is_held: bool = False
    closed: threading.Event = field(default_factory=threading.Event)

    def namespaces(self) -> tuple[Namespace, ...]:
        return self.all

    @contextmanager
    def hold(self) -> Iterator[None]:
        yield

    def held(self) -> bool:
        return self.is_held

    def changed(self) -> bool:
        return False

    def close(self) -> None:
        self.closed.set()

    def __enter__(self) -> FakeSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class FakeText(InMemory):
    """The text of a recording; reading fails once the file was changed."""

    def __init__(self, recording: FakeRecording) -> None:
        super().__init__(recording.text)
        self._recording = recording

    def read(self, span: Span) -> bytes:
        self._recording.reading.set()
        if self._recording.held is not None:
            self._recording.held.wait()
        if self._recording.changed:
            raise RecordingError(Unreadable.BEING_WRITTEN, "the file was changed while it was open; open it again")
        return super().read(span)

    def roots(self) -> Iterator[FakeRoot]:
        return iter((FakeRoot(self.span),) if self.span.size else ())


@dataclass(frozen=True)
class FakeRoot:
    """The only value at the top of a text."""

    span: Span


@dataclass
class FakeRecording:
    """One recording: its report without an index, the report with one, and the text that its steps' spans are of.

    ``reading`` is set by the first reading of the text, ``held`` keeps every reading waiting until it is set.
    """

    report: RecordingReport
    joined: RecordingReport | None = None
    text: bytes = b""
    reading: threading.Event = field(default_factory=threading.Event)
    held: threading.Event | None = None
    gate: threading.Event | None = None
    started: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)
    changed: bool = False
    first: FakeRecording | None = None
    size: int = 2_760_000
    heavy: Heaviest = field(default_factory=Heaviest)
    measured_when: threading.Event | None = None

    @property
    def document(self) -> FakeText:
        return FakeText(self)

    def heaviest(self, watch: Job) -> Heaviest:
        watch.progress(1, 2)
        if self.measured_when is not None:
            with watch.watching(_Sets(self.measured_when)):
                self.measured_when.wait()
            watch.checkpoint()
        return self.heavy

    def close(self) -> None:
        self.closed.set()


@dataclass
class FakeReader:
    """Hands out what each path is: a source, an error, or the paths of a folder."""

    paths: Mapping[str, FakeSource | FakeRecording | ReplayedLog | SourceError | tuple[str, ...]]
    skipped: int = 0
    explicit_ceiling: int | None = None
    stamps: dict[str, FileStamp] = field(default_factory=dict)

    def clock(self) -> float:
        return 0.0

    def is_folder(self, path: str) -> bool:
        return isinstance(self.paths.get(path), tuple)

    def sources_in(self, folder: str, job: Job) -> tuple[tuple[str, ...], int]:
        inside = self.paths[folder]
        assert isinstance(inside, tuple)
        return inside, self.skipped

    def open(self, path: str) -> IndexSource:
        found = self.paths[path]
        if isinstance(found, SourceError):
            raise found
        if isinstance(found, FakeRecording | ReplayedLog):
            raise SourceError(Problem.NOT_AN_INDEX, f"{path} is a recording or a log, not an index")
        assert isinstance(found, FakeSource)
        return found

    def look(self, path: str, why_no_index: SourceError, job: Job) -> FirstLook | None:
        found = self.paths[path]
        if not isinstance(found, FakeRecording):
            return None
        return FirstLook(found.first or found, found.first is None, found.size)

    def open_recording(self, path: str, job: Job) -> OpenRecording:
        found = self.paths[path]
        assert isinstance(found, FakeRecording)
        job.progress(found.size // 2, 2 * found.size)
        return found

    def replay(self, path: str, job: Job) -> ReplayedLog | None:
        found = self.paths[path]
        return found if isinstance(found, ReplayedLog) else None

    def look_up(self, ledger: Ledger, indexes: Sequence[IndexSource], job: Job) -> tuple[ContaminatedRows, ...]:
        namespaces = [
            IndexedNamespace(index.path, each.name, None, ChunkCeiling(2_000, "default"), len(each.lengths_), each)
            for index in indexes
            if isinstance(index, FakeSource)
            for each in index.all
        ]
        return join_ledger(ledger, namespaces, job)

    def stamp(self, path: str) -> FileStamp | None:
        return self.stamps.get(path)

    def judge_recording(self, path: str, recording: OpenRecording, job: Job) -> RecordingReport:
        assert isinstance(recording, FakeRecording)
        recording.started.set()
        if recording.gate is not None:
            with job.watching(_Sets(recording.gate)):
                recording.gate.wait()
            job.checkpoint()
        return recording.report

    def join(
        self, report: RecordingReport, recording: OpenRecording, indexes: Sequence[IndexSource], job: Job
    ) -> RecordingReport:
        assert isinstance(recording, FakeRecording)
        return recording.joined if indexes and recording.joined is not None else recording.report

    def check(self, namespace: Namespace, incoming: Fingerprint | None, job: Job) -> NamespaceReport:
        options = CheckOptions(incoming=incoming, explicit_ceiling=self.explicit_ceiling)
        return check_namespace(namespace, options, NOW_MS, job)

    def hold_against(
        self, namespace: Namespace, report: NamespaceReport, incoming: Fingerprint | None
    ) -> IncomingVerdict | None:
        return None if incoming is None else judge_incoming(namespace, report.fingerprints, incoming)
