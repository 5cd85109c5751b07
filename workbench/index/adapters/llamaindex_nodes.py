"""What LlamaIndex embeds of a stored node: its metadata, as the node's own templates set it, in front of the text."""

from __future__ import annotations

import json
from typing import Any

MOST_CHARS = 1_000_000
"""A template that makes more of a text than this is not followed."""

_TEXT_TEMPLATE = "{metadata_str}\n\n{content}"
_METADATA_TEMPLATE = "{key}: {value}"


def embedded_text(text: str, metadata: str | None) -> str:
    """Give what is embedded for a row with this text and this JSON; the text alone where no node says otherwise.

    Templates come from the file: only their own placeholders are filled in, as text, and nothing is formatted.
    """
    node = _node(metadata)
    if node is None:
        return text
    entries = _dict(node.get("metadata", node.get("extra_info")))
    left_out = node.get("excluded_embed_metadata_keys")
    excluded = {str(key) for key in left_out} if isinstance(left_out, list) else set()
    template = _text(node.get("metadata_template", node.get("metadata_tmpl")), _METADATA_TEMPLATE)
    separator = _text(node.get("metadata_separator", node.get("metadata_seperator")), "\n")
    lines = [
        _filled(template, {"key": str(key), "value": _shown(value)})
        for key, value in entries.items()
        if str(key) not in excluded
    ]
    front = separator.join(lines).strip()
    if not front:
        return text
    whole = _filled(
        _text(node.get("text_template", node.get("text_tmpl")), _TEXT_TEMPLATE),
        {"metadata_str": front, "content": text},
    ).strip()
    return whole if len(whole) <= len(text) + MOST_CHARS else text


def _node(metadata: str | None) -> dict[str, Any] | None:
    try:
        said = json.loads(metadata) if metadata else None
        content = said.get("_node_content") if isinstance(said, dict) else None
        node = json.loads(content) if isinstance(content, str) else None
    except (ValueError, RecursionError):
        return None
    return node if isinstance(node, dict) else None


def _filled(template: str, values: dict[str, str]) -> str:
    """Fill in placeholders in one pass, so that what is filled in is never taken for a placeholder."""
    rest, done = template, list[str]()
    while True:
        found = [(at, name) for name in values if (at := rest.find("{" + name + "}")) >= 0]
        if not found:
            return "".join([*done, rest])
        at, name = min(found)
        done += [rest[:at], values[name]]
        rest = rest[at + len(name) + 2 :]


def _shown(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object, usual: str) -> str:
    return value if isinstance(value, str) else usual
