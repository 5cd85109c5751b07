"""What kind of failure the log says an error is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.embedders.legs import AbortError, RateLimited
from workbench.embedders.error_types import error_type_of, status_of
from workbench.embedders.failures import (
    BadVector,
    BatchTooLarge,
    InputTooLong,
    NotInstalled,
    Refusal,
    RequestRefused,
    Unavailable,
    UnusableVectors,
    VectorProblem,
    Wrong,
    WrongAnswer,
)


def carrying(error: Exception, **attributes: object) -> Exception:
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("x"), "timeout"),
        (AbortError("x"), "abort"),
        (RateLimited("x"), "429"),
        (carrying(OSError("x"), response=SimpleNamespace(status_code=503)), "503"),
        (carrying(OSError("x"), status=True), "OSError"),
        (carrying(OSError("x"), code="MODEL_MISMATCH"), "MODEL_MISMATCH"),
        (carrying(OSError("x"), code="sk-secret"), "OSError"),
        (ValueError("x"), "ValueError"),
        (InputTooLong("x"), "INPUT_BUDGET_EXCEEDED"),
        (BatchTooLarge("x"), "INPUT_BUDGET_EXCEEDED"),
        (RequestRefused("x", refusal=Refusal.KEY, status=401), "401"),
        (RequestRefused("x", refusal=Refusal.ADDRESS), "HTTP_TERMINAL"),
        (Unavailable("x", attempts=3), "RETRY_EXHAUSTED"),
        (WrongAnswer("x", wrong=Wrong.COUNT), "BATCH_CARDINALITY_MISMATCH"),
        (WrongAnswer("x", wrong=Wrong.MODEL), "MODEL_MISMATCH"),
        (WrongAnswer("x", wrong=Wrong.NOT_JSON), "RESPONSE_SCHEMA_INVALID"),
        (UnusableVectors("x", bad=[BadVector(0, VectorProblem.DIMS, 3)]), "DIMENSION_MISMATCH"),
        (UnusableVectors("x", bad=[BadVector(0, VectorProblem.NON_FINITE, 3)]), "NON_FINITE_VECTOR"),
        (UnusableVectors("x", bad=[BadVector(0, VectorProblem.ZERO, 3)]), "EMPTY_VECTOR"),
        (UnusableVectors("x", bad=[]), "EMPTY_VECTOR"),
        (NotInstalled("a", "b"), "NotInstalled"),
    ],
)
def test_an_error_is_of_a_kind_that_quotes_nothing(error: Exception, kind: str) -> None:
    assert error_type_of(error) == kind


def test_a_status_is_one_of_http_or_none() -> None:
    assert status_of(RateLimited("x")) == 429
    assert status_of(carrying(OSError("x"), status=7)) is None
    assert status_of(OSError("x")) is None
