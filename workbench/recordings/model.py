"""What a recording is to the rest of the product: its run, steps, retrievals and errors, whatever format it is in.

How a reader plugs in: write one module in ``workbench/recordings/readers/`` with a class that satisfies ``Reader``, and
add an instance of it to ``READERS`` in ``readers/__init__.py``, before the generic one. ``detect`` sees the first
64 KiB: the decoded bytes, and the values in them as far as they go (see ``Head``). It gives the reason it recognised
the format in words for a user ("top key resourceSpans"), or None. ``read`` gets the ``Document`` and gives a
``Reading``. It walks the document by ``document.roots()`` and ``Node.children()``, which know byte ranges and parse
nothing, and calls ``Node.value()`` only for parts that it needs as objects. Payloads are never kept: a step holds the
``Span`` of its bytes, and ``Recording.payload(step)`` parses them when somebody looks. Vectors are found over the
document by one set of rules for all formats, so a reader says nothing about them.

What a reader finds odd it adds to the ``notes`` of the reading. What makes a file unreadable it raises as
``RecordingError``, which stops the opening with its sentence. Times are epoch milliseconds, durations milliseconds;
``finish_steps`` in ``steps.py`` numbers raw steps, cuts rings of parents, and marks orphans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from workbench.core.fingerprint import Conflict, Fingerprint


class Unreadable(StrEnum):
    """Why a path cannot be read as a recording, in the words of ``check --json``."""

    MISSING = "missing"
    NOT_A_FILE = "not-a-file"
    DIRECTORY = "directory"
    EMPTY = "empty"
    NOT_A_RECORDING = "not-a-recording"
    NOT_READABLE_YET = "not-readable-yet"
    BEING_WRITTEN = "being-written"
    TOO_NEW = "too-new"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    URL = "url"


class RecordingError(Exception):
    """A path that cannot be read: one sentence that says what, why and what to do.

    Attributes:
        problem: which of the known reasons.
        message: the sentence; may hold strings of the file or its name, so it is made inert where it is drawn.
    """

    def __init__(self, problem: Unreadable, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message


@dataclass(frozen=True, slots=True)
class Note:
    """Something odd or damaged in a file that was read all the same (an item of ``problems``).

    Attributes:
        message: one clause in lower case that says what is odd.
        line: the line where it begins, counted from 1, None when the place means nothing or nobody counted.
        byte: its offset in the text, which is the file when that is neither compressed nor UTF-16.
        left_out: whether parts of the file were left out because of it (then ``show`` ends with 1).
    """

    message: str
    line: int | None = None
    byte: int | None = None
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A range of bytes in the text of a document, ``start`` included and ``end`` not."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes in it."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Run:
    """What a recording says of the run as a whole. None is "not recorded", never a guess.

    Attributes:
        id: the run's own id.
        started_ms: when it began.
        ended_ms: when it ended.
        complete: whether the producer says that the run came to its end.
        dropped_events: how many events are missing; 0 means proven none.
        not_recorded: sentences about parts that this producer left out (lean boundaries, no events).
        manifest: names that the producer states about the run: pairs of label and value, in their order.
    """

    id: str | None = None
    started_ms: float | None = None
    ended_ms: float | None = None
    complete: bool | None = None
    dropped_events: int | None = None
    not_recorded: tuple[str, ...] = ()
    manifest: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened.

    Attributes:
        n: its number, from 1 in the order of the recording.
        parent: the number of the step that it is part of.
        orphan: the step that it names as its parent is not in the recording; then ``parent`` is None.
        kind: the producer's word, in lower case (run, subflow, llm, tool, retrieval, embedding, …).
        name: what it is called.
        status: ``ok``, ``error``, ``unfinished``, or None when nothing says.
        start_ms: when it began.
        duration_ms: how long it took, never negative.
        error: what went wrong, in the words of the recording.
        spans: where its bytes are (start and end rows of one step are two).
        key: the producer's id of it, by which parents and retrievals refer to it.
        tokens: how many a model read and wrote, as recorded; None each where nothing says.
    """

    n: int
    parent: int | None
    orphan: bool
    kind: str
    name: str
    status: str | None
    start_ms: float | None
    duration_ms: float | None
    error: str | None
    spans: tuple[Span, ...] = ()
    key: str | None = None
    tokens: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk that a retrieval considered.

    Attributes:
        id: the chunk's id, by which it is found in an index.
        rank: from 1, best first.
        score: as recorded; None when it is missing or no finite number.
        admitted: whether the model got it; None when nothing says.
        reason: why not, in the words of the recording.
        document: the document that it is from.
        page: its page, as written.
        heading: its heading.
        text: the chunk's own text when the recording holds it.
    """

    id: str | None
    rank: int | None = None
    score: float | None = None
    admitted: bool | None = None
    reason: str | None = None
    document: str | None = None
    page: str | None = None
    heading: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """What the model got of a chunk: the chunk's id and the very text, in the order of the prompt."""

    id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class LoadedEntry:
    """An entry that was loaded from an index, the embedder that it says made it, its text (None: not recorded)."""

    id: str | None
    model: str | None
    dims: int | None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One search of an index, with the evidence that the recording keeps of it.

    Attributes:
        n: its number, from 1 in the order of the recording.
        step: the number of the step that made it.
        query: the question in words; None when only a hash was recorded.
        fingerprint: the embedder that made the query's vector, and its length; None when nothing says.
        namespace: where it searched.
        threshold: the lowest score that was admitted.
        complete: whether all rejected candidates are listed; None when nothing says.
        candidates: best first; None when the recording lists none though something was searched.
        passages: what the model got.
        entries: the loaded entries with their own embedders.
        corpus_empty: the recording says that there was nothing to search.
        top_k: how many were asked for.
        note: the recording's own words where something of the evidence is missing.
    """

    n: int
    step: int | None
    query: str | None
    fingerprint: Fingerprint | None
    namespace: str | None = None
    threshold: float | None = None
    complete: bool | None = None
    candidates: tuple[Candidate, ...] | None = ()
    passages: tuple[Passage, ...] = ()
    entries: tuple[LoadedEntry, ...] = ()
    corpus_empty: bool | None = None
    top_k: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A refusal of an embedder that stands in a recording as prose only, read back from it."""

    namespace: str | None
    indexed: Fingerprint
    incoming: Fingerprint
    problem: Conflict | None


@dataclass(frozen=True, slots=True)
class RecordedError:
    """An error as recorded, once however often the recording repeats it."""

    step: int | None
    message: str
    mismatch: Mismatch | None = None


@dataclass(frozen=True, slots=True)
class ClippedChunk:
    """A chunk of which the embedder read only the beginning: its id and its length in UTF-16 code units."""

    id: str | None
    chars: int | None


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The report of an indexing run that stands inside a recording: a verdict about clipped chunks.

    Attributes:
        step: the step that made it.
        namespace: the namespace that was built.
        fingerprint: the embedder that built it.
        chunks: how many chunks there were.
        ceiling: how many characters the embedder reads.
        clipped: the chunks that are longer, as listed.
        clipped_count: how many the report says there are.
    """

    step: int | None
    namespace: str | None
    fingerprint: Fingerprint | None
    chunks: int | None
    ceiling: int | None
    clipped: tuple[ClippedChunk, ...]
    clipped_count: int


@dataclass(frozen=True, slots=True)
class VectorFound:
    """One vector of a recording.

    Attributes:
        path: the way to it, as ``/recording/events/3/payload/embedding`` (a JSON Pointer into the document).
        dims: how many numbers it has.
        norm: its L2 norm to four decimals; None when it is not finite.
        encoding: ``list``, ``json-string``, ``base64-float32``, ``int8`` or ``bits``.
        rule: ``embedding`` or ``embeddings`` (the seed's), or W1 to W8.
        span: its bytes.
    """

    path: str
    dims: int
    norm: float | None
    encoding: str
    rule: str
    span: Span


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader understood of a document."""

    run: Run = field(default_factory=Run)
    steps: Sequence[Step] = ()
    retrievals: tuple[Retrieval, ...] = ()
    errors: tuple[RecordedError, ...] = ()
    reports: tuple[IndexReport, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a document, for telling its format.

    Attributes:
        name: the file's own name, only ever a tie-break.
        text: up to 64 KiB, decompressed and as UTF-8 without a byte order mark.
        values: the first values in it, at most 20; the last one may be cut short, and then lacks what comes later.
            Empty when the text is no JSON (a cassette in YAML).
        whole: whether ``text`` is the whole document.
    """

    name: str
    text: bytes
    values: tuple[object, ...]
    whole: bool

    @property
    def first(self) -> dict[str, object]:
        """The first value when it is an object, else an empty one."""
        value = self.values[0] if self.values else None
        return value if isinstance(value, dict) else {}


class Node(Protocol):
    """A value in a document, known by its bytes and parsed only on demand."""

    @property
    def span(self) -> Span:
        """Where it is."""
        ...

    @property
    def kind(self) -> str:
        """``object``, ``array``, ``string``, ``number``, ``true``, ``false``, ``null``, or ``literal`` (NaN)."""
        ...

    def children(self) -> Iterator[tuple[str | int, Node]]:
        """Give the members of an object (a repeated key as often as it is there) or the items of an array."""
        ...

    def get(self, *path: str | int) -> Node | None:
        """Follow keys and indexes downwards; of a repeated key the last one counts. None when one is not there."""
        ...

    def value(self) -> object:
        """Parse it: dicts, lists, str, int, float, bool, None. Whole numbers of absurd length come as their text."""
        ...


class Document(Protocol):
    """The text of a recording: JSON, JSON Lines, or JSON values one after another; or text that is none of them.

    Attributes:
        name: the path as the user gave it.
        form: ``json``, ``jsonl``, ``concatenated``, or ``text`` (then there are no roots).
        size: bytes of the text.
        file_size: bytes of the file, which differ when it is compressed or UTF-16.
        span: where the text is.
        notes: what was odd or damaged on the way to the roots; complete once these were walked.
    """

    name: str
    form: str
    size: int
    file_size: int
    span: Span

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is odd or damaged about the bytes."""
        ...

    @property
    def head(self) -> Head:
        """Its beginning."""
        ...

    def roots(self) -> Iterator[Node]:
        """Give the values at the top: one for JSON, one a record for the others; damaged ones are left out and noted.

        Of a document that is cut short every complete child is there, and the note says at which byte it ends.
        """
        ...

    def read(self, span: Span) -> bytes:
        """Give the bytes of a range. Raises RecordingError (being-written) when the file was cut or replaced."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class Reader(Protocol):
    """One format: how it is recognised, and how it is read.

    Attributes:
        format: its name in ``show --json``, in lower case with hyphens (``agentfootprint``, ``openinference``, …).
    """

    @property
    def format(self) -> str:
        """Its name."""
        ...

    def detect(self, head: Head) -> str | None:
        """Give the reason for taking a document to be of this format, or None. Never raises."""
        ...

    def read(self, document: Document) -> Reading:
        """Understand a document. Raises RecordingError when it must be refused (a version that is not known)."""
        ...
