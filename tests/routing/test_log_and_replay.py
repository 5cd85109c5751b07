"""From the provider through its log to the replay: the very states come back, one after another and side by side."""

from __future__ import annotations

import asyncio
import contextlib
import io
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.cases import FOLDERS, traces
from tests.embedders.legs import ERRORS, Clock, Leg
from tests.embedders.routed import Routed, Step, kind_of, play
from workbench.core.routing import RoutingSnapshot
from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider
from workbench.embedders.destination import vectors_for
from workbench.routing.ledger import LedgerRow
from workbench.routing.log import read_log, read_pieces
from workbench.routing.log_writing import RoutingLog
from workbench.routing.opening import open_routing_log
from workbench.routing.replay import Replay, ReplayedCall, replay_log


def replayed(path: Path) -> Replay:
    """Replay a log that has nothing wrong with it."""
    with open_routing_log(path) as file:
        return replay_log(file.pieces)


def calls_of(replay: Replay) -> list[ReplayedCall]:
    return [replay.call(n) for n in range(1, replay.count + 1)]


def held(call: ReplayedCall) -> RoutingSnapshot:
    """Give the machine of a call as the provider gives it."""
    return RoutingSnapshot(call.state, call.phase, call.streak, call.fallback_until_ms)


# One after another


@pytest.mark.parametrize("folder", FOLDERS)
async def test_the_log_of_every_recorded_trace_is_replayed_into_what_the_trace_expects(
    folder: Path, tmp_path: Path
) -> None:
    for trace in traces(folder):
        path = tmp_path / f"{trace['name']}.jsonl"
        steps = await play(trace, path)
        logged = [
            (step, seen)
            for step, seen in zip(trace["steps"], steps, strict=True)
            if step["op"] in ("embed", "embed_batch", "healthcheck")
        ]
        replay = replayed(path)
        assert replay.count == len(logged), trace["name"]
        for call, (step, seen) in zip(calls_of(replay), logged, strict=True):
            _agrees(f"{trace['name']}, call {call.n}", call, step, seen)
        assert not len(replay.divergences), trace["name"]
        totals = trace["steps"][-1]["expect"].get("totals")
        if totals is not None:
            (row,) = replay.ledger.rows
            assert {name: getattr(row, name) for name in totals} == totals, trace["name"]


def _agrees(where: str, call: ReplayedCall, step: dict[str, Any], seen: Step) -> None:
    expected = step["expect"]
    assert held(call) == seen.snapshot, where
    assert (call.op, call.at_ms) == (step["op"], step["at_ms"]), where
    assert list(call.called) == expected["called"], where
    assert call.served_by == expected["served_by"], where
    assert list(call.warns) == expected["warns"], where
    assert call.last_error_kind == expected["last_error_kind"], where


words = st.sampled_from(["ok", "null", "null_with_error", *ERRORS])
ops = st.sampled_from(["embed", "embed", "embed", "batch", "reset", "healthcheck"])
random_steps = st.lists(st.tuples(ops, st.integers(-5, 60), words, words, st.sampled_from([0, 0, 7])), max_size=30)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([-1, 0, 1, 2, 3, float("inf")]), st.sampled_from([-5, 0, 1, 10, 100, 0.5]), random_steps)
def test_random_steps_are_replayed_into_the_states_that_the_provider_had(
    threshold: float, cooldown_ms: float, steps: list[tuple[str, int, str, str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "routing.jsonl"
        had = asyncio.run(_drive(Routed(threshold, cooldown_ms, path), steps))
        if had:
            replay = replayed(path)
            got = [(held(call), call.warns, call.last_error_kind) for call in calls_of(replay)]
            assert got == had
            assert not len(replay.divergences)


async def _drive(
    routed: Routed, steps: list[tuple[str, int, str, str, int]]
) -> list[tuple[RoutingSnapshot, tuple[str, ...], str | None]]:
    had: list[tuple[RoutingSnapshot, tuple[str, ...], str | None]] = []
    for op, wait, primary, fallback, takes_ms in steps:
        routed.clock.now_ms += wait
        routed.primary.takes_ms = takes_ms
        told = len(routed.warnings)
        if op == "reset":
            routed.provider.reset()
            continue
        if op == "healthcheck":
            routed.primary.word = routed.fallback.word = "ok"
            await routed.provider.healthcheck()
            had.append((routed.provider.snapshot(), (), kind_of(routed.provider.last_error)))
            continue
        if op == "batch":
            await routed.batch(primary, fallback, items=3)
        else:
            await routed.call(primary, fallback)
        warns = tuple(text.split()[2].rstrip(":") for text in routed.warnings[told:])
        had.append((routed.provider.snapshot(), warns, kind_of(routed.provider.last_error)))
    return had


# Damaged

GOOD = [
    '{"timestamp":5,"leg":"primary","outcome":"success","call.id":"a","namespace":"n","purpose":"document","keys":["k"]}',
    '{"timestamp":6,"leg":"primary","outcome":"error","error.type":"timeout","call.id":"b","namespace":"n"}',
    '{"timestamp":7,"leg":"fallback","outcome":"success","call.id":"b","namespace":"n","purpose":"document"}',
    '{"timestamp":8,"leg":"primary","outcome":"null","null.count":1,"purpose":"document","namespace":"n"}',
    '{"timestamp":9,"leg":"primary","outcome":"not_permitted"}',
    '{"record":"config","cooldown_ms":5}',
    '{"record":"namespace","id":"n","model":"m","dimensions":3}',
    '{"record":"transition","from":"primary","to":"fallback"}',
    '{"record":"write","call.id":"a","namespace":"n","keys":["k"]}',
    '{"record":"reset"}',
    '{"record":"start"}',
    '{"record":"weather"}',
]
BAD = [
    '{"leg":"primary","outcome":"success"}',
    '{"timestamp":5,"leg":"primary","outcome":"success","keys":[1]}',
    '{"timestamp":5,"leg":"primary","outcome":"success","keys":null}',
    '{"timestamp":1e308,"duration_ms":1e308,"leg":"primary","outcome":"error"}',
    '{"timestamp":5,"leg":"primary","outcome":"success"}{"timestamp":5,"leg":"primary","outcome":"success"}',
    '{"record":"transition","from":"primary","to":"nowhere"}',
    '{"record":"config","cooldown_ms":"soon"}',
    '{"timestamp":5,\n"leg":"primary","outcome":"success"}',
    "",
    '{"timest',
]
damage = st.lists(
    st.tuples(
        st.sampled_from([*GOOD, *BAD]), st.none() | st.tuples(st.integers(0, 60), st.sampled_from('\n{}[]",:0a\\ '))
    ),
    max_size=9,
)


def damaged(lines: list[tuple[str, tuple[int, str] | None]]) -> bytes:
    """Write lines, some with one character changed."""
    spelled = []
    for line, change in lines:
        if change is not None and change[0] < len(line):
            line = line[: change[0]] + change[1] + line[change[0] + 1 :]
        spelled.append(line)
    return "\n".join(spelled).encode()


def telling(replay: Replay) -> list[LedgerRow]:
    """Give the namespaces of which the log says anything; one that only a bad line names may stand there empty."""
    return [row for row in replay.ledger.rows if row.native or row.missing or row.contaminated]


@pytest.mark.filterwarnings("ignore:overflow encountered")
@settings(deadline=None, max_examples=300)
@given(damage)
def test_a_damaged_log_is_replayed_as_far_as_it_goes_and_the_same_in_pieces(
    lines: list[tuple[str, tuple[int, str] | None]],
) -> None:
    data = damaged(lines)
    one_by_one, in_pieces = replay_log(read_log(io.BytesIO(data))), replay_log(read_pieces(io.BytesIO(data)))
    assert calls_of(one_by_one) == calls_of(in_pieces)
    assert telling(one_by_one) == telling(in_pieces)


# Side by side


@dataclass(frozen=True)
class Planned:
    """A call of a plan: it begins in its turn, and its legs give their outcomes in theirs."""

    provider: int
    primary: str
    fallback: str
    primary_turn: int
    fallback_turn: int
    cancelled: bool = False


planned = st.builds(
    Planned,
    st.integers(0, 1),
    words,
    words,
    st.integers(0, 8),
    st.integers(0, 8),
    st.sampled_from([False, False, False, False, True]),
)


class Gated(Leg):
    """A leg whose calls each wait for their own turn and then do as their own text says."""

    def __init__(self, role: str, plan: list[Planned], turns: dict[tuple[str, int], asyncio.Event]) -> None:
        super().__init__(role, f"{role}-model")
        self.plan, self.turns = plan, turns

    async def embed(self, text: str, *, purpose: str) -> list[float] | None:
        call = self.plan[int(text)]
        await self.turns[self.role, int(text)].wait()
        word = call.primary if self.role == "primary" else call.fallback
        self.last_error = f"tracked by the {self.role}" if word == "null_with_error" else None
        if word in ERRORS:
            raise ERRORS[word](f"{word} of the {self.role}")
        return None if word.startswith("null") else [1.0, 0.0, 0.0]


@settings(deadline=None, max_examples=80)
@given(st.lists(planned, min_size=1, max_size=12), st.sampled_from([1, 2, 3]), st.sampled_from([0, 3, 20]))
def test_calls_side_by_side_of_several_processes_in_one_log_are_replayed_into_their_states(
    plan: list[Planned], threshold: int, cooldown_ms: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "routing.jsonl"
        had = asyncio.run(_side_by_side(plan, threshold, cooldown_ms, path))
        if not had:
            return
        replay = replayed(path)
        for call in calls_of(replay):
            assert call.namespace is not None
            if call.namespace in had:
                snapshot = had[call.namespace]
                assert held(call) == snapshot, call
                assert call.divergence is None, call.divergence


async def _side_by_side(
    plan: list[Planned], threshold: int, cooldown_ms: int, path: Path
) -> dict[str, RoutingSnapshot]:
    """Run a plan; gives what each call that was not cancelled found the machine to be when it ended."""
    clock, turns = Clock(1_000), {}
    for role in ("primary", "fallback"):
        for number in range(len(plan)):
            turns[role, number] = asyncio.Event()
    providers = [
        AutoFallbackEmbeddingProvider(
            Gated("primary", plan, turns),
            Gated("fallback", plan, turns),
            failure_streak_threshold=threshold,
            cooldown_ms=cooldown_ms,
            warn=lambda _: None,
            now=clock,
            log=RoutingLog(path),
        )
        for _ in range(2)
    ]
    had: dict[str, RoutingSnapshot] = {}

    async def make(number: int, call: Planned) -> None:
        provider = providers[call.provider]
        with vectors_for(f"call {number}"):
            with contextlib.suppress(Exception):
                await provider.embed(str(number), purpose="document")
            had[f"call {number}"] = provider.snapshot()

    async def settle() -> None:
        clock.now_ms += 1
        for _ in range(6):
            await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    for turn in count():
        if turn < len(plan):
            tasks.append(asyncio.create_task(make(turn, plan[turn])))
            await settle()
        for number, call in enumerate(plan[: turn + 1]):
            for role, wait in (("primary", call.primary_turn), ("fallback", call.fallback_turn)):
                event = turns[role, number]
                if number + wait <= turn and not event.is_set():
                    if call.cancelled and not tasks[number].done():
                        tasks[number].cancel()
                    event.set()
                    await settle()
        if turn > len(plan) + 20:
            break
    await asyncio.gather(*tasks, return_exceptions=True)
    return had


WORKER = """
import asyncio, sys
from tests.embedders.legs import Leg
from workbench import AutoFallbackEmbeddingProvider, RoutingLog, vectors_for

async def work():
    primary = Leg("primary", "ours")
    provider = AutoFallbackEmbeddingProvider(
        primary, Leg("fallback", "theirs"), cooldown_ms=2, warn=lambda _: None, log=RoutingLog(sys.argv[1])
    )
    for number in range(int(sys.argv[2])):
        primary.word = "error" if number % 7 < 4 else "ok"
        with vectors_for("notes", [f"{number}_{key}" for key in range(400)]):
            await provider.embed_batch(["a text"] * 400, purpose="document")
        print(number, flush=True)

asyncio.run(work())
"""


def test_processes_that_share_a_log_and_are_killed_leave_no_divergence_behind(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    root = Path(__file__).resolve().parents[2]

    def start(calls: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", WORKER, str(path), str(calls)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root)

    survivor = start(120)
    said = 0
    for number in range(4):
        victim = start(100_000)
        assert victim.stdout is not None
        for _ in range(5 + number):
            victim.stdout.readline()
        victim.send_signal(signal.SIGKILL)
        said += 5 + number + len(victim.stdout.read().split())
        victim.wait()
    survivor.communicate()
    replay = replayed(path)
    assert replay.count >= 120 + said
    assert len({call.instance for call in calls_of(replay)}) == 5
    assert [call.divergence for call in calls_of(replay) if call.divergence is not None] == []


async def test_calls_of_one_moment_and_one_machine_tell_the_truth_with_the_systems_clock(tmp_path: Path) -> None:
    """Hundreds of calls at once, as fast as they come: what the log says agrees with the machine."""
    path = tmp_path / "routing.jsonl"
    primary, fallback = Leg("primary", "ours"), Leg("fallback", "theirs")
    provider = AutoFallbackEmbeddingProvider(
        primary, fallback, failure_streak_threshold=5, cooldown_ms=3, warn=lambda _: None, log=RoutingLog(path)
    )

    async def some(words: list[str]) -> None:
        for word in words:
            primary.word = word
            await provider.embed("a text", purpose="query")
            await asyncio.sleep(0)

    for _ in range(5):
        await asyncio.gather(*(some(["error", "ok", "error", "circuit_open"] * 5) for _ in range(8)))
    replay = replayed(path)
    assert replay.count == 800
    assert [replay.call(int(n)).divergence for n in replay.divergences] == []
    last = replay.call(replay.count)
    snapshot = provider.snapshot()
    assert (last.state, last.streak, last.fallback_until_ms) == (
        snapshot.state, snapshot.streak, snapshot.fallback_until_ms,
    )  # fmt: skip
