"""A re-index without files: an engine that says what a test wants said, at the test's word and by the test's clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from workbench.core.ceiling import ChunkCeiling
from workbench.core.job import Job
from workbench.embedders.activity import AnswerCame, RequestSent, Retrying, Waiting
from workbench.index.holders import Held
from workbench.index.model import LockHolder
from workbench.reindex.building import Stop
from workbench.reindex.generations import Generation, RolledBack
from workbench.reindex.model import (
    Check,
    CostEstimate,
    FateCounts,
    Outcome,
    Plan,
    Progress,
    Quarantined,
    Range,
    Regained,
    RunState,
    Settings,
    Verification,
)
from workbench.trust import TrustQuestion
from workbench.tui.guide import BuildWatch, Choice, Offer, Offered, Standing, Unfinished
from workbench.tui.reindexing import Build

TARGET = "embed-large-v4@1024"
PATH = "support/index.duckdb.reindex-7f3a91c2.duckdb"
OLD = "text-embedding-3-small@1536"

QUESTION = TrustQuestion(
    Path("/home/someone/project/workbench.toml"),
    "ab" * 32,
    ("api.example.test",),
    (("EXAMPLE_API_KEY", "api.example.test"),),
    ("routing.jsonl",),
    (),
)

OFFERS = (
    Offer("wordllama", "wordllama@256", ChunkCeiling(1_000_000, "embedder")),
    Offer("minilm", "onnx:all-MiniLM-L6-v2:int8@384", ChunkCeiling(1_000, "embedder"), missing="minilm"),
    Offer("large", TARGET, ChunkCeiling(8_000, "embedder"), ("api.example.test",), 0.10, "2026-11-20"),
    Offer("own", "nomic-embed-text@768", ChunkCeiling(2_000, "default"), ("localhost:11434",)),
    Offer(
        "routed",
        TARGET,
        ChunkCeiling(8_000, "embedder"),
        ("api.example.test", "backup.example.test"),
        conflict="'embed-large-v4@1024' falls back to 'backup-embed@1024', which is another embedder (model: both "
        "name a model, and not the same)",
    ),
)

SETTINGS = Settings("handbook", "large", TARGET, 8_000, "embedder", host="api.example.test")


def plan(*, resplit: bool = False) -> Plan:
    """Make a plan of a namespace of 8,214 chunks, 12 of them without text."""
    return Plan(
        namespace="handbook",
        origin=OLD,
        target=TARGET,
        ceiling=ChunkCeiling(8_000, "embedder"),
        clipped_now=456,
        clipped_then=0,
        chunks=FateCounts(0, 8_199, 0, 3, 12),
        pieces=8_199,
        chars=6_840_212,
        tokens=Range(1_580_000, 1_710_000, 1_960_000),
        tokens_basis="estimated",
        probe_tokens=4_200,
        cost=CostEstimate(Range(0.158, 0.171, 0.196), 0.10, "2026-11-20"),
        seconds=240.0,
        disk_bytes=34_000_000,
        impossible_ids=tuple(f"guide/scan-{place}.pdf#1" for place in range(12)),
    )


CHECKS = (
    Check("counts", True, "8,197 vectors and 2 quarantined for 8,199 texts"),
    Check("keys", True, "8,214 chunks, 0 lost, 0 doubled"),
    Check("texts", True, "0 texts differ from their hash"),
    Check("fingerprint", True, f"{TARGET}, by the column's type and every answer"),
    Check("vectors", True, "8,197 of 8,197 usable, norms 0.9999 to 1.0001"),
    Check("self-probe", True, "20 of 20 embedded again land on themselves at 0.99 or better (lowest 0.9998)"),
)

VERIFICATION = Verification(
    CHECKS,
    0.71,
    (
        Regained("guide/refunds.md#4", 41, 1),
        Regained("guide/customs.md#11", 212, 1),
        Regained("api/webhooks.md#2", 18, 1),
        Regained("guide/warranty.md#7", None, 2),
        Regained("faq/returns.md#31", 7, 1),
        Regained("faq/returns.md#32", 9, 1),
    ),
)

QUARANTINED = (
    Quarantined("api/errors.md#9", "the server refused this text: input is not valid UTF-8"),
    Quarantined("api/errors.md#10", "the vector that came back is zero or not finite"),
)


BEFORE = Standing(
    3,
    (Generation(3, OLD, "active", 8_214, 0), Generation(2, OLD, "retired", 8_100, 0)),
    Held(LockHolder("python app.py", 41277), False),
)


def outcome(state: RunState, message: str, verification: Verification | None = None) -> Outcome:
    """Say how a run ended."""
    swapped = 4 if state is RunState.SWAPPED else None
    return Outcome("handbook", state, swapped, 8_197, 0, 129, QUARANTINED, verification, None, message)


def progress(done: int, seconds: float, requests: int) -> Progress:
    """Say how far a build of 8,199 vectors is."""
    tokens = done * 209
    return Progress(
        done, 8_199, 0, 2 if done > 4_900 else 0, requests, 0, done * 834, tokens, False, tokens / 1e7, seconds
    )


Script = Callable[["FakeReindexer", BuildWatch], None]


def half_way(engine: FakeReindexer, watch: BuildWatch) -> None:
    """Come to 5,120 vectors after two and a half minutes, with a wait for the rate limit and a retry on the way."""
    watch.begun(PATH, 0)
    watch.step("building")
    done, base = 0, engine.now
    for second in range(2, 151, 2):
        engine.now = base + second
        if second == 68:
            watch.activity(Waiting(9.0, 0.0, "HTTP 429: rate limit", True))
        if second == 78:
            watch.activity(Retrying(1, 5, "HTTP 429"))
        if second == 110:
            watch.activity(Waiting(0.6, 0.0, "HTTP 503", False))
            watch.activity(Retrying(1, 5, "HTTP 503"))
        if not 68 <= second < 78:
            done = min(5_120, done + 60 + (second * 7) % 31)
            watch.activity(RequestSent(64, 50_000, 1))
            watch.activity(AnswerCame(64, 13_000, 1.7 + (second % 5) / 10, "embed-large-v4"))
        watch.progress(progress(done, float(second), second // 2))
    for _ in range(4):
        watch.activity(RequestSent(64, 50_000, 1))
    engine.now = base + 150.0
    watch.progress(progress(5_120, 150.0, 80))


def going_on(engine: FakeReindexer, watch: BuildWatch) -> None:
    """Come from the 5,120 vectors that are kept to 6,400 in forty seconds."""
    watch.begun(PATH, 5_120)
    base = engine.now
    for batch in range(1, 21):
        engine.now = base + 2.0 * batch
        watch.activity(RequestSent(64, 50_000, 1))
        watch.activity(AnswerCame(64, 13_000, 1.8, "embed-large-v4"))
        watch.progress(progress(5_120 + 64 * batch, 2.0 * batch, 80 + batch))


@dataclass
class FakeReindexer:
    """Gives what it was made with; a build plays its script, then waits for the gate, the pause or the end."""

    offered: Offered = field(default_factory=lambda: Offered(OFFERS, (QUESTION,)))
    planned: Plan | Exception = field(default_factory=plan)
    script: Script = half_way
    ends: Outcome | Exception = field(
        default_factory=lambda: outcome(RunState.VERIFIED, "verified; --swap puts it in place", VERIFICATION)
    )
    stands: Standing = field(default_factory=lambda: BEFORE)
    swaps: Outcome | Exception = field(default_factory=lambda: outcome(RunState.SWAPPED, "swapped", VERIFICATION))
    gate: threading.Event = field(default_factory=threading.Event)
    now: float = 1_000.0
    asked: list[str] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    accepted: list[TrustQuestion] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def offers(self, index: str, namespace: str, max_chunk_chars: int | None) -> Offered:
        self.asked.append("offers")
        return self.offered

    def accept(self, question: TrustQuestion) -> None:
        self.accepted.append(question)
        self.offered = Offered(self.offered.offers)

    def plan(self, index: str, namespace: str, choice: Choice, job: Job) -> Plan:
        self.asked.append(f"plan {choice.embedder}{' resplit' if choice.resplit else ''}")
        if isinstance(self.planned, Exception):
            raise self.planned
        return self.planned

    def run(self, build: Build, watch: BuildWatch, stop: Stop, job: Job) -> Outcome:
        self.asked.append("run")
        self.builds.append(build)
        self.script(self, watch)
        while not self.gate.wait(0.005):
            job.checkpoint()
            if stop.reason is not None:
                watch.end()
                kept = "5,120 of 8,199 vectors are kept, and --resume goes on with the rest"
                return outcome(RunState.PAUSED, f"paused: {stop.reason}; {kept}")
        watch.end()
        if isinstance(self.ends, Exception):
            raise self.ends
        return self.ends

    def standing(self, index: str, namespace: str) -> Standing:
        return self.stands

    def swap(self, index: str, path: str, verification: Verification | None, job: Job) -> Outcome:
        self.asked.append(f"swap {path}")
        if isinstance(self.swaps, Exception):
            raise self.swaps
        self.stands = Standing(
            4, (Generation(4, TARGET, "active", 8_214, 0), Generation(3, OLD, "retired", 8_214, 0)), None
        )
        return self.swaps

    def discard(self, index: str, path: str) -> None:
        self.asked.append(f"discard {path}")
        self.offered = Offered(self.offered.offers, self.offered.questions)

    def roll_back(self, index: str, namespace: str) -> RolledBack:
        self.asked.append("roll back")
        self.stands = Standing(3, (Generation(4, TARGET, "retired", 8_214, 0), Generation(3, OLD, "active", 8_214, 0)))
        return RolledBack(3, 4, (), 0)

    def drop_old(self, index: str, namespace: str) -> int:
        self.asked.append("drop old")
        self.stands = Standing(4, (Generation(4, TARGET, "active", 8_214, 0),))
        return 1


def begun_before(state: RunState = RunState.PAUSED) -> Offered:
    """Offer what there is when a build was killed before."""
    return Offered(OFFERS, (), Unfinished(PATH, SETTINGS, state, 5_120, 8_199))
