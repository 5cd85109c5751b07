"""Two embedders that stand in for each other: when that is named a conflict, and what is refused then."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from tests.embedders.legs import Leg
from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider
from workbench.embedders.pairs import EmbedderPairError, PairConflict, conflict_in, pair_conflict, refuse_mixed_write


def pair(ours: tuple[str, int | None], theirs: tuple[str, int | None]) -> AutoFallbackEmbeddingProvider:
    return AutoFallbackEmbeddingProvider(Leg("primary", *ours), Leg("fallback", *theirs))


@pytest.mark.parametrize(
    ("ours", "theirs", "problem"),
    [
        (("m", 768), ("m", 768), None),
        (("m", 768), ("n", 768), "model"),
        (("m", 768), ("m", 256), "dimensions"),
        (("m", 768), ("n", 256), "dimensions"),
        (("m", None), ("m", 256), None),
        (("m", None), ("n", 256), "model"),
        (("m", None), ("n", None), "model"),
    ],
)
def test_a_pair_conflicts_as_fingerprints_do(
    ours: tuple[str, int | None], theirs: tuple[str, int | None], problem: str | None
) -> None:
    conflict = pair_conflict(Leg("primary", *ours), Leg("fallback", *theirs))
    assert (None if conflict is None else conflict.problem) == problem
    assert conflict_in(pair(ours, theirs)) == conflict


def test_a_conflict_names_both_and_why() -> None:
    conflict = pair_conflict(Leg("primary", "ours", 1536), Leg("fallback", "theirs", None))
    assert conflict == PairConflict("ours@1536", "theirs@?", "model")
    assert conflict.message.startswith("'ours@1536' falls back to 'theirs@?', which is another embedder (model: ")


def test_such_a_pair_may_not_write() -> None:
    provider = pair(("ours", 1536), ("theirs", 768))
    with pytest.raises(EmbedderPairError) as refused:
        refuse_mixed_write(provider, "notes")
    message = str(refused.value)
    assert refused.value.code == "ERR_EMBEDDER_PAIR"
    for part in ("refused to write to namespace 'notes'", "ours@1536", "theirs@768", "dimensions", "same model from"):
        assert part in message
    copy = pickle.loads(pickle.dumps(refused.value))
    assert (str(copy), copy.conflict, copy.namespace) == (message, refused.value.conflict, "notes")


def test_one_embedder_and_two_hosts_of_one_model_may_write() -> None:
    refuse_mixed_write(Leg("primary"))
    refuse_mixed_write(pair(("m", 768), ("m", 768)), "notes")


async def test_the_example_of_the_readme_writes_with_one_model_and_refuses_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```py\n(import workbench\n.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    await names["store"](Leg("primary", "m"), Leg("fallback", "m"), {"a": "first", "b": "second"})
    assert '"keys":["a","b"]' in Path("routing.jsonl").read_text("utf-8")
    with pytest.raises(EmbedderPairError):
        await names["store"](Leg("primary", "m"), Leg("fallback", "n"), {"a": "first"})


def test_a_conflict_within_a_leg_is_the_pairs_too() -> None:
    inner = pair(("m", 768), ("n", 768))
    outer = AutoFallbackEmbeddingProvider(Leg("primary", "m", 768), inner)
    assert outer.conflict == inner.conflict
    assert AutoFallbackEmbeddingProvider(inner, Leg("fallback", "m", 768)).conflict == inner.conflict
