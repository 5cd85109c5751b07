"""Where the seeds' recorded cases come from, how their encoding reads in Python, and what of them Python cannot say."""

from __future__ import annotations

import array
import datetime
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.shared_files import CONFORMANCE, needs_conformance

OWN = Path(__file__).resolve().parents[1] / "data" / "core"

FOLDERS = [
    pytest.param(OWN, id="own copy"),
    pytest.param(CONFORMANCE, id="shared conformance data", marks=needs_conformance),
]
"""Parameters for a test that runs over both copies of the cases."""

Case = dict[str, Any]


class Live:
    """An instance of somebody's class: nothing to walk into."""

    def __init__(self, entries: dict[str, Any]) -> None:
        self.entries = entries


@dataclass(frozen=True)
class LeftOut:
    """Cases that Python cannot express, by what is in them, and the reason."""

    file: str
    section: str
    what: Callable[[Case], bool]
    reason: str


def spells(case: object, *words: str) -> bool:
    """Say whether one of these JavaScript values stands anywhere in a case."""
    if isinstance(case, dict):
        return case.get("$") in words or any(spells(part, *words) for part in case.values())
    return isinstance(case, list) and any(spells(part, *words) for part in case)


LEFT_OUT = (
    LeftOut("golden_summary.json", "vector", lambda case: spells(case, "hole"), "a list has no holes"),
    LeftOut("golden_summary.json", "walk", lambda case: spells(case, "hole"), "a list has no holes"),
    LeftOut(
        "golden_summary.json", "walk", lambda case: spells(case, "Map"), "a Map is a dict here, and dicts are walked"
    ),
    LeftOut(
        "golden_ceiling.json",
        "resolve",
        lambda case: spells(case, "bigint"),
        "a bigint is no number in JavaScript; here every whole number is an int",
    ),
    LeftOut(
        "golden_fingerprint.json",
        "text",
        lambda case: not isinstance(case["in"].get("id"), str | dict | None) or spells(case["in"]["dims"], "undefined"),
        "an id is a string or None, and dims that are not there at all cannot be passed",
    ),
    LeftOut(
        "golden_fingerprint.json",
        "text",
        lambda case: case["in"].get("id", "") is None,
        "null and undefined are both None here; as undefined it is another case",
    ),
    LeftOut(
        "golden_fingerprint.json",
        "conflict",
        lambda case: any(side.get("id", "") is None for side in (case["stored"], case["incoming"])),
        "an id of null counts as named in JavaScript; None is undefined, which is anonymous",
    ),
    LeftOut(
        "golden_fingerprint.json",
        "conflict",
        lambda case: any(spells(side["dims"], "undefined") for side in (case["stored"], case["incoming"])),
        "dims that are not there at all cannot be passed",
    ),
)
"""Everything left out. The ledger totals of the routing traces 55 to 62 are not core's: the ledger tests them."""


@cache
def _read(path: Path) -> Any:  # noqa: ANN401 (whatever the JSON holds)
    return json.loads(path.read_text("utf-8"))


def traces(folder: Path) -> list[Case]:
    """Give the routing traces."""
    cases: list[Case] = _read(folder / "fallback_traces.json")
    return cases


def cases(folder: Path, file: str, section: str) -> list[Case]:
    """Give the cases of a section that Python can express."""
    out = [entry.what for entry in LEFT_OUT if (entry.file, entry.section) == (file, section)]
    return [case for case in _read(folder / file)[section] if not any(what(case) for what in out)]


_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0, "undefined": None}


def decode(value: object, shared: dict[int, Any] | None = None) -> Any:  # noqa: ANN401 (any value of a case)
    """Turn an encoded JavaScript value into the Python value that stands for it; shared parts become one object."""
    shared = {} if shared is None else shared
    if isinstance(value, list):
        return _fill([], [(None, part) for part in value], shared)
    if not isinstance(value, dict):
        return value
    kind = value.get("$")
    if kind is None:
        return _fill({}, list(value.items()), shared)
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if kind == "ref":
        return shared[value["id"]]
    if kind == "def":
        return _define(value["id"], value["value"], shared)
    if kind in ("object", "null-proto"):
        return _fill({}, [tuple(entry) for entry in value["entries"]], shared)
    if kind == "bigint":
        return int(value["value"])
    if kind == "Float32Array":
        return array.array("f", value["values"])
    if kind == "Date":
        return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    if kind in ("instance", "Number object"):
        return Live({"value": value.get("value"), "entries": value.get("entries")})
    raise AssertionError(f"the cases spell a value that the tests do not know: {kind}")


def _define(name: int, value: object, shared: dict[int, Any]) -> Any:  # noqa: ANN401
    """Make the shared object before its parts, which may refer back to it."""
    if isinstance(value, list):
        shared[name] = []
        return _fill(shared[name], [(None, part) for part in value], shared)
    assert isinstance(value, dict)
    shared[name] = {}
    entries = [tuple(entry) for entry in value["entries"]] if "$" in value else list(value.items())
    return _fill(shared[name], entries, shared)


def _fill(container: Any, entries: list[Any], shared: dict[int, Any]) -> Any:  # noqa: ANN401
    for key, part in entries:
        if isinstance(container, list):
            container.append(decode(part, shared))
        else:
            container[key] = decode(part, shared)
    return container
