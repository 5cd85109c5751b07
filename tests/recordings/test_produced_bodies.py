"""Answers of an embedding server and cassettes of them, as LiteLLM's proxy, OpenAI's client and VCR.py wrote them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.recordings.opening import open_recording
from workbench.recordings.slim import Options
from workbench.recordings.summarize import summarize_file

FILES = Path(__file__).parents[1] / "data" / "recordings"
CALL = "embedding wordllama@32, 2 vectors"


def seen(path: Path) -> tuple[str, list[str], list[str]]:
    """Give the format, the steps and the errors of a recording."""
    with open_recording(path) as recording:
        steps = [f"{step.kind} {step.name}" for step in recording.steps]
        return recording.format, steps, [error.message for error in recording.errors]


def check(folder: Path) -> None:
    """Check what is read from the files of a folder."""
    assert seen(folder / "litellm_embeddings.json") == ("provider-body", [CALL], [])
    form, steps, errors = seen(folder / "litellm_answers.jsonl")
    assert (form, errors) == ("provider-body", [])
    assert steps == [CALL, "embedding wordllama@32, 1 vector", CALL]
    assert seen(folder / "litellm_error.json")[0] == "json"
    for name in ("vcrpy_litellm.yaml", "vcrpy_litellm.json"):
        form, steps, errors = seen(folder / name)
        assert form == "vcr"
        assert [step.split("/v1/embeddings: ")[1] for step in steps] == ["another", "wordllama@32, 2 vectors"]
        (error,) = errors
        assert error.startswith("400: /embeddings: Invalid model name")


def test_what_the_producers_wrote_is_read() -> None:
    check(FILES)


@pytest.mark.parametrize(
    "name", ["litellm_embeddings.json", "litellm_answers.jsonl", "vcrpy_litellm.yaml", "vcrpy_litellm.json"]
)
def test_every_vector_in_it_is_summarised_to_the_norm_of_its_numbers(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    found = summarize_file(FILES / name, out, Options(wide=True))
    assert found.vectors == (5 if name.endswith("jsonl") else 2)
    vectors = [each["embedding"] for each in json.loads((FILES / "litellm_embeddings.json").read_text())["data"]]
    text = out.read_text(encoding="utf-8").replace("\\", "")
    for vector in vectors:
        norm = round(sum(each * each for each in vector) ** 0.5, 4)
        assert f'{{"dims":32,"norm":{norm}}}' in text
    assert '"index":1' in text


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("litellm", "openai", "vcr", "wordllama")),
    reason="needs the programs that write these files: litellm[proxy], openai, vcrpy, wordllama",
)
def test_the_producers_still_write_what_is_read(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(FILES / "make_litellm.py"), str(tmp_path)], check=True, timeout=120)
    check(tmp_path)
