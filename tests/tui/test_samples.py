"""Every sample, opened by the real reader: what the screen says is what ``check --json`` says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.shared_files import SAMPLES, needs_samples
from tests.tui.driving import Driver
from workbench.checkup.as_json import check_as_json
from workbench.checkup.options import CheckOptions
from workbench.sources import check_paths
from workbench.tui.app import WorkbenchApp
from workbench.tui.draw import number
from workbench.tui.reading import FileReader
from workbench.tui.state import Node
from workbench.tui.verdicts import length_text

_OWN = sorted((Path(__file__).resolve().parents[2] / "sample_data").glob("*.duckdb"))
_SIZE = (120, 60)
_FIRST_CHUNKS = 3


async def _compare(paths: list[Path]) -> None:
    """Open everything, go to every view of every namespace, and look for the numbers of the JSON document."""
    report = check_paths([str(path) for path in paths], CheckOptions())
    said = json.loads(json.dumps(check_as_json(report)))
    app = WorkbenchApp([str(path) for path in paths], FileReader())
    async with app.run_test(size=_SIZE) as pilot:
        driver = Driver(app, pilot)
        await driver.until_read()
        shown = {source.path: source for source in driver.sources}
        for document in said["sources"]:
            source = shown[document["path"]]
            assert (source.trouble is None) == document["readable"]
            if source.trouble is not None:
                assert source.trouble.message == document["message"]
                continue
            assert [space.name for space in source.spaces] == [each["name"] for each in document["namespaces"]]
            for place, namespace in enumerate(document["namespaces"]):
                driver.main.go_to(Node(source=source.key, space=place))
                for digit, wanted in (("1", _overview), ("3", _ceiling), ("4", _vectors)):
                    await driver.press(digit)
                    await driver.until_read()
                    missing = {each for each in wanted(namespace) if not _stands(each, driver.text)}
                    assert not missing, f"{source.label} {namespace['name']} {digit}: {missing}\n{driver.text}"


def _stands(number_: str, text: str) -> bool:
    """Whether a number stands there by itself and not as a part of another one."""
    return re.search(rf"(?<![\d,.]){re.escape(number_)}(?![\d]|[,.]\d)", text) is not None


Document = dict[str, Any]


def _counts(vectors: Document) -> set[str]:
    return {number(vectors[kind]) for kind in ("missing", "zero", "non_finite", "wrong_dims", "expired")} - {"0"}


def _overview(said: Document) -> set[str]:
    """Count, ceiling and what is clipped, what is unusable, what stands twice."""
    wanted = {number(said["count"])} | _counts(said["vectors"])
    clipped = said["clipped"]
    if clipped is not None and clipped["count"]:
        wanted |= {number(clipped["count"]), number(said["ceiling"]["chars"])}
    if said["duplicates"]["ids"]:
        wanted.add(number(said["duplicates"]["ids"]))
    return wanted


def _ceiling(said: Document) -> set[str]:
    """How many are clipped, of how many, by how much, and the longest of them."""
    clipped = said["clipped"]
    if clipped is None or not clipped["count"]:
        return set()
    longest = clipped["chunks"][:_FIRST_CHUNKS]
    return {
        number(each)
        for each in (
            clipped["count"],
            clipped["total"],
            clipped["lost_chars"],
            said["ceiling"]["chars"],
            *(chunk["chars"] for chunk in longest),
            *(chunk["lost"] for chunk in longest),
        )
    }


def _vectors(said: Document) -> set[str]:
    """Each kind of unusable vector, each fingerprint, the norms."""
    if not said["count"]:
        return set()
    wanted = _counts(said["vectors"]) | {number(each["count"]) for each in said["fingerprints"][:6]}
    norm = said["vectors"]["norm"]
    return wanted | (
        {length_text(norm[each]) for each in norm if norm[each] is not None} if norm is not None else set()
    )


@needs_samples
async def test_the_shared_indexes_show_the_numbers_of_check() -> None:
    await _compare(sorted(path for path in (SAMPLES / "indexes").iterdir() if path.name != "MANIFEST.md"))


@needs_samples
async def test_the_seed_librarys_index_shows_the_numbers_of_check() -> None:
    await _compare([SAMPLES / "agentfootprint" / "corpus.db"])


@pytest.mark.skipif(not _OWN, reason="the sample data was not made yet")
async def test_our_own_samples_show_the_numbers_of_check() -> None:
    await _compare(_OWN)
