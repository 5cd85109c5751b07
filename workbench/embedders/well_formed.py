"""Text that every tokenizer and every server can read."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Join halves of surrogate pairs that stand together; lone ones, which no encoding holds, become U+FFFD.

    The length in UTF-16 code units stays the same.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
