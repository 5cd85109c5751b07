"""The vector test: which columns of numbers hold embeddings, and not colours, scores or histograms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from workbench.index.adapters.catalog import Column
from workbench.index.adapters.sampling import VectorSample

MIN_DIMS = 8
"""No embedder makes shorter vectors."""

_NAME = re.compile(r"(.*_)?(embeddings?|emb|vec|vector|vectors|openai|embed)(_.*)?", re.IGNORECASE)
_LENGTHS = 3
_SHARE = 0.9


def is_vector_column(column: Column, sample: Sequence[VectorSample]) -> bool:
    """Say whether a column holds embeddings.

    At least nine of ten sampled vectors have one of at most three lengths, each at least MIN_DIMS: a mixture of two
    models must not hide an index. Some element has a fraction, unless elements are of eight bits; and most vectors
    neither only rise nor only fall. A column without any vector, or with zeros only, is judged by its fixed length, a
    list by its name.
    """
    if column.vector_type is None:
        return False
    element, dims = column.vector_type
    if dims is not None and dims < MIN_DIMS:
        return False
    if sample:
        counts = Counter(row.length for row in sample if row.length >= MIN_DIMS)
        if sum(count for _, count in counts.most_common(_LENGTHS)) < _SHARE * len(sample):
            return False
    telling = [row for row in sample if row.evidence]
    if not telling:
        return dims is not None or named_like_vector(column.name)
    if element not in ("TINYINT", "UTINYINT") and not any(row.fraction for row in telling):
        return False
    return sum(row.monotonic for row in telling) <= len(telling) / 2


def named_like_vector(name: str) -> bool:
    """Say whether a column's name says that it holds embeddings; never enough alone where there are rows."""
    return _NAME.fullmatch(name) is not None
