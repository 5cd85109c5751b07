"""Secrets by the names of their keys and by how they begin, masked wherever a recording is shown or shared."""

from __future__ import annotations

import re

MASK = "[redacted]"

_NAMES = (
    "authorization|proxy[-_ ]?authorization|cookie|set[-_ ]?cookie|password|passwd|passphrase|secret|client[-_ ]?secret"
    "|(?:x[-_ ])?api[-_ ]?key|apikey|x[-_ ]goog[-_ ]api[-_ ]key|access[-_ ]?key|secret[-_ ]?access[-_ ]?key"
    "|private[-_ ]?key|(?:access|refresh|id|auth|session|bearer|security|csrf)[-_ ]?token|token|credentials?"
    "|aws[-_ ]?secret[-_ ]?access[-_ ]?key"
)
_KEY = re.compile(rf"(?:.*[-_. ])?(?:{_NAMES})", re.I | re.S)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\bpa-[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
_AFTER = re.compile(
    r"(?P<before>\b(?:Bearer|Basic)\s+|[?&](?:key|api_key|apikey|token|access_token|sig|signature)="
    rf"|\\*[\"'](?:[\w.-]*[-_.])?(?:{_NAMES})\\*[\"']\s*[:=]\s*\\*[\"'])(?P<secret>[^\s\"'\\&,;]{{6,}})",
    re.I,
)


def find_secrets(value: object) -> dict[tuple[str | int, ...], str]:
    """Find the strings of a parsed value that hold a secret: the way to each, and what may be shown of it.

    Under the name of a secret every string is one, those in lists too; so is the ``value`` beside a ``name`` that says
    so, and the second of two in a list of pairs, as headers are recorded. Numbers never are: counts of tokens survive.
    """
    found: dict[tuple[str | int, ...], str] = {}
    waiting: list[tuple[object, tuple[str | int, ...], str]] = [(value, (), "")]
    while waiting:
        node, path, name = waiting.pop()
        if isinstance(node, dict):
            label = node.get("name", node.get("key"))
            for key, each in node.items():
                under = name_over(key, label)
                if isinstance(each, str | dict | list):
                    waiting.append((each, (*path, key), under))
        elif isinstance(node, list):
            in_list = bool(path) and isinstance(path[-1], int)
            under = (name_in(node) if in_list else "") or name
            waiting += [
                (each, (*path, index), under if index else name)
                for index, each in enumerate(node)
                if isinstance(each, str | dict | list)
            ]
        elif isinstance(node, str):
            shown = mask_under(name, node)
            if shown != node:
                found[path] = shown
    return found


def name_over(key: str, label: object) -> str:
    """Give the name that a field of an object stands under; ``label`` is what the object has as ``name`` or ``key``."""
    return label if key == "value" and isinstance(label, str) else key


def name_in(items: list[object]) -> str:
    """Give the name that the second of two strings stands under, as raw headers are recorded; "" where none does.

    Only of a list that is itself an item of a list: two strings anywhere else are two strings.
    """
    return items[0] if len(items) == 2 and isinstance(items[0], str) and isinstance(items[1], str) else ""


def is_secret_key(name: str) -> bool:
    """Say whether what stands under a key is a secret by the key's name; counts of tokens are none."""
    if len(name) > 200:
        return False
    return bool(_KEY.fullmatch(name) or _KEY.fullmatch(_CAMEL.sub("_", name)))


def mask_text(text: str) -> str:
    """Give text with every secret in it masked that is known by how it begins, or by what stands before it."""
    if len(text) < 8:
        return text
    return _AFTER.sub(rf"\g<before>{MASK}", _SECRET.sub(MASK, text))


def mask_under(name: str, text: str) -> str:
    """Give the text that stands under a key, masked whole when the key's name says that it is a secret."""
    return MASK if text and is_secret_key(name) else mask_text(text)
