"""The ceiling and its one warning, against the seed's cases and by their own rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import FOLDERS, OWN, Case, cases, decode
from workbench.core.ceiling import (
    DEFAULT_MAX_CHUNK_CHARS,
    CeilingSource,
    ChunkCeiling,
    resolve_chunk_ceiling,
    truncation_warning,
)
from workbench.core.numbers import number_text

FILE = "golden_ceiling.json"


@dataclass(frozen=True)
class Declares:
    max_input_chars: object


def embedder(encoded: object) -> Declares | None:
    decoded = decode(encoded)
    return None if decoded is None else Declares(decoded.get("maxInputChars"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_pair_resolves_as_the_seed_resolves_it(folder: Path) -> None:
    for case in cases(folder, FILE, "resolve"):
        resolved = resolve_chunk_ceiling(decode(case["explicit"]), embedder(case["embedder"]))
        assert (resolved.chars, resolved.source) == (case["out"]["chars"], case["out"]["source"]), case
        assert isinstance(resolved.chars, int), case


def warning(case: Case) -> str:
    arguments = decode(case["args"])
    return truncation_warning(
        caller=arguments["caller"],
        count=arguments["count"],
        total=arguments["total"],
        noun=arguments["noun"],
        ceiling=ChunkCeiling(**arguments["ceiling"]),
        embedder_id=arguments.get("embedderId"),
        ids_in=arguments.get("idsIn"),
        resplit_hint=arguments.get("resplitHint"),
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_warning_names_its_facts(folder: Path) -> None:
    for case in cases(folder, FILE, "warning"):
        message, facts, arguments = warning(case), case["names"], case["args"]
        for fact in (arguments["caller"], arguments["noun"], facts["source"], "maxChunkChars"):
            assert fact in message, case
        assert f"{facts['count']} of {facts['total']} {arguments['noun']}" in message, case
        assert f"{number_text(facts['chars'])}-character" in message, case
        if facts["embedder_id_shown"] is None:
            assert "does not name itself" in message, case
        else:
            assert f"'{facts['embedder_id_shown']}'" in message, case
        assert ("splitter's maxChars" in message) == facts["generic_resplit_fix"], case
        assert ("The ids are in" in message) == facts["has_ids_line"], case
        for given_text in ("idsIn", "resplitHint"):
            assert decode(arguments.get(given_text)) is None or arguments[given_text] in message, case


def test_every_source_of_a_ceiling_is_worded_differently() -> None:
    messages = {
        truncation_warning(caller="check", count=1, total=2, noun="chunk", ceiling=ChunkCeiling(10, source))
        for source in get_args(CeilingSource)
    }
    assert len(messages) == 4


def test_a_huge_ceiling_is_written_as_the_seed_writes_it() -> None:
    ceiling = resolve_chunk_ceiling(1e21, None)
    message = truncation_warning(caller="check", count=1, total=2, noun="chunk", ceiling=ceiling)
    assert "1e+21-character" in message


@pytest.mark.parametrize("unusable", [0, -1, -0.0, math.nan, math.inf, -math.inf, True, "500", None, [500], 10**400])
def test_what_is_no_usable_number_is_passed_over(unusable: object) -> None:
    assert resolve_chunk_ceiling(unusable, Declares(8000)) == ChunkCeiling(8000, "embedder")
    assert resolve_chunk_ceiling(None, Declares(unusable)) == ChunkCeiling(DEFAULT_MAX_CHUNK_CHARS, "default")


def test_an_embedder_that_declares_nothing_leaves_the_default() -> None:
    assert resolve_chunk_ceiling(None, object()) == ChunkCeiling(2000, "default")


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_a_usable_number_is_rounded_down_and_the_callers_wins(number: float) -> None:
    assert resolve_chunk_ceiling(number, Declares(1)) == ChunkCeiling(math.floor(number), "explicit")


def test_the_default_is_the_seeds() -> None:
    assert cases(OWN, FILE, "warning")
    assert DEFAULT_MAX_CHUNK_CHARS == 2000
