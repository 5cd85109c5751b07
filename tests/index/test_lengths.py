"""Lengths in UTF-16 code units, read once, and every ceiling answered from them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.index.made_tables import make_file, opened
from workbench.core.job import Cancelled, Job
from workbench.index.model import MAX_LISTED

STORED = "CREATE TABLE t (id VARCHAR, text VARCHAR, char_count BIGINT, byte_count BIGINT)"


def units(text: str | None) -> int:
    return 0 if text is None else len(text.encode("utf-16-le", "surrogatepass")) // 2


def texts_of(random_: random.Random, count: int) -> list[str | None]:
    alphabet = ["a", "é", "漢", "\U0001f600", "e\u0301", " ", "\x00"]
    made: list[str | None] = ["".join(random_.choices(alphabet, k=random_.randrange(60))) for _ in range(count)]
    made[3], made[5] = None, ""
    return made


def file_of(path: Path, texts: list[str | None]) -> Path:
    return make_file(
        path, "CREATE TABLE t (id VARCHAR, text VARCHAR)", rows={"t": [(f"r{n}", t) for n, t in enumerate(texts)]}
    )


@pytest.mark.parametrize("seed", range(4))
def test_every_ceiling_agrees_with_counting_the_texts_one_by_one(tmp_path: Path, seed: int) -> None:
    texts = texts_of(random.Random(seed), 400)
    lengths = [units(text) for text in texts]
    with opened(file_of(tmp_path / "x.duckdb", texts), vector=None, text="text") as namespace:
        profile = namespace.lengths(token_limit=50)
        assert profile is not None
        assert profile.basis == "counted"
        for ceiling in (0, 1, 17, 40, 200):
            clip = profile.clip(ceiling)
            assert clip.count == sum(length > ceiling for length in lengths)
            assert clip.lost_chars == sum(max(0, length - ceiling) for length in lengths)
            assert (clip.total, clip.total_chars) == (len(texts), sum(lengths))
            within = [text or "" for text in texts if units(text) <= ceiling]
            assert clip.possible == sum(len(text.encode()) > 50 for text in within)
        order = sorted(range(len(texts)), key=lambda n: (-lengths[n], n))
        assert [chunk.id for chunk in profile.longest] == [f"r{n}" for n in order]
        bins = profile.histogram(10)
        assert list(bins) == [sum(n // 10 == b for n in lengths) for b in range(max(lengths) // 10 + 1)]


def test_without_a_token_limit_nothing_is_possible_within_the_ceiling(tmp_path: Path) -> None:
    with opened(file_of(tmp_path / "x.duckdb", ["a" * 99] * 9), vector=None, text="text") as namespace:
        profile = namespace.lengths()
        assert profile is not None
        assert profile.clip(1_000).possible == 0


def test_a_second_call_reads_nothing(tmp_path: Path) -> None:
    with opened(file_of(tmp_path / "x.duckdb", ["a"] * 9), vector=None, text="text") as namespace:
        assert namespace.lengths() is namespace.lengths()


def test_the_longest_are_listed_up_to_a_bound_and_the_others_only_counted(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT 'r' || i AS id, repeat('x', (i % 500)::INT) AS text FROM range(200000) r(i)",
    )
    with opened(path, vector=None, text="text") as namespace:
        profile = namespace.lengths()
        assert profile is not None
        assert len(profile.longest) == MAX_LISTED
        expected = [499 + 500 * n for n in range(400)] + [498 + 500 * n for n in range(400)]
        expected += [497 + 500 * n for n in range(200)]
        assert [chunk.id for chunk in profile.longest] == [f"r{n}" for n in expected]
        assert profile.clip(400).count == 400 * 99


def test_a_table_whose_texts_are_all_null_has_no_text(tmp_path: Path) -> None:
    with opened(file_of(tmp_path / "x.duckdb", [None] * 5), vector=None, text="text") as namespace:
        assert namespace.lengths() is None
        assert namespace.no_text == "every text in the table is NULL"


def test_an_empty_table_has_no_clipped_chunk_rather_than_no_text(tmp_path: Path) -> None:
    with opened(file_of(tmp_path / "x.duckdb", []), vector=None, text="text") as namespace:
        profile = namespace.lengths()
        assert profile is not None
        assert (profile.clip(10).count, profile.clip(10).total, list(profile.histogram(5))) == (0, 0, [])


def stored_file(path: Path, texts: list[str | None]) -> Path:
    rows = [(f"r{n}", text, units(text), len((text or "").encode())) for n, text in enumerate(texts)]
    return make_file(path, STORED, rows={"t": rows})


def test_stored_counts_answer_like_the_texts_they_were_taken_from(tmp_path: Path) -> None:
    texts = texts_of(random.Random(9), 400)
    path = stored_file(tmp_path / "x.duckdb", texts)
    with (
        opened(path, vector=None, text="text", char_count="char_count", byte_count="byte_count") as stored,
        opened(path, vector=None, text="text") as read,
    ):
        by_count, by_text = stored.lengths(40), read.lengths(40)
        assert by_count is not None
        assert by_text is not None
        assert (by_count.basis, by_text.basis) == ("stored", "counted")
        assert [by_count.clip(n) for n in range(100)] == [by_text.clip(n) for n in range(100)]
        assert by_count.longest == by_text.longest
        assert stored.notes == ()


@pytest.mark.parametrize(
    "lie", ["char_count = char_count + 1", "char_count = NULL", "char_count = -5", "byte_count = 0"]
)
def test_stored_counts_that_are_not_those_of_the_texts_are_not_believed(tmp_path: Path, lie: str) -> None:
    texts = texts_of(random.Random(1), 400)
    path = make_file(stored_file(tmp_path / "x.duckdb", texts), f"UPDATE t SET {lie}")
    with opened(path, vector=None, text="text", char_count="char_count", byte_count="byte_count") as namespace:
        profile = namespace.lengths(40)
        assert profile is not None
        assert profile.basis == "counted"
        assert profile.clip(0).total_chars == sum(map(units, texts))
        assert any("char_count" in note for note in namespace.notes)


def test_stored_counts_without_byte_counts_cannot_say_what_is_possible_and_the_texts_are_read(tmp_path: Path) -> None:
    path = stored_file(tmp_path / "x.duckdb", ["漢" * 30] * 10)
    with opened(path, vector=None, text="text", char_count="char_count") as namespace:
        profile = namespace.lengths(token_limit=50)
        assert profile is not None
        assert profile.clip(100).possible == 10
        without = namespace.lengths()
        assert without is not None
        assert without.basis == "stored"


def test_reading_texts_reports_progress_and_can_be_given_up(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb", "CREATE TABLE t AS SELECT i::VARCHAR AS id, 'x' AS text FROM range(300000) r(i)"
    )
    seen: list[int] = []

    def watch(done: int, total: int) -> None:
        seen.append(done)
        if done:
            job.cancel()

    job = Job(watch)
    with opened(path, vector=None, text="text") as namespace, pytest.raises(Cancelled):
        namespace.lengths(job=job)
    assert len(seen) == 2
    assert 0 < seen[1] < 300_000
