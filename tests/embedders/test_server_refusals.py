"""What servers say, as they say it, and what it means."""

from __future__ import annotations

import json

import pytest

from workbench.embedders.failures import BatchTooLarge, InputTooLong, Refusal, RequestRefused
from workbench.embedders.server_refusals import Reply, refusal_of


def meaning(status: int, body: object, inputs: int = 4) -> object:
    text = body if isinstance(body, str) else json.dumps(body)
    return refusal_of(Reply(status, text, inputs, "host", "model", 1_000))


TOO_LONG = [
    (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens, however you requested 17143 tokens "
                "(17143 in your prompt; 0 for the completion). Please reduce your prompt; or completion length.",
                "type": "invalid_request_error",
            }
        },
        (8192, 17143),
    ),
    (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 512 tokens. However, you requested 900 tokens in the "
            "input for embedding generation. Please reduce the length of the input.",
            "code": 400,
        },
        (512, 900),
    ),
    (400, {"error": "the input length exceeds the context length"}, (None, None)),
    (500, {"error": "the input length exceeds the context length"}, (None, None)),
    (
        500,
        {
            "error": {
                "code": 500,
                "message": "input (992 tokens) is too large to process. increase the physical batch size "
                "(current batch size: 512)",
                "type": "server_error",
            }
        },
        (512, 992),
    ),
    (
        413,
        {
            "error": "Input validation error: `inputs` must have less than 512 tokens. Given: 785",
            "error_type": "Validation",
        },
        (512, 785),
    ),
]


@pytest.mark.parametrize(("status", "body", "numbers"), TOO_LONG)
def test_too_long_is_understood_whatever_the_status(
    status: int, body: object, numbers: tuple[int | None, int | None]
) -> None:
    found = meaning(status, body)
    assert isinstance(found, InputTooLong)
    assert (found.limit_tokens, found.given_tokens, found.index) == (*numbers, None)
    alone = meaning(status, body, inputs=1)
    assert isinstance(alone, InputTooLong)
    assert alone.index == 0


BATCHES = [
    (400, {"message": "Too many tokens in batch. Max is 16384 got 17555"}, ("tokens", 16384, 17555)),
    (400, {"message": "Too many tokens overall, split into more batches.", "code": "3210"}, ("tokens", None, None)),
    (422, {"error": "batch size 33 > maximum allowed batch size 32"}, ("inputs", 32, 33)),
    (400, {"error": {"message": "Requested 400000 tokens, max 300000 tokens per request"}}, ("tokens", 300000, 400000)),
    (413, "<html><center>413 Request Entity Too Large</center></html>", ("inputs", None, None)),
    (
        429,
        {
            "error": {
                "message": "Request too large for text-embedding-3-small in organization org on tokens per min (TPM): "
                "Limit 40000, Requested 50000.",
                "code": "rate_limit_exceeded",
            }
        },
        ("tokens", 40000, 50000),
    ),
]


@pytest.mark.parametrize(("status", "body", "said"), BATCHES)
def test_a_batch_that_is_too_large_is_no_text_that_is_too_long(
    status: int, body: object, said: tuple[str, int | None, int | None]
) -> None:
    found = meaning(status, body)
    assert isinstance(found, BatchTooLarge)
    assert (found.unit, found.limit, found.given) == said
    assert isinstance(meaning(status, body, inputs=1), InputTooLong)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, {"error": {"message": "Rate limit reached for text-embedding-3-small: the input exceeds 3 a minute"}}),
        (429, ""),
        (500, {"error": "out of memory"}),
        (500, "<html>Internal Server Error</html>"),
        (502, "<html>"),
        (503, {"error": "Model text-embedding is overloaded; the input queue exceeds its limit"}),
        (424, {"error": "backend"}),
        (408, ""),
    ],
)
def test_what_may_pass_is_no_refusal(status: int, body: object) -> None:
    assert meaning(status, body) is None


@pytest.mark.parametrize(
    ("status", "body", "refusal"),
    [
        (401, {"error": {"message": "Incorrect API key provided: sk-abc"}}, Refusal.KEY),
        (403, "", Refusal.KEY),
        (402, {"error": "pay first"}, Refusal.QUOTA),
        (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, Refusal.QUOTA),
        (404, {"error": "model 'nomic' not found, try pulling it first"}, Refusal.MODEL),
        (404, "<html>Not Found</html>", Refusal.ADDRESS),
        (405, "", Refusal.ADDRESS),
        (301, "", Refusal.ADDRESS),
        (400, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, Refusal.REQUEST),
        (422, [1, 2], Refusal.REQUEST),
        (501, "", Refusal.REQUEST),
        (400, "[" * 100_000, Refusal.REQUEST),
    ],
)
def test_what_never_passes_is_a_refusal_of_its_kind(status: int, body: object, refusal: Refusal) -> None:
    found = meaning(status, body)
    assert isinstance(found, RequestRefused)
    assert (found.refusal, found.status) == (refusal, status)
    assert len(str(found)) < 600
    assert "sk-abc" not in str(found)
