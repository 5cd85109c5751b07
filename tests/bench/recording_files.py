"""Recordings of any size for the benchmarks: 40 % of the bytes are vectors, no two alike, and texts that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson

DIMS = 1_024
MB = 10**6
_TEXT = """the recall of a passage is measured before its rank and retrieval evidence names the score of a naïve
document chunk that was rejected as a candidate for memory \u2603 an entry of a subflow keeps the boundary of each stage
and output while the prompt of the model answers from context"""
_WORDS = _TEXT.split()
_VECTOR_SHARE = 0.4
_VECTOR_BYTES = 20.9 * DIMS


def write(path: Path, size: int) -> Path:
    """Write a recording of about ``size`` bytes: JSON on one line, or JSON Lines when the name ends so."""
    lines = path.suffix == ".jsonl"
    with path.open("wb") as file:
        file.write(b"" if lines else b'{"format":"recording/1","meta":{"run":"r"},"events":[')
        for number, event in enumerate(_events()):
            if file.tell() >= size:
                break
            file.write(b"," if number and not lines else b"")
            file.write(event)
            file.write(b"\n" if lines else b"")
        file.write(b"" if lines else b'],"snapshot":{"final":true}}')
    return path


def write_one_event(path: Path, size: int) -> Path:
    """Write JSON Lines of small events with one of about ``size`` bytes among them, most of it messages and vectors."""
    events = _events()
    with path.open("wb") as file:
        for _ in range(50):
            file.write(next(events) + b"\n")
        file.write(b'{"type":"agent.huge","timestamp":1700000000000,"payload":{"turns":[')
        begun = file.tell()
        while file.tell() - begun < size:
            file.write(next(events) + b",")
        file.write(b"{}]}}\n")
        for _ in range(50):
            file.write(next(events) + b"\n")
    return path


def write_one_text(path: Path, size: int) -> Path:
    """Write an object that holds one string of ``size`` bytes."""
    with path.open("wb") as file:
        file.write(b'{"events":[{"type":"a","text":"')
        for _ in range(size // MB):
            file.write(b"passage \\n" * (MB // 10))
        file.write(b'"}]}')
    return path


def _events() -> Iterator[bytes]:
    """Give events for ever, always the same."""
    chance = np.random.default_rng(7)
    texts = [" ".join(chance.choice(_WORDS, int(chance.integers(60, 1_200)))) for _ in range(300)]
    vectors, number = 0, 0
    written = 1

    def text() -> str:
        return texts[int(chance.integers(len(texts)))]

    while True:
        payload: dict[str, object] = {"messages": [{"role": "user", "content": text()} for _ in range(3)]}
        if vectors * _VECTOR_BYTES < _VECTOR_SHARE * written:
            count = int(chance.integers(2, 8))
            made = [_vector(chance) for _ in range(count)]
            vectors += count
            if number % 4:
                payload["entries"] = [
                    {"id": f"doc-{rank}#0", "content": text(), "score": chance.random(), "embedding": vector}
                    for rank, vector in enumerate(made)
                ]
            else:
                payload["embeddings"] = made
        event = {"type": "agent.memory.read", "timestamp": 1.7e12 + 37 * number, "payload": payload}
        data = orjson.dumps(event, option=orjson.OPT_SERIALIZE_NUMPY)
        written += len(data)
        number += 1
        yield data


def _vector(chance: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Give a vector as an embedder does: float32, of about length one."""
    vector = chance.standard_normal(DIMS).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float64)
