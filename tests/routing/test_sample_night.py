"""The sample's night: its log, replayed, and the archive that really holds what the fallback made."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from workbench.core.routing import Leg, Phase
from workbench.routing.model import LoggedStart, LoggedTransition
from workbench.routing.opening import open_routing_log
from workbench.routing.replay import Replay, replay_log

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
LOG = SAMPLE / "routing.jsonl"


@pytest.fixture(scope="module")
def replay() -> Replay:
    with open_routing_log(LOG) as log:
        return replay_log(log.records)


@pytest.fixture(scope="module")
def made_again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("night")
    subprocess.run(
        [sys.executable, str(SAMPLE / "make.py"), str(folder)],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return folder


def test_the_provider_that_wrote_the_log_did_what_the_machine_does(replay: Replay) -> None:
    assert not len(replay.divergences)
    assert not replay.problems
    assert replay.count == 58


def test_an_outage_opens_the_breaker_and_is_announced_once_each_way(replay: Replay) -> None:
    assert [each.warn for each in replay.transitions] == ["primary->fallback", "fallback->primary"]
    with open_routing_log(LOG) as log:
        announced = [each for each in log.records if isinstance(each, LoggedTransition)]
    assert [each.at_ms for each in replay.transitions] == [each.at_ms for each in announced]
    opened, closed = (each.n for each in replay.transitions)
    calls = [replay.call(n) for n in range(opened, closed)]
    assert all(call.served_by is Leg.FALLBACK for call in calls)
    probes = [call for call in calls[1:] if Leg.PRIMARY in call.called]
    assert len(probes) == 2
    assert all(call.phase is Phase.COOLDOWN for call in probes)


def test_the_flapping_primary_is_never_announced_and_leaks_all_the_while(replay: Replay) -> None:
    closed = replay.transitions[-1].n
    rescued = [n for n in range(closed + 1, replay.count + 1) if replay.call(n).served_by is Leg.FALLBACK]
    assert len(rescued) == 8
    assert {replay.call(n).phase for n in rescued} == {Phase.DEGRADED}
    assert {replay.call(n).streak for n in rescued} == {1}
    assert rescued == list(range(rescued[0], rescued[-1] + 1, 2))
    assert set(rescued) <= set(replay.contaminated.tolist())


def test_the_ledger_counts_what_stands_in_the_wrong_space(replay: Replay) -> None:
    (archive,) = replay.ledger.rows
    assert (archive.namespace, archive.fingerprint, archive.assumed) == ("archive", "wordllama@256", False)
    assert (archive.native, archive.foreign_same_dims, archive.foreign_dims_mismatch) == (35, 23, 0)
    assert (archive.missing, archive.cross_space_queries) == (0, 5)
    assert len(archive.keys) == 23


def test_a_second_process_begins_anew(replay: Replay) -> None:
    with open_routing_log(LOG) as log:
        starts = [each.instance for each in log.records if isinstance(each, LoggedStart)]
    assert len(set(starts)) == 2
    assert {replay.call(n).instance for n in range(1, replay.count + 1)} == set(starts)


def test_the_archive_holds_the_vectors_of_the_fallback_under_the_name_of_the_primary(
    replay: Replay, tmp_path: Path
) -> None:
    (archive,) = replay.ledger.rows
    copy = shutil.copy(SAMPLE / "archive.duckdb", tmp_path)
    original = shutil.copy(SAMPLE / "index.duckdb", tmp_path)
    with duckdb.connect(copy, read_only=True) as connection:
        rows = _rows(connection)
    with duckdb.connect(original, read_only=True) as connection:
        native = _rows(connection)
    assert {row["embedder_fp"] for row in rows.values()} == {"wordllama@256"}
    assert set(archive.keys) <= rows.keys()
    # The almanac and the logbook stand in the sample index too, as the primary made them.
    compared = [key for key in rows if key in native and native[key]["vector"] is not None]
    assert len(compared) >= 20
    for key in compared:
        same = rows[key]["vector"] == native[key]["vector"]
        assert same is (key not in archive.keys), key


def _rows(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Give the entries of a native index by id, whichever of its tables they stand in."""
    found: dict[str, dict[str, Any]] = {}
    tables = connection.execute(
        "SELECT table_name FROM duckdb_columns() WHERE column_name = 'embedder_fp' AND NOT internal"
    ).fetchall()
    for (table,) in tables:
        cursor = connection.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in cursor.description or ()]
        for values in cursor.fetchall():
            row = dict(zip(names, values, strict=True))
            if "id" in row and row.get("text") is not None:
                row["vector"] = next((row[name] for name in ("embedding", "vector") if name in row), None)
                found[row["id"]] = row
    return found


def test_the_script_makes_the_same_log_byte_by_byte_and_the_same_archive(made_again: Path, tmp_path: Path) -> None:
    assert (made_again / "routing.jsonl").read_bytes() == LOG.read_bytes()
    committed = shutil.copy(SAMPLE / "archive.duckdb", tmp_path)
    with duckdb.connect(committed, read_only=True) as connection:
        before = _rows(connection)
    with duckdb.connect(str(made_again / "archive.duckdb"), read_only=True) as connection:
        assert _rows(connection) == before


def test_the_log_holds_no_text(replay: Replay) -> None:
    log = LOG.read_text(encoding="utf-8")
    assert "causeway" not in log
    assert "barley" not in log.casefold()
