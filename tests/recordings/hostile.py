"""Files that are made to go wrong, written by the tests that need them."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path


def records(count: int) -> list[dict[str, object]]:
    """Make small records with a vector each, always the same."""
    chance = random.Random(9)
    return [
        {"type": "event", "id": number, "embedding": [chance.random() for _ in range(8)]} for number in range(count)
    ]


def lines(count: int) -> bytes:
    """Make them as JSON Lines."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in records(count))


def bomb(path: Path, unpacked_mib: int) -> Path:
    """Write a gzip file that unpacks to a thousand times its size."""
    piece = b"[" + b"1," * 524_287 + b"1]"
    with gzip.open(path, "wb", 9) as file:
        for _ in range(unpacked_mib):
            file.write(piece)
    return path
