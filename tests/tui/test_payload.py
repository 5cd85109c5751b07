"""The payload of a step as a tree: a level at a time, bounded, vectors as shape, secrets masked, also when copied."""

from __future__ import annotations

import json
import struct
from base64 import b64encode

import pytest

from tests.tui import recording_scene as scene
from tests.tui.fakes import FakeRecording
from workbench.core.job import Job
from workbench.recordings.browsing import InMemory
from workbench.recordings.finding import Hit, find_in
from workbench.recordings.model import Span, Step
from workbench.tui.copying import Copied, copied, copied_all
from workbench.tui.pages.marking import pattern_of
from workbench.tui.pages.payload import payload_line
from workbench.tui.payload import Beyond, Holds, Node, PayloadTree, Sort
from workbench.tui.payload_reading import MOST_UNFOLDED, PAGE, UNFOLDED, make_children, read_payload, reveal, unfold
from workbench.tui.signs import UNICODE


def recording_of(payload: object) -> tuple[FakeRecording, Step]:
    """Give a recording of one step with this payload, bytes as they are."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    step = Step(1, None, False, "span", "only", "ok", None, None, None, (Span(0, len(data)),))
    return FakeRecording(scene.report("x", steps=(step,)), text=data), step


def tree_of(payload: object) -> PayloadTree:
    recording, step = recording_of(payload)
    return read_payload(recording, step, Job())


def lines_of(tree: PayloadTree, width: int = 76) -> list[str]:
    return [payload_line(row, width, UNICODE, here=False).text.rstrip() for row in tree.rows]


def node_at(tree: PayloadTree, path: str) -> Node:
    return next(row.node for row in tree.rows if row.node.path == path and row.beyond is None)


class TestRows:
    """What is shown."""

    def test_a_small_payload_is_unfolded(self) -> None:
        tree = tree_of({"query": "refund", "results": [{"id": "a#1"}, {}]})
        assert [line.split() for line in lines_of(tree)] == [
            ["query", '"refund"'],
            ["▾", "results", "[2]"],
            ["▾", "0", "{1}"],
            ["id", '"a#1"'],
            ["1", "{0}"],
        ]

    def test_a_large_one_only_as_far_as_it_fits(self) -> None:
        tree = tree_of({"head": {"a": 1}, "items": [{"id": at, "parts": ["x"] * 20} for at in range(40)]})
        assert len(tree.rows) <= UNFOLDED
        assert node_at(tree, "head").open
        assert not node_at(tree, "items.39").open

    def test_vectors_stand_as_their_shape_however_they_are_written(self) -> None:
        base64 = b64encode(struct.pack("<64f", *[0.5] * 64)).decode()
        tree = tree_of(
            {"embedding": [3, 4], "numbers": [1.0] * 16, "few": [1, 2, 3], "embeddings": {"float": [[0.5] * 8] * 2},
             "vector": {"dims": 3, "norm": 2}, "data": [{"embedding": base64}]}
        )  # fmt: skip
        shown = {row.node.path: row.node.shown for row in tree.rows if row.node.sort is Sort.VECTOR}
        assert shown == {
            "embedding": "⟨2 dims · norm 5.0000⟩",
            "numbers": "⟨16 dims · norm 4.0000⟩",
            "embeddings.float.0": "⟨8 dims · norm 1.4142⟩",
            "embeddings.float.1": "⟨8 dims · norm 1.4142⟩",
            "vector": "⟨3 dims · norm 2.0000⟩",
            "data.0.embedding": "⟨64 dims · norm 4.0000⟩",
        }

    def test_both_values_of_a_repeated_key_are_there_with_a_badge(self) -> None:
        lines = lines_of(tree_of(b'{"status": 200, "x": 1, "status": 503}'))
        assert [line.split() for line in lines] == [
            ["status", "1", "of", "2", "200"],
            ["x", "1"],
            ["status", "2", "of", "2", "503"],
        ]

    @pytest.mark.parametrize(
        "payload",
        [{"api_key": "abcdefgh123"}, {"headers": [{"name": "Cookie", "value": "abcdefgh123"}]}, ["Bearer abcdefgh123"]],
    )
    def test_secrets_are_masked(self, payload: object) -> None:
        tree = tree_of(payload)
        assert "abcdefgh123" not in "".join(lines_of(tree))
        assert any(row.node.sort is Sort.SECRET for row in tree.rows)

    def test_what_is_no_json_is_text(self) -> None:
        tree = tree_of(b"- request:\n    body: hello\n    token: abc\n")
        (top,) = tree.tops
        assert top.sort is Sort.TEXT
        tree.take([make_children(top, Job())])
        assert [row.node.shown.strip() for row in tree.rows[1:]] == ["- request:", "body: hello", "token: abc"]

    def test_a_text_begins_shortly_before_what_was_searched_for(self) -> None:
        tree = tree_of({"text": "x" * 300 + " needle " + "y" * 300})
        line = payload_line(tree.rows[0], 76, UNICODE, here=False, pattern=pattern_of("NEEDLE"))
        assert "needle" in line.text
        assert [span.text for span in line.spans if span.bold] == ["needle"]

    def test_nothing_of_a_value_commands_the_terminal(self) -> None:
        lines = lines_of(tree_of({"a\x1b[31m": "\x1b]0;t\x07\u202e", "b": "line\nline"}))
        assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(lines))


class TestUnfolding:
    """A level at a time."""

    def test_a_million_children_come_in_pages(self) -> None:
        tree = tree_of(b'{"all": [' + b",".join(b'"%d"' % at for at in range(1_000_000)) + b"]}")
        node = node_at(tree, "all")
        assert node.shown == "[8.89 MB]"
        tree.take([make_children(node, Job())])
        assert len(tree.rows) == PAGE + 2
        assert tree.rows[-1].beyond is Beyond.BEHIND
        assert "more behind the first 200" in lines_of(tree)[-1]
        tree.take([make_children(node, Job(), begin=node.following, place=PAGE, behind=True)])
        assert tree.rows[-2].node.shown == '"399"'

    def test_ten_thousand_levels_are_unfolded_one_by_one(self) -> None:
        tree = tree_of(b'{"deep": ' + b"[" * 10_000 + b"]" * 10_000 + b"}")
        assert len(tree.rows) < 20
        tree.take(unfold(tree, MOST_UNFOLDED, Job(), levels=12))
        assert len(tree.rows) == 12
        assert tree.rows[-1].node.path == "deep" + ".0" * 11

    def test_all_is_unfolded_up_to_a_bound(self) -> None:
        tree = tree_of([{"a": [1, {"b": at}]} for at in range(3_000)])
        tree.take(unfold(tree, MOST_UNFOLDED, Job()))
        assert PAGE < len(tree.rows) <= MOST_UNFOLDED + 2
        tree.fold_all()
        assert len(tree.rows) == PAGE + 1

    def test_json_in_a_string_unfolds_as_json(self) -> None:
        tree = tree_of({"arguments": json.dumps({"order": {"id": 17}}), "log": "[INFO] disk full"})
        node = node_at(tree, "arguments")
        assert node.holds is Holds.JSON
        assert node_at(tree, "log").holds is Holds.NOTHING
        tree.take([make_children(node, Job())])
        order = node_at(tree, "arguments.order")
        tree.take([make_children(order, Job())])
        assert node_at(tree, "arguments.order.id").shown == "17"

    def test_a_long_text_unfolds_into_lines(self) -> None:
        tree = tree_of({"trace": "Traceback\n" + "word " * 40})
        node = node_at(tree, "trace")
        tree.take([make_children(node, Job())])
        lines = [row.node for row in tree.rows if row.node.sort is Sort.LINE]
        assert lines[0].shown == "Traceback"
        assert len(lines) == 4
        assert {line.path for line in lines} == {"trace"}

    def test_what_was_found_is_unfolded_to_however_far_it_is(self) -> None:
        payload = {"args": json.dumps({"deep": [0, {"id": "needle"}]}), "many": [{"n": at} for at in range(9_000)]}
        payload["many"].append({"n": "needle"})  # type: ignore[attr-defined]
        recording, step = recording_of(payload)
        hits: list[Hit] = []
        find_in(recording.document, [step], "needle", Job(), hits.append)
        tree = read_payload(recording, step, Job())
        seen = []
        for hit in hits:
            assert hit.way is not None
            made, node = reveal(tree, hit.span, hit.way.steps(), Job())
            tree.take(made)
            assert node is not None
            assert tree.place_of(node) is not None
            seen.append((node.path, node.shown))
        assert seen == [("args.deep.1.id", '"needle"'), ("many.9000.n", '"needle"')]
        assert any(row.beyond is Beyond.BEFORE for row in tree.rows)
        assert len(tree.rows) < 300

    def test_a_value_that_is_gone_leads_to_what_held_it(self) -> None:
        recording, step = recording_of({"a": [{"b": "needle"}]})
        hits: list[Hit] = []
        find_in(recording.document, [step], "needle", Job(), hits.append)
        tree = tree_of({"a": []})
        assert hits[0].way is not None
        made, node = reveal(tree, 0, hits[0].way.steps(), Job())
        tree.take(made)
        assert node is not None
        assert node.path == "a"


class TestCopying:
    """``y``."""

    def copy_of(self, payload: object, path: str = "") -> Copied:
        tree = tree_of(payload)
        made = copied(node_at(tree, path)) if path else copied_all(tree.tops)
        assert isinstance(made, Copied)
        return made

    def test_a_text_is_copied_whole_and_exactly(self) -> None:
        text = 'line one\n"two" ' + "x" * 9_000
        assert self.copy_of({"t": text}, "t") == Copied(text, "the value")

    def test_a_vector_is_copied_as_its_shape(self) -> None:
        made = self.copy_of({"embedding": [3, 4]}, "embedding")
        assert json.loads(made.text) == {"dims": 2, "norm": 5.0}
        assert made.what == "the summary of a vector"

    def test_secrets_stay_masked_and_that_is_said(self) -> None:
        payload = {"api_key": "abcdefgh123", "n": [1, "Bearer abcdefgh123"], "embedding": [3, 4]}
        made = self.copy_of(payload)
        assert "abcdefgh123" not in made.text
        assert json.loads(made.text)["embedding"] == {"dims": 2, "norm": 5.0}
        assert made.said == "2 values masked as secret, 1 vector as shape"
        assert self.copy_of(payload, "api_key") == Copied("[redacted]", "the value", "the secret masked")

    def test_raw_headers_are_masked_where_they_stand_and_in_copies(self) -> None:
        payload = {"raw": [["x-api-key", "abcdefgh123"], ["accept", "text/html"]]}
        shown = "\n".join(lines_of(tree_of(payload)))
        assert "abcdefgh123" not in shown
        assert "text/html" in shown
        assert self.copy_of(payload, "raw.0.1") == Copied("[redacted]", "the value", "the secret masked")

    def test_what_is_too_large_or_too_deep_is_refused_with_a_way_out(self) -> None:
        tree = tree_of({"big": ["x" * 1_000] * 6_000, "deep": json.loads("[" * 900 + "]" * 900)})
        big = copied(node_at(tree, "big"))
        assert isinstance(big, str)
        assert "unfold it and copy a part" in big
        deep = tree_of(b"[" * 30_000 + b"]" * 30_000)
        assert copied_all(deep.tops) == "it is too deep to copy: unfold it and copy a part"

    def test_a_line_of_a_text_is_copied_alone(self) -> None:
        tree = tree_of({"t": "one\ntwo"})
        tree.take([make_children(node_at(tree, "t"), Job())])
        assert copied(tree.rows[-1].node) == Copied("two", "the line")


def test_reading_a_payload_ends_when_it_is_cancelled() -> None:
    from workbench.core.job import Cancelled

    recording, step = recording_of({"a": 1})
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        read_payload(recording, step, job)


def test_a_text_in_memory_is_like_a_file() -> None:
    text = InMemory(b"[1,2]")
    assert [each.start for each in text.children_of(text.span)] == [1, 3]
