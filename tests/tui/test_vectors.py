"""The view of vectors: what is unusable, what it does to a search, and the rows one by one."""

from __future__ import annotations

import threading

import pytest

from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, driven
from tests.tui.fakes import NOW_MS, FakeNamespace, FakeReader, FakeSource
from workbench.checkup.namespace import check_namespace
from workbench.checkup.options import CheckOptions
from workbench.index.model import FingerprintCount, Flaw, NormBins, NormSpread, UnusableRow
from workbench.tui.pages.norms import norm_chart
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.vectors import Listing, vectors_page
from workbench.tui.signs import ASCII, UNICODE

ROWS = (
    UnusableRow("faq#118", Flaw.NOT_FINITE, "element 3 is NaN"),
    UnusableRow("faq#204", Flaw.NULL_ELEMENT, "element 7 is NULL"),
    UnusableRow("faq#571", Flaw.ZERO, "all 384 elements are 0"),
    UnusableRow("faq#803", Flaw.ABSENT, "no vector"),
)


def faulty(**other: object) -> FakeNamespace:
    """Give a namespace of LangChain's with one row of four flaws."""
    namespace = FakeNamespace(
        "faq", adapter="langchain", declared_dims=384, lengths_=[500] * 4_102, non_finite=2, zero=1, missing=1
    )
    namespace.unusable = ROWS
    namespace.counts = (FingerprintCount("?@384", 4_101),)
    for name, value in other.items():
        setattr(namespace, name, value)
    return namespace


def page_of(namespace: FakeNamespace, listing: Listing | None = None, width: int = 84, **frame: int) -> Page:
    report = check_namespace(namespace, CheckOptions(), NOW_MS)
    room = Frame(width, frame.get("height", 35), UNICODE, True, frame.get("selected", 0))
    return vectors_page(report, listing if listing is not None else Listing(namespace.unusable), room)


def texts(page: Page) -> list[str]:
    return [line.text for line in page.lines]


def test_the_worst_that_happens_to_a_search_comes_first_with_its_number() -> None:
    assert next(text for text in texts(page_of(faulty())) if text).startswith("! 1 row makes every search fail")


def test_before_the_rows_are_known_the_usual_flaw_of_each_kind_is_assumed() -> None:
    first = next(text for text in texts(page_of(faulty(), Listing(reading=True))) if text)
    assert first.startswith("! 3 rows come first in every search on DuckDB 2.0")


def test_rows_of_one_kind_that_do_different_things_are_counted_apart() -> None:
    (row,) = (text for text in texts(page_of(faulty())) if text.startswith("! not finite"))
    assert "1 fails every search, 1 comes first" in row


def test_each_row_says_which_why_and_what_it_does() -> None:
    lines = texts(page_of(faulty()))
    (row,) = (text for text in lines if "faq#118" in text)
    assert "element 3 is NaN" in row
    assert row.rstrip().endswith("comes first")


def test_the_row_under_the_cursor_says_why_in_a_sentence() -> None:
    page = page_of(faulty(), selected=3)
    at = page.stops[3]
    assert "faq#118" in page.lines[at].text
    assert page.lines[at + 1].text.strip().startswith("DuckDB 2.0 makes its cosine similarity NaN")
    assert page.told >= 2


def test_a_row_that_is_cut_is_told_whole_under_the_cursor() -> None:
    long = UnusableRow("a/very/long/path/" * 5, Flaw.NOT_FINITE, "element 1 is infinity, and 300 more are not finite")
    page = page_of(faulty(unusable=(long,), missing=0, zero=0, non_finite=1), selected=1)
    below = page.lines[page.stops[1] + 1 :][: page.told]
    told = " ".join(line.text.strip() for line in below)
    assert long.id in told.replace(" ", "")
    assert "and 300 more are not finite" in told


def test_only_the_first_rows_are_listed_and_the_rest_is_counted() -> None:
    lines = texts(page_of(faulty(zero=2_000)))
    assert any("first 4 of 2,003" in text for text in lines)
    assert any("1,999 more are not listed" in text for text in lines)


def test_sound_vectors_are_said_to_be_usable_and_nothing_can_be_chosen() -> None:
    page = page_of(FakeNamespace("handbook", lengths_=[1] * 8_214))
    assert next(text for text in texts(page) if text) == "✓ all 8,214 vectors are usable"
    assert page.stops == []


def test_two_spaces_stand_apart_with_letters_counts_and_shares() -> None:
    counts = (FingerprintCount("ada@384", 3_310), FingerprintCount("small@384", 792))
    lines = texts(page_of(FakeNamespace("faq", lengths_=[1] * 4_102, counts=counts)))
    assert any("792 of 4,102 in another space" in text for text in lines)
    assert [text[:12] for text in lines if text.startswith(("A ", "B "))] == ["A ada@384   ", "B small@384 "]
    assert any("80.7 %" in text for text in lines)
    assert any("19.3 %" in text for text in lines)


def test_expired_rows_are_counted_beside_the_unusable_ones() -> None:
    lines = texts(page_of(faulty(expired=12)))
    assert any(text.startswith("○ expired") and "12" in text for text in lines)


@pytest.mark.parametrize("width", [40, 60, 76, 84, 130])
@pytest.mark.parametrize("signs", [UNICODE, ASCII])
def test_no_line_is_wider_than_the_page(width: int, signs: object) -> None:
    bins = NormBins(0.5, 2.0, tuple(place % 17 for place in range(1_000)))
    namespace = faulty(norm_bins=bins, norms=NormSpread(0.0, 1.0, 2.0))
    report = check_namespace(namespace, CheckOptions(), NOW_MS)
    for selected in range(7):
        page = vectors_page(report, Listing(ROWS), Frame(width, 35, signs, True, selected))  # type: ignore[arg-type]
        assert max(line.cells for line in page.lines) <= width


def test_every_norm_is_seen_however_few_there_are() -> None:
    counts = [0] * 1_000
    counts[0], counts[500], counts[999] = 1, 1_000_000, 1
    lines = norm_chart(NormBins(0.5, 2.0, tuple(counts)), 84, 4, UNICODE)
    lowest = lines[3].text
    assert (lowest[0], lowest[83]) != (" ", " ")
    assert sum(character != " " for character in lowest) == 3
    assert lines[5].text.startswith("0.5000")
    assert lines[5].text.endswith("2.0000")


def test_norms_that_all_read_the_same_are_not_drawn() -> None:
    assert norm_chart(NormBins(0.99999999, 1.00000001, (1, 2, 3)), 84, 4, UNICODE) == []


def reader(namespace: FakeNamespace) -> FakeReader:
    return FakeReader({"faq.duckdb": FakeSource("faq.duckdb", (namespace,))})


@pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])
async def test_a_digit_leads_to_the_rows_and_an_id_is_copied(size: tuple[int, int]) -> None:
    async with driven(reader(faulty()), size=size) as driver:
        await driver.go_to("faq")
        await driver.press("4")
        await driver.until(lambda: "faq#118" in driver.text)
        await driver.press("enter", "y")
        assert driver.app.clipboard == "faq#118"


async def test_a_kind_leads_to_its_first_row() -> None:
    async with driven(reader(faulty())) as driver:
        await driver.go_to("faq")
        await driver.press("4")
        await driver.until(lambda: "faq#118" in driver.text)
        await driver.press("down", "enter", "y")
        assert driver.app.clipboard == "faq#571"


async def test_looking_up_can_be_stopped_and_begun_again() -> None:
    gate, asked = threading.Event(), threading.Event()
    namespace = faulty()

    def slowly(limit: int, job: object = None) -> tuple[UnusableRow, ...]:
        asked.set()
        namespace.gate = gate
        namespace._work(job)  # type: ignore[arg-type]
        return ROWS

    namespace.unusable_rows = slowly  # type: ignore[method-assign]
    async with driven(reader(namespace)) as driver:
        await driver.go_to("faq")
        await driver.press("4")
        await driver.until(asked.is_set)
        assert "looking up unusable rows" in driver.text
        await driver.press("escape")
        await driver.until(lambda: "looking up was stopped" in driver.text)
        gate.set()
        await driver.press("r")
        await driver.until(lambda: "faq#118" in driver.text)


async def test_ids_of_a_file_are_inert() -> None:
    hostile = UnusableRow("[/red]\x1b[31mid\x1b]52;c;AA\x07", Flaw.ZERO, "all 4 elements are 0")
    async with driven(reader(faulty(unusable=(hostile,)))) as driver:
        await driver.go_to("faq")
        await driver.press("4")
        await driver.until(lambda: "[/red]" in driver.text)
        assert "\x1b" not in driver.text
