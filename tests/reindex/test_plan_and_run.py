"""What a plan says is what the run then does; what is built is in place whole, and goes back whole."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.embedders.misbehaving_server import Hashing, MisbehavingServer
from tests.reindex.scene import (
    NAMESPACE,
    NEW,
    begin,
    build,
    expected_vector,
    go,
    living,
    make_index,
    provider,
    sentence,
    siblings,
    target,
    vectors,
)
from workbench.index.model import SourceError
from workbench.index.opening import translate
from workbench.index.store import Entry, VectorStore
from workbench.reindex import running
from workbench.reindex.generations import before as generation_before
from workbench.reindex.generations import drop_retired, generations, roll_back
from workbench.reindex.model import ReindexError, RunState, Settings
from workbench.reindex.planning import plan, refuse_without_room
from workbench.reindex.probing import PROBE
from workbench.reindex.running import Controls
from workbench.reindex.sibling import siblings_of


def write_oddities(index: Path) -> None:
    """Add an empty text, a missing one, and a long one."""
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(
            NAMESPACE,
            [Entry("empty", "", [1.0] * 32), Entry("long", " ".join(sentence(n, 20) for n in range(30)))],
            embedder_id="old",
        )
    with duckdb.connect(str(index)) as connection:
        connection.execute("INSERT INTO chunks_1 (seq, id) VALUES (900, 'no-text')")


def test_nothing_is_asked_before_the_run(index: Path, server: MisbehavingServer) -> None:
    aim = target(provider(server.url))
    plan(str(index), NAMESPACE, aim)
    begin(index, aim)
    assert server.asked.requests == 0


@pytest.mark.parametrize("chars", [None, 300])
def test_the_counts_of_the_plan_are_what_the_run_does(
    index: Path, server: MisbehavingServer, chars: int | None
) -> None:
    write_oddities(index)
    aim = target(provider(server.url), chars)
    planned = plan(str(index), NAMESPACE, aim, resplit=chars is not None)
    outcome = go(index, begin(index, aim, resplit=chars is not None), aim)
    assert outcome.state is RunState.SWAPPED
    assert planned.chunks.total == 103
    assert (planned.chunks.skip, planned.chunks.impossible, planned.chunks.reuse) == (1, 1, 0)
    assert planned.chunks.resplit == (1 if chars else 0)
    assert outcome.embedded == planned.pieces
    assert len(vectors(index)) == planned.pieces + planned.chunks.skip + planned.chunks.impossible
    assert planned.impossible_ids == ("no-text",)
    assert outcome.requests == server.asked.requests


def test_the_tokens_that_were_sent_lie_in_the_range_of_the_plan(index: Path, server: MisbehavingServer) -> None:
    write_oddities(index)
    planned = plan(str(index), NAMESPACE, target(provider(server.url)))
    build(index, provider(server.url))
    sent = sum(Hashing().count(text) for body in server.asked.bodies for text in body["input"])
    assert planned.tokens.low <= sent <= planned.tokens.high


def test_every_row_keeps_what_it_was_but_its_vector(index: Path, server: MisbehavingServer) -> None:
    write_oddities(index)
    before = living(index)
    assert build(index, provider(server.url)).state is RunState.SWAPPED
    after = living(index)
    assert after[0] == ("dims", 64)
    changed = {4, 12, 17}  # read_chars, embedder_fp, vector
    for old, new in zip(before[1:], after[1:], strict=True):
        assert [value for place, value in enumerate(old) if place not in changed] == [
            value for place, value in enumerate(new) if place not in changed
        ]
        text = new[1]
        assert new[17] == (expected_vector(text) if text else None)
        assert new[12] == (NEW if text else None)
    assert living(index, "others")[1][0] == "x"


def test_going_back_restores_the_old_answers_to_the_bit(index: Path, server: MisbehavingServer) -> None:
    before = living(index)
    build(index, provider(server.url))
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("late", "written since", [0.5] * 64)], embedder_id="test-embedder")
    done = roll_back(str(index), NAMESPACE, 5)
    assert living(index) == before
    assert (done.written_since, done.more_written) == (("late",), 1)


def test_what_is_longer_than_a_lower_ceiling_is_cut_also_when_its_vector_would_do(
    index: Path, server: MisbehavingServer
) -> None:
    build(index, provider(server.url, chars=10_000))
    lower = target(provider(server.url, chars=10_000), 40)
    assert plan(str(index), NAMESPACE, lower).chunks.embed == 0
    chunks = plan(str(index), NAMESPACE, lower, resplit=True).chunks
    assert chunks.resplit
    build(index, provider(server.url, chars=10_000), chars=40)
    rows = living(index)[1:]
    assert max(row[2] for row in rows) <= 40
    assert len(rows) > chunks.total


def test_of_two_that_begin_at_once_no_more_than_one_goes_on(
    index: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    aim = target(provider(server.url))
    real = running.unfinished
    others: list[str] = []

    def late(path: str, namespace: str | None = None) -> tuple[tuple[str, Settings, RunState], ...]:
        found = real(path, namespace)
        if not others:
            others.append("")
            others[0] = begin(index, aim)  # between this look and the own file
        return found

    monkeypatch.setattr(running, "unfinished", late)
    with pytest.raises(ReindexError, match="is under way in"):
        begin(index, aim)
    assert siblings_of(str(index)) == tuple(others)


def test_where_nothing_may_be_written_a_beginning_is_refused_in_one_sentence(
    index: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    aim = target(provider(server.url))
    monkeypatch.setattr("workbench.index.opening._write_new", refuse)
    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", refuse)
        with pytest.raises(SourceError, match="cannot be written: read-only file system; make"):
            running.begin(str(index), NAMESPACE, aim, resplit=False, now_ms=1)
    assert siblings(index) == []


def test_a_file_that_may_only_be_read_is_not_called_damaged_when_it_is_to_be_written(index: Path) -> None:
    words = f'Cannot open file "{index}": '
    for why in ("Read-only file system", "Permission denied"):
        said = translate(duckdb.IOException(words + why), str(index))
        assert "cannot be written: " + why[0].lower() + why[1:] in said.message


def test_going_back_leads_to_what_answered_last_not_to_the_next_lower_number(
    index: Path, server: MisbehavingServer
) -> None:
    before = living(index)
    build(index, provider(server.url), Controls(now_ms=lambda: 2_000))
    roll_back(str(index), NAMESPACE, 3_000)
    build(index, provider(server.url), Controls(now_ms=lambda: 4_000))
    (found,) = [each for each in generations(str(index)) if each.namespace == NAMESPACE]
    led = generation_before(found.generations, found.active)
    assert roll_back(str(index), NAMESPACE, 5_000).generation == (led.generation if led else None)
    assert living(index) == before


def test_dropping_what_is_old_leaves_the_new_alone(index: Path, server: MisbehavingServer) -> None:
    build(index, provider(server.url))
    after = living(index)
    assert drop_retired(str(index), NAMESPACE) == 1
    assert living(index) == after
    assert [len(each.generations) for each in generations(str(index))] == [1, 1]
    with pytest.raises(ReindexError, match="no earlier generation"):
        roll_back(str(index), NAMESPACE, 5)


def test_an_unfinished_build_is_dropped_without_a_trace(index: Path, server: MisbehavingServer) -> None:
    before = living(index)
    path = begin(index, target(provider(server.url)))
    assert siblings(index)
    running.discard(str(index), path)
    assert siblings(index) == []
    assert living(index) == before


def test_nothing_lies_beside_the_index_after_a_swap(index: Path, server: MisbehavingServer) -> None:
    build(index, provider(server.url))
    assert siblings(index) == []


def test_a_vector_is_kept_only_when_all_that_made_it_is_the_same(index: Path, server: MisbehavingServer) -> None:
    build(index, provider(server.url))
    after, asked = living(index), server.asked.requests
    same = target(provider(server.url))
    assert plan(str(index), NAMESPACE, same).chunks.reuse == 100
    outcome = go(index, begin(index, same), same)
    assert (outcome.reused, outcome.embedded) == (100, 0)
    assert living(index) == after
    # Nothing but the probes of verifying went out.
    assert server.asked.requests - asked == 3
    for other in (
        provider(server.url, prefix="passage: "),
        provider(server.url.replace("127.0.0.1", "localhost")),
        provider(server.url, model="another"),
    ):
        assert plan(str(index), NAMESPACE, target(other)).chunks.reuse == 0


def test_a_chunk_that_was_not_read_whole_is_embedded_again(index: Path, server: MisbehavingServer) -> None:
    write_oddities(index)
    short = target(provider(server.url, chars=500))
    go(index, begin(index, short), short)
    planned = plan(str(index), NAMESPACE, target(provider(server.url, chars=100_000)))
    assert (planned.chunks.reuse, planned.chunks.embed) == (100, 1)


def test_a_text_that_was_written_since_is_embedded_again(index: Path, server: MisbehavingServer) -> None:
    build(index, provider(server.url))
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("c3", "another text", [0.1] * 64)], embedder_id="test-embedder")
    assert plan(str(index), NAMESPACE, target(provider(server.url))).chunks.embed == 1


def test_a_second_build_of_a_namespace_is_refused_with_the_ways_out(index: Path, server: MisbehavingServer) -> None:
    aim = target(provider(server.url))
    begin(index, aim)
    with pytest.raises(ReindexError, match=r"--resume.*--discard"):
        begin(index, aim)


def test_a_namespace_that_is_not_there_is_refused(index: Path, server: MisbehavingServer) -> None:
    with pytest.raises(ReindexError, match="no namespace 'elsewhere'"):
        plan(str(index), "elsewhere", target(provider(server.url)))


def test_an_embedder_that_does_not_say_its_length_is_refused_before_it_is_asked(
    index: Path, server: MisbehavingServer
) -> None:
    with pytest.raises(ReindexError, match="set dimensions"):
        plan(str(index), NAMESPACE, target(provider(server.url, dims=None)))
    assert server.asked.requests == 0


@pytest.mark.parametrize(
    ("other", "word"),
    [({"model": "another"}, "fingerprint"), ({"prefix": "passage: "}, "document_prefix"), ({"chars": 7}, "max_chunk")],
)
def test_a_build_goes_on_only_under_the_settings_it_was_begun_with(
    index: Path, server: MisbehavingServer, other: dict[str, str], word: str
) -> None:
    path = begin(index, target(provider(server.url)))
    with pytest.raises(ReindexError, match=word):
        go(index, path, target(provider(server.url, **other)))  # type: ignore[arg-type]
    assert server.asked.requests == 0


def test_an_empty_namespace_can_be_built_again(tmp_path: Path, server: MisbehavingServer) -> None:
    index = make_index(tmp_path / "empty.duckdb", 0)
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("only", "")], embedder_id="old")
    outcome = build(index, provider(server.url))
    assert (outcome.state, outcome.embedded) == (RunState.SWAPPED, 0)
    assert server.asked.requests == 0


def test_what_clips_is_said_once_a_run(index: Path, server: MisbehavingServer) -> None:
    write_oddities(index)
    said: list[str] = []
    aim = target(provider(server.url, chars=500))
    go(index, begin(index, aim), aim, Controls(on_warning=said.append))
    assert len(said) == 1
    assert "1 of 101 chunks" in said[0]
    assert "--resplit" in said[0]


def test_the_first_text_that_goes_out_is_the_probe(index: Path, server: MisbehavingServer) -> None:
    build(index, provider(server.url))
    assert server.asked.bodies[0]["input"] == [PROBE]
    assert server.asked.times(PROBE) == 1


def test_a_build_for_which_there_is_no_room_is_refused_before_anything_is_sent(
    index: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan(str(index), NAMESPACE, target(provider(server.url)))
    refuse_without_room(str(index), made)
    usage = shutil.disk_usage(index.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=made.disk_bytes - 1))
    with pytest.raises(ReindexError, match="free in"):
        refuse_without_room(str(index), made)
