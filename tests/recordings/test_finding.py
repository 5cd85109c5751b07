"""Finding a text in a recording: where it stands, what is not searched, and that it ends when it is asked to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.core.job import Cancelled, Job
from workbench.recordings import finding
from workbench.recordings.browsing import InMemory
from workbench.recordings.finding import Hit, Part, find_in
from workbench.recordings.model import Span, Step
from workbench.recordings.opening import open_recording


def step(n: int, span: Span, name: str = "work", key: str | None = None) -> Step:
    return Step(n, None, False, "span", name, "ok", None, None, None, (span,), key)


def hits_in(needle: str, *payloads: object, **named: str) -> list[Hit]:
    """Search steps with these payloads, bytes as they are and anything else as JSON."""
    data, steps = b"", []
    for n, payload in enumerate(payloads, 1):
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        steps.append(step(n, Span(len(data), len(data) + len(raw)), **named))
        data += raw + b"\n"
    found: list[Hit] = []
    assert find_in(InMemory(data), steps, needle, Job(), found.append)
    return found


def places(hit: Hit) -> list[int]:
    return [each.place for each in hit.way.steps()] if hit.way is not None else []


def test_names_and_ids_of_steps_are_found() -> None:
    assert [each.part for each in hits_in("LOOK", {}, name="lookup", key="look-1")] == [Part.NAME, Part.ID]


def test_keys_and_values_are_found_with_the_way_to_them() -> None:
    found = hits_in("refund", {"a": [1, {"Refund": 2, "b": "no refunds"}]}, {"c": "REFUND"})
    assert [(each.step, each.part, places(each)) for each in found] == [
        (1, Part.KEY, [0, 1, 0]),
        (1, Part.VALUE, [0, 1, 1]),
        (2, Part.VALUE, [0]),
    ]


def test_numbers_words_and_escaped_letters_are_found() -> None:
    assert len(hits_in("503", {"status": 503, "few": [1, 503]})) == 2
    assert len(hits_in("true", {"done": True})) == 1
    assert len(hits_in("grüße", b'{"a": "Gr\\u00fc\\u00dfe", "b": "GR\xc3\x9c\xc3\x9fE"}')) == 2
    assert len(hits_in("abc", b'{"a": "\\u0061bc"}')) == 1


def test_a_secret_in_raw_headers_is_not_found() -> None:
    assert len(hits_in("hunter", {"raw": [["x-api-key", "hunter2hunter2"], ["x-game", "hunters"]]})) == 1


def test_json_inside_a_string_is_searched_as_json() -> None:
    inner = json.dumps({"order": {"id": "A-17"}, "note": json.dumps(["A-17 again"])})
    found = hits_in("a-17", {"arguments": inner})
    assert [places(each) for each in found] == [[0, 0, 0], [0, 1, 0]]
    assert [places(each) for each in hits_in("order", {"arguments": inner})] == [[0, 0]]


def test_text_that_only_looks_like_json_is_searched_as_text() -> None:
    (only,) = hits_in("disk", {"log": "[INFO] disk full"})
    assert places(only) == [0]


def test_each_value_of_a_repeated_key_is_found() -> None:
    assert [places(each) for each in hits_in("x", b'{"a": "x1", "a": "x2"}')] == [[0], [1]]


@pytest.mark.parametrize(
    "payload",
    [
        {"api_key": "abcdefgh12345"},
        {"headers": [{"name": "Authorization", "value": "abcdefgh12345"}]},
        {"headers": [{"value": "abcdefgh12345", "name": "Authorization"}]},
        {"text": "sk-abcdefgh12345abcdefgh12345"},
        {"passwords": {"password": ["abcdefgh12345"]}},
    ],
)
def test_what_is_masked_is_not_found(payload: object) -> None:
    assert hits_in("abcdefgh12345", payload) == []


def test_an_excerpt_holds_what_stands_around_and_no_secret() -> None:
    (only,) = hits_in("here", {"t": "x" * 500 + " it is here, Bearer abcdefghijklmnop" + "y" * 500})
    assert "it is here" in only.excerpt
    assert len(only.excerpt) < 120
    assert "abcdefghijklmnop" not in only.excerpt


def test_the_digits_of_a_vector_are_not_searched() -> None:
    assert hits_in("125", {"embedding": [0.125] * 64}) == []
    assert hits_in("abc", {"embedding": "abcABC" * 40}) == []


def test_a_step_within_another_ones_bytes_has_its_hits_alone() -> None:
    data = b'{"name": "outer word", "child": {"name": "inner word"}}'
    inner = data.index(b'{"name": "inner')
    steps = [step(1, Span(0, len(data))), step(2, Span(inner, len(data) - 1))]
    found: list[Hit] = []
    find_in(InMemory(data), steps, "word", Job(), found.append)
    assert [(each.step, places(each)) for each in found] == [(1, [0]), (2, [0])]


def test_values_too_large_for_one_piece_are_searched_child_by_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "NEAR_BYTES", 100)
    monkeypatch.setattr(finding, "_PIECE", 64)
    payload = {"long": "a" * 300 + "needle" + "b" * 300, "list": [{"n": "x" * 90}, {"n": "needle"}], "needle": 1}
    found = hits_in("needle", payload)
    assert [(each.part, places(each)) for each in found] == [
        (Part.VALUE, [0]),
        (Part.VALUE, [1, 1, 0]),
        (Part.KEY, [2]),
    ]


def test_what_is_complete_of_a_damaged_payload_is_searched() -> None:
    assert [places(each) for each in hits_in("word", b'{"a": "word", "b": {"c": "word", "d": "wo')] == [[0], [1, 0]]


def test_a_payload_that_is_no_json_is_searched_as_text() -> None:
    (only,) = hits_in("refund", b"- request:\n    body: a refund\n")
    assert only.way is None
    assert "refund" in only.excerpt


def test_it_stops_after_so_many_hits_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_HITS", 10)
    data = json.dumps(["word"] * 50).encode()
    found: list[Hit] = []
    assert not find_in(InMemory(data), [step(1, Span(0, len(data)))], "word", Job(), found.append)
    assert len(found) == 10


def test_it_ends_when_it_is_cancelled() -> None:
    data = json.dumps({"a": "word"}).encode()
    steps = [step(n, Span(0, len(data)), name="word") for n in range(1, 1_000)]
    job = Job()
    found: list[Hit] = []

    def first(hit: Hit) -> None:
        found.append(hit)
        job.cancel()

    with pytest.raises(Cancelled):
        find_in(InMemory(data), steps, "word", job, first)
    assert len(found) < 200


def test_how_far_it_came_is_told_in_bytes() -> None:
    told: list[tuple[int, int]] = []
    data = b'{"a": 1}'
    steps = [step(n, Span(0, len(data))) for n in range(1, 200)]
    find_in(InMemory(data), steps, "b", Job(lambda done, total: told.append((done, total))), lambda hit: None)
    assert told[0] == (0, 199 * 8)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_nothing_is_found_of_nothing() -> None:
    assert hits_in("", {"a": 1}) == []


def test_a_file_is_searched_as_it_is_opened(tmp_path: Path) -> None:
    given = tmp_path / "run.jsonl"
    given.write_text('{"name": "plan", "text": "hello"}\n{"name": "act", "text": "hello again"}\n')
    found: list[Hit] = []
    add: Callable[[Hit], None] = found.append
    with open_recording(given) as recording:
        find_in(recording.document, recording.steps, "hello", Job(), add)
    assert [each.step for each in found] == [1, 2]
