"""Text from files: how long the seed library says it is, where a ceiling cuts it, and what of it is safe to draw."""

from __future__ import annotations

import re

# What a terminal obeys, or what hides or reorders its neighbours without being seen. Zero-width joiner and non-joiner
# (U+200D, U+200C) and variation selectors stay: emoji and several scripts are spelled with them.
_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, delete, C1
    "\u00ad"  # soft hyphen
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, embeddings, overrides, isolates
    "\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff"  # invisible separators and operators
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff"  # halves of a surrogate pair
    "\ufff9-\ufffb\ufffe\uffff"  # interlinear annotation, noncharacters
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # invisible controls of shorthand and music
    "\U000e0000-\U000e007f"  # tags: a whole ASCII alphabet that nobody sees
    "]"
    # A second variation selector in a row varies nothing: it can only carry hidden data.
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)


def inert(text: str, *, keep_newlines: bool = False) -> str:
    """Give ``text`` as it may be drawn: every control, invisible or reordering character turned into a visible one.

    Total and idempotent; plain text comes back unchanged. C0 controls and delete become control pictures (ESC is ␛),
    the others ``⟨U+202E⟩``. ``keep_newlines`` keeps line feeds and tabs, for text that is drawn over several lines.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_visible_or_line if keep_newlines else _visible, text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _visible_or_line(match: re.Match[str]) -> str:
    return match.group() if match.group() in "\n\t" else _visible(match)


def utf16_length(text: str) -> int:
    """Count UTF-16 code units, the seed library's measure of length: a character beyond U+FFFF counts twice."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_split(text: str, units: int) -> tuple[str, str]:
    """Cut ``text`` after ``units`` code units into what is read and what is lost; both together are ``text``.

    A character that straddles the cut is lost whole: half a surrogate pair is no text.
    """
    if units <= 0:
        return "", text
    if text.isascii():
        return text[:units], text[units:]
    end, left = 0, units
    while left > 0 and end < len(text):
        piece = text[end : end + left]
        length = utf16_length(piece)
        if length > left:
            # Half as many characters always fit, since none is longer than two units.
            piece = text[end : end + left // 2]
            length = utf16_length(piece)
        if not piece:
            break
        end += len(piece)
        left -= length
    return text[:end], text[end:]
