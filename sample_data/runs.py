"""Writes the recordings: runs of an assistant that was asked about the museum, with the scores of the stored vectors.

They are in the form that agentfootprint and OpenTelemetry's exporters write, and much shorter than theirs. Joined with
``index.duckdb``, every finding code about a recording occurs in them:

    spring_tide.json       nothing                 answered from the right chunk, in the right space
    spare_float.json       retrieved-clipped       the chunk with the answer stands too low: its end was never read
    index_again.json       clipped-chunks          the report of an indexing run says which chunks are too long
    other_embedder.json    embedder-mismatch,      the handbook refused another embedder, and so the run broke off
                           incomplete-recording
    long_evening.json      incomplete-recording,   its first 640 events were dropped, and its vectors stand in full
                           vectors-not-summarised
    cut_to_fit.jsonl       wrong-space-retrieval,  vectors cut to the length of the index; the scores look like scores
                           vectors-not-summarised
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from chunks import SampleChunk, digest, read_chunks, read_questions
from envelope import Run
from layout import MINILM, WORDLLAMA
from spans import Trace

from workbench import summarize_vector

Vectors = dict[str, np.ndarray[Any, np.dtype[np.float32]]]

TOP = 3
"""How many chunks the assistant takes."""
WINDOW = 4
"""How many more are recorded with the reason why they were not taken."""
MINILM_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """One chunk that a search considered, with its vector and its cosine similarity."""

    chunk: SampleChunk
    vector: list[float]
    score: float


def make_recordings(folder: Path, minilm: Vectors, wordllama: Vectors) -> None:
    """Write all recordings into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    float_, dates, visitors = read_questions("minilm")
    (tide,) = read_questions("wordllama")
    handbook, almanac = read_chunks("handbook"), read_chunks("almanac.md")
    runs = {
        "spring_tide.json": answered(
            Run("run-1767520800000-1", _at("2026-01-04T10:00:00Z"), "almanac", WORDLLAMA, 256),
            tide,
            nearest(wordllama[digest(tide)], almanac, wordllama),
            threshold=0.2,
            answer="On 21 March, at the equinoctial springs.",
        ),
        "spare_float.json": answered(
            Run("run-1767866400000-1", _at("2026-01-08T10:00:00Z"), "handbook", MINILM, 384),
            float_,
            nearest(minilm[digest(float_)], handbook, minilm),
            threshold=0.25,
            answer="The handbook names no spare float.",
        ),
        "long_evening.json": answered(
            Run("run-1768413600000-1", _at("2026-01-14T18:00:00Z"), "handbook", MINILM, 384, dropped=640),
            visitors,
            nearest(minilm[digest(visitors)], handbook, minilm),
            threshold=0.5,
            answer="Fourteen visitors and one keeper.",
            in_full=True,
        ),
        "index_again.json": indexed(handbook),
        "other_embedder.json": refused(tide),
    }
    for name, run in runs.items():
        text = json.dumps(run.envelope(), indent=2, ensure_ascii=False)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
    (folder / "cut_to_fit.jsonl").write_text(cut_to_fit(dates, almanac, minilm, wordllama), encoding="utf-8")


def _at(moment: str) -> int:
    """Give a time in milliseconds since 1970."""
    return int(datetime.fromisoformat(moment).astimezone(UTC).timestamp() * 1000)


def nearest(query: np.ndarray[Any, Any], chunks: list[SampleChunk], vectors: Vectors) -> list[Found]:
    """Rank chunks by cosine similarity to a query of the same length, best first."""
    stored = [(chunk, vectors[chunk.digest]) for chunk in chunks]
    scored = [Found(chunk, _digits(vector), _cosine(query, vector)) for chunk, vector in stored]
    return sorted(scored, key=lambda found: (-found.score, found.chunk.id))[: TOP + WINDOW]


def _digits(vector: np.ndarray[Any, Any]) -> list[float]:
    """Write single precision with as many digits as it has."""
    return [round(float(each), 7) for each in vector]


def _shape(vector: list[float]) -> dict[str, object]:
    """Give what a recording keeps of a vector by default."""
    summary = summarize_vector(vector)
    return {"dims": summary.dims, "norm": summary.norm}


def _cosine(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    # six places, so that the files are the same whichever way a machine adds
    return round(float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))), 6)


def answered(
    run: Run, question: str, found: list[Found], *, threshold: float, answer: str, in_full: bool = False
) -> Run:
    """Record a question, its retrieval, and the answer; vectors as their shape or in full."""
    run.asked(question)
    taken = 0
    candidates = []
    for rank, each in enumerate(found, start=1):
        reason = "below-threshold" if each.score < threshold else "over-max-entries" if taken == TOP else None
        candidate: dict[str, object] = {
            "id": each.chunk.id,
            "score": each.score,
            "rank": rank,
            "admitted": reason is None,
            **({} if reason is None else {"reason": reason}),
            "docUri": each.chunk.source,
            "heading": each.chunk.heading,
        }
        if reason is None:
            candidate |= {"promptFragment": each.chunk.text, "promptPosition": taken}
            taken += 1
        candidates.append(candidate)
    vectors = {each.chunk.id: each.vector if in_full else _shape(each.vector) for each in found}
    run.retrieved(question, candidates, vectors, k=TOP, threshold=threshold)
    run.answered(answer)
    return run


def indexed(handbook: list[SampleChunk]) -> Run:
    """Record an indexing run that was asked for in words, and whose report nobody read."""
    run = Run("run-1767607200000-1", _at("2026-01-05T10:00:00Z"), None, MINILM, 384)
    run.asked("Index the handbook again, please.")
    lengths = {chunk.id: len(chunk.text.encode("utf-16-le")) // 2 for chunk in handbook}
    too_long = [{"id": name, "chars": chars} for name, chars in lengths.items() if chars > MINILM_CHARS]
    documents = len({chunk.source for chunk in handbook})
    report: dict[str, object] = {
        "discovered": documents,
        "loaded": documents,
        "chunks": len(handbook),
        "embedded": len(handbook),
        "skipped": 0,
        "removed": 0,
        "failed": [],
        "truncated": too_long,
        "truncatedCount": len(too_long),
        "maxChunkChars": MINILM_CHARS,
        "namespace": "handbook",
        "embedderFingerprint": f"{MINILM}@384",
        "splitter": "markdown",
        "elapsedMs": 5_210,
    }
    run.called_tool("index_folder", {"folder": "handbook", "namespace": "handbook"}, report, took_ms=5_214)
    run.answered("Done: all ten files of the handbook are indexed.")
    return run


def refused(question: str) -> Run:
    """Record a run whose embedder is not the one that built what it searches."""
    run = Run("run-1768212000000-1", _at("2026-01-12T10:00:00Z"), "handbook", WORDLLAMA, 256, complete=False)
    run.asked(question)
    run.refused(
        f"[memory] cannot search the namespace 'handbook': it was indexed by '{MINILM}@384' and this vector is from "
        f"'{WORDLLAMA}@256'. Vectors of different lengths cannot be compared."
    )
    return run


def cut_to_fit(question: str, almanac: list[SampleChunk], minilm: Vectors, wordllama: Vectors) -> str:
    """Record a search of the almanac with MiniLM's vector cut from 384 numbers to the 256 that the index wants."""
    vector = minilm[digest(question)][:256]
    found = nearest(vector, almanac, wordllama)[:TOP]
    trace = Trace("5ce77ab1e0fa11dea1b0c0ffee0fb001", _at("2026-01-16T09:30:00Z"))
    chain = trace.span("answer", "CHAIN", None, 0, 1_480, {"input.value": question})
    trace.span(
        "embed query",
        "EMBEDDING",
        chain,
        3,
        21,
        {
            "embedding.model_name": MINILM,
            "embedding.embeddings.0.embedding.text": question,
            "embedding.embeddings.0.embedding.vector": _digits(vector),
        },
    )
    documents: dict[str, object] = {"input.value": question, "gen_ai.data_source.id": "almanac"}
    for n, each in enumerate(found):
        documents |= {
            f"retrieval.documents.{n}.document.id": each.chunk.id,
            f"retrieval.documents.{n}.document.score": each.score,
            f"retrieval.documents.{n}.document.content": each.chunk.text,
        }
    trace.span("search almanac", "RETRIEVER", chain, 22, 31, documents)
    passages = "\n\n".join(each.chunk.text for each in found)
    trace.span(
        "chat",
        "LLM",
        chain,
        33,
        1_475,
        {
            "llm.model_name": "small-chat",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": f"{passages}\n\n{question}",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "The almanac does not give such dates.",
        },
    )
    return trace.lines()
