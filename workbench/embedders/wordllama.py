"""wordllama: static token embeddings that read text of any length, offline (extra ``local``)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.embedders.activity import Observer, unobserved
from workbench.embedders.failures import NotInstalled
from workbench.embedders.known import WORDLLAMA
from workbench.embedders.local import LocalProvider
from workbench.embedders.tokens import TokenCounter
from workbench.embedders.well_formed import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXTRA = "local"
MODULES = ("wordllama",)


class WordLlamaProvider(LocalProvider):
    """The 256 numbers of wordllama, as its package gives them: not normalised, since producers store them so."""

    def __init__(self, *, observer: Observer = unobserved) -> None:
        super().__init__(WORDLLAMA, observer=observer)
        self._model: Any = None

    @property
    def counter(self) -> TokenCounter | None:
        """Its own tokenizer; nothing is ever cut."""
        return _WholeCounter(self._loaded().tokenizer)

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        return np.asarray(self._loaded().embed([text])[0], dtype=np.float32)

    def _loaded(self) -> Any:  # noqa: ANN401 (the package is optional, and so are its types)
        if self._model is None:
            try:
                package = importlib.import_module("wordllama")
            except ImportError:
                raise NotInstalled(WORDLLAMA.name, EXTRA) from None
            # Its own folder is named as the cache, since by default it looks for its tokenizer in a folder that it
            # does not ship, and then asks the network.
            folder = Path(str(package.__file__)).parent
            self._model = package.WordLlama.load(cache_dir=folder, disable_download=True)
        return self._model


class _WholeCounter:
    """Counts the tokens of a model that reads all of them."""

    name = "wordllama"
    max_tokens: int | None = None

    def __init__(self, tokenizer: Any) -> None:  # noqa: ANN401
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Count as the embedder does, without special tokens."""
        return len(self._tokenizer.encode(well_formed(text), add_special_tokens=False).ids)

    def cut_at(self, text: str) -> int | None:
        """Give None: it reads the text whole."""
        return None

    def cuts_at(self, texts: Sequence[str]) -> list[int | None]:
        """Give None for each."""
        return [None] * len(texts)
