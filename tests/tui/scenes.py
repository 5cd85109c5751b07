"""The situations that tests and snapshots show, made from fakes."""

from __future__ import annotations

import threading

from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from workbench.core.fingerprint import Fingerprint
from workbench.index.model import (
    DuplicateIds,
    FingerprintCount,
    Flaw,
    LockHolder,
    NormBins,
    NormSpread,
    Problem,
    SourceError,
    UnusableRow,
)

SMALL = "text-embedding-3-small@1536"
ADA = "text-embedding-ada-002@1536"
LARGE = Fingerprint("text-embedding-3-large", 3072)


def bell(count: int, middle: int, spread: int) -> list[int]:
    """Lengths around a middle, the same on every run."""
    return [max(1, middle + round(spread * (((place * 7919) % 997) / 498.5 - 1) ** 3)) for place in range(count)]


def handbook() -> FakeNamespace:
    """456 of its 8,214 chunks are longer than 2,000 characters, 9 ids stand twice."""
    tail = [2_001 + (place * 6_011) % 5_400 if place % 3 else 2_001 + (place * 37) % 900 for place in range(456)]
    return FakeNamespace(
        "handbook",
        recorded=Fingerprint("text-embedding-3-small", 1536),
        declared_dims=1536,
        max_input_chars=2_000,
        lengths_=bell(8_214 - 456, 900, 880) + tail,
        counts=(FingerprintCount(SMALL, 8_214),),
        duplicated=DuplicateIds(9, 18),
    )


def legacy_faq() -> FakeNamespace:
    """Two models in one namespace."""
    return FakeNamespace(
        "legacy-faq",
        recorded=Fingerprint("text-embedding-3-small", 1536),
        declared_dims=1536,
        lengths_=bell(4_102, 700, 500),
        counts=(FingerprintCount(SMALL, 2_902), FingerprintCount(ADA, 1_200)),
    )


def index() -> FakeSource:
    """Make a native index with one namespace of each kind."""
    return FakeSource(
        "support/index.duckdb",
        (
            handbook(),
            legacy_faq(),
            FakeNamespace(
                "changelog",
                recorded=Fingerprint("text-embedding-3-small", 1536),
                declared_dims=1536,
                lengths_=bell(1_120, 600, 400),
                counts=(FingerprintCount(SMALL, 1_120),),
            ),
            FakeNamespace("drafts", declared_dims=None, lengths_=()),
        ),
    )


def tickets() -> FakeSource:
    """Make a table of somebody else that names no model, with vectors that no search can use."""
    return FakeSource(
        "support/tickets.db",
        (
            FakeNamespace(
                "embeddings",
                adapter="plain-table",
                keeps_records=False,
                declared_dims=384,
                lengths_=bell(4_831, 500, 300),
                counts=(FingerprintCount("?@384", 4_831),),
                zero=3,
                non_finite=2,
                missing=40,
            ),
        ),
        container="sqlite",
        adapter="plain-table",
    )


def unusable() -> FakeReader:
    """One namespace of LangChain's store with every kind of unusable vector in it."""
    rows = (
        UnusableRow("faq/returns.md#118", Flaw.NOT_FINITE, "element 3 is NaN"),
        UnusableRow("faq/returns.md#204", Flaw.NOT_FINITE, "element 0 is NaN, and 383 more are not finite"),
        UnusableRow("faq/よくある質問.md#7", Flaw.NULL_ELEMENT, "element 7 is NULL"),
        UnusableRow("faq/shipping.md#571", Flaw.ZERO, "all 384 elements are 0"),
        UnusableRow("faq/shipping.md#572", Flaw.ZERO, "all 384 elements are 0"),
        UnusableRow("faq/old/import-2023.md#803", Flaw.OTHER_LENGTH, "256 numbers instead of 384"),
        *(UnusableRow(f"faq/drafts.md#{place}", Flaw.ABSENT, "no vector") for place in range(12)),
    )
    bins = [0] * 1_000
    for place in range(4_084):
        bins[500 + round(480 * (((place * 7_919) % 997) / 498.5 - 1) ** 3)] += 1
    namespace = FakeNamespace(
        "faq",
        adapter="langchain",
        keeps_records=False,
        declared_dims=384,
        lengths_=bell(4_102, 600, 400),
        counts=(FingerprintCount("?@384", 4_089), FingerprintCount("?@256", 1)),
        non_finite=3,
        zero=2,
        wrong_dims=1,
        missing=12,
        unusable=rows,
        norms=NormSpread(0.0, 1.0, 1.0004),
        norm_bins=NormBins(0.9991, 1.0004, tuple(bins)),
    )
    return FakeReader({"support/faq.duckdb": FakeSource("support/faq.duckdb", (namespace,), adapter="langchain")})


def locked() -> SourceError:
    """Held by an ingest that runs elsewhere."""
    return SourceError(
        Problem.LOCKED,
        "support/archive.duckdb is open for writing in another program, and DuckDB lets nobody else read it meanwhile; "
        "nothing is wrong with the file: wait for that program, or inspect a copy",
        container="duckdb",
        holder=LockHolder("python ingest.py --all --batch 512", 48213),
    )


def loaded() -> FakeReader:
    """Three sources: one locked, one native, one foreign."""
    return FakeReader(
        {"support/index.duckdb": index(), "support/tickets.db": tickets(), "support/archive.duckdb": locked()}
    )


def loading(gate: threading.Event) -> FakeReader:
    """One namespace is read, the next one waits at the gate."""
    source = index()
    source.all[2].gate = gate
    return FakeReader({"support/index.duckdb": source})
