"""What LlamaIndex embeds of a node is made from the file's templates as text: nothing of them is run or formatted."""

from __future__ import annotations

import json

import pytest

from workbench.index.adapters.llamaindex_nodes import MOST_CHARS, embedded_text


def node(**fields: object) -> str:
    return json.dumps({"_node_content": json.dumps({"metadata": {"a": "1", "b": 2}, **fields})})


def test_metadata_stands_in_front_of_the_text() -> None:
    assert embedded_text("the text", node()) == "a: 1\nb: 2\n\nthe text"


def test_what_is_excluded_is_left_out_and_nothing_left_is_the_text_alone() -> None:
    assert embedded_text("the text", node(excluded_embed_metadata_keys=["a"])) == "b: 2\n\nthe text"
    assert embedded_text(" the text", node(excluded_embed_metadata_keys=["a", "b"])) == " the text"


def test_templates_and_separator_are_the_nodes_own() -> None:
    said = node(text_template="[{metadata_str}] {content}", metadata_template="{key}={value}", metadata_separator="; ")
    assert embedded_text("the text", said) == "[a=1; b=2] the text"


def test_a_template_is_never_run() -> None:
    said = node(text_template="{content.__class__} {content!r:>99999999} {metadata_str}")
    assert embedded_text("x", said) == "{content.__class__} {content!r:>99999999} a: 1\nb: 2"


def test_what_is_filled_in_is_not_taken_for_a_placeholder() -> None:
    assert embedded_text("{metadata_str}", node(metadata={"k": "{content}"})) == "k: {content}\n\n{metadata_str}"


def test_a_template_that_makes_far_more_of_a_text_is_not_followed() -> None:
    said = node(text_template="{metadata_str}" * 300, metadata={"k": "v" * (MOST_CHARS // 200)})
    assert embedded_text("the text", said) == "the text"


@pytest.mark.parametrize(
    "metadata", [None, "", "{", "[]", "7", '{"_node_content": 7}', '{"_node_content": "["}', "[" * 100_000]
)
def test_without_a_node_the_text_is_what_is_embedded(metadata: str | None) -> None:
    assert embedded_text("the text", metadata) == "the text"
