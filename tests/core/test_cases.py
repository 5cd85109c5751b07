"""The list of what is left out: each entry names something real, and leaves little out."""

from __future__ import annotations

import json

import pytest

from tests.core.cases import LEFT_OUT, OWN, LeftOut, cases


@pytest.mark.parametrize("entry", LEFT_OUT, ids=lambda entry: f"{entry.section}: {entry.reason}")
def test_what_is_left_out_has_a_reason_and_is_a_small_part(entry: LeftOut) -> None:
    every = json.loads((OWN / entry.file).read_text("utf-8"))[entry.section]
    left_out = [case for case in every if entry.what(case)]
    assert entry.reason
    assert len(left_out) <= len(every) // 4, left_out


def test_most_cases_of_every_section_are_tested() -> None:
    for file, section, at_least in (
        ("golden_fingerprint.json", "parse", 90),
        ("golden_fingerprint.json", "text", 22),
        ("golden_fingerprint.json", "conflict", 150),
        ("golden_fingerprint.json", "errors", 3),
        ("golden_ceiling.json", "resolve", 80),
        ("golden_ceiling.json", "warning", 47),
        ("golden_summary.json", "vector", 85),
        ("golden_summary.json", "walk", 68),
    ):
        assert len(cases(OWN, file, section)) >= at_least, (file, section, len(cases(OWN, file, section)))
