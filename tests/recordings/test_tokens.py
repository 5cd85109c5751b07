"""How many tokens a model read and wrote stands with its step, where the recording says it."""

from __future__ import annotations

from pathlib import Path

from tests.recordings.traces import batch, span, write
from tests.shared_files import SAMPLES, needs_samples
from workbench.recordings.opening import open_recording
from workbench.sources import show_recording
from workbench.tui.pages.steps import StepLook, step_line
from workbench.tui.recorded import arrange
from workbench.tui.signs import ASCII, UNICODE


@needs_samples
def test_a_call_of_a_model_says_its_tokens() -> None:
    with open_recording(SAMPLES / "agentfootprint" / "rag_summarised.bare.json") as recording:
        assert [each.tokens for each in recording.steps if each.kind == "llm"] == [(91, 7)]
        assert {each.tokens for each in recording.steps if each.kind != "llm"} == {(None, None)}


def test_spans_say_theirs_in_either_convention_and_the_row_shows_them(tmp_path: Path) -> None:
    new = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 2_481, "gen_ai.usage.output_tokens": 96}
    old = {"openinference.span.kind": "LLM", "llm.token_count.completion": 7}
    path = write(tmp_path / "run.json", batch(span("a", "one", attributes=new), span("b", "two", attributes=old)))
    recorded = arrange(show_recording(path))
    assert [row.step.tokens for row in recorded.rows] == [(2_481, 96), (None, 7)]
    for signs, told in ((UNICODE, ("2,481 → 96 tok", "? → 7 tok")), (ASCII, ("2,481 -> 96 tok", "? -> 7 tok"))):
        for row, words in zip(recorded.rows, told, strict=True):
            assert words in step_line(row, recorded, 120, signs, StepLook(0), here=False).text
