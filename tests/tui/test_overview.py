"""The overview: every concern with its number, worst first, as the report has it."""

from __future__ import annotations

from dataclasses import replace

from tests.tui import scenes
from tests.tui.driving import driven
from tests.tui.fakes import NOW_MS, FakeNamespace, FakeReader, FakeSource
from workbench.checkup.namespace import check_namespace
from workbench.checkup.options import CheckOptions
from workbench.core.fingerprint import Fingerprint
from workbench.index.model import NormSpread
from workbench.tui.signs import UNICODE
from workbench.tui.state import State
from workbench.tui.verdicts import concerns


async def test_the_first_line_is_the_worst_verdict_and_the_next_says_what_to_do() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("handbook")
        lines = [line.strip() for line in app.detail.text.splitlines() if line.strip()]
        assert lines[0].startswith("! 456 of 8,214 chunks are longer than 2,000 characters")
        assert "never read" in lines[1]
        assert any("split these chunks" in line for line in lines[:6])


async def test_concerns_stand_worst_first() -> None:
    report = check_namespace(scenes.handbook(), CheckOptions(incoming=scenes.LARGE), NOW_MS)
    rows = concerns(report, UNICODE)
    assert [row.name for row in rows[:3]] == ["Incoming", "Ceiling", "Duplicates"]
    assert [row.state for row in rows] == sorted(row.state for row in rows)


async def test_a_refused_embedder_is_named_in_header_banner_and_table() -> None:
    async with driven(scenes.loaded(), incoming=scenes.LARGE) as app:
        await app.go_to("handbook")
        assert "incoming text-embedding-3-large@3072  ✗ refused" in app.text.splitlines()[0]
        assert "refused: 3,072 dims do not fit 1,536" in app.text
        assert app.row("Incoming").rstrip().endswith("i")


async def test_an_embedder_that_fits_is_called_compatible() -> None:
    async with driven(scenes.loaded(), incoming=Fingerprint("text-embedding-3-small", 1536)) as app:
        await app.go_to("changelog")
        assert "✓ compatible" in app.text.splitlines()[0]


async def test_lengths_alone_are_no_proof() -> None:
    async with driven(scenes.loaded(), incoming=Fingerprint("some-model", 384)) as app:
        await app.go_to("embeddings")
        assert "? unverified" in app.text.splitlines()[0]
        assert "unverified: only the lengths were compared" in app.text


async def test_mixed_spaces_are_listed_with_how_many_vectors_each_has() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("legacy-faq")
        assert "2,902" in app.row("text-embedding-3-small@1536   ")
        assert "1,200" in app.row("text-embedding-ada-002@1536   ")


async def test_a_namespace_without_text_says_that_clipping_cannot_be_judged() -> None:
    source = FakeSource("x.duckdb", (FakeNamespace("vectors", no_text="the texts are in another file"),))
    async with driven(FakeReader({"x.duckdb": source})) as app:
        await app.go_to("vectors")
        assert "Ceiling" in app.row("no text stored")
        assert "Lengths" not in app.detail.text


async def test_an_explicit_ceiling_is_the_one_that_is_shown() -> None:
    reader = scenes.loaded()
    reader.explicit_ceiling = 500
    async with driven(reader) as app:
        await app.go_to("changelog")
        assert "ceiling 500 explicit" in app.text


async def test_the_sentence_follows_the_cursor_and_the_table_stays_where_it_is() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("handbook")
        await app.press("enter")
        before = app.text.splitlines().index(app.row("Ceiling "))
        await app.press("j")
        assert "9 ids stand on 18 rows" in app.detail.text
        assert app.text.splitlines().index(app.row("Ceiling ")) == before


async def test_nothing_wrong_is_said_as_such() -> None:
    report = check_namespace(scenes.index().all[2], CheckOptions(), NOW_MS)
    assert {row.state for row in concerns(report, UNICODE)} == {State.OK, State.EMPTY}


async def test_norms_far_from_one_are_written_in_powers_of_ten() -> None:
    namespace = scenes.tickets().all[0]
    report = check_namespace(namespace, CheckOptions(), NOW_MS)
    health = replace(report.vectors.health, norm=NormSpread(1e-30, 1.0, 3e30))
    rows = concerns(replace(report, vectors=replace(report.vectors, health=health)), UNICODE)
    assert next(row.verdict for row in rows if row.name == "Norms") == "1e-30 – 3e+30, median 1.0000"
