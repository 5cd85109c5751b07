"""Why an embedder gave no vectors, as types: what can be split, what can be waited for, and what stays wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.embedders.protocol import Vector


class EmbedderError(Exception):
    """A call that gave no vectors for all of its texts. The message is one sentence and never holds a key.

    Attributes:
        finished: in a batch, the vectors of the leading texts that had been answered whole when this one came; they
            need not be asked for again.
    """

    finished: tuple[Vector | None, ...] = ()

    def in_call(self, asked: Sequence[int], texts: int, finished: Sequence[Vector | None] = ()) -> EmbedderError:
        """Say of the texts of a call what is said of those of a request; gives itself.

        ``asked`` are the places in the call of the texts of the request, ``texts`` is how many the call has, and
        ``finished`` what it had answered before.
        """
        self.finished = tuple(finished)
        return self


class InputTooLong(EmbedderError):
    """The server says that a text is longer than the model reads. Asking again gives the same.

    Attributes:
        limit_tokens: how much it reads, ``given_tokens`` how much it was given, where the server says so.
        index: which text of the call it was; None when it was one of several and the server does not say which.
    """

    def __init__(
        self,
        message: str,
        *,
        limit_tokens: int | None = None,
        given_tokens: int | None = None,
        index: int | None = None,
    ) -> None:
        super().__init__(message)
        self.limit_tokens = limit_tokens
        self.given_tokens = given_tokens
        self.index = index

    def in_call(self, asked: Sequence[int], texts: int, finished: Sequence[Vector | None] = ()) -> EmbedderError:
        """Make ``index`` that of the call."""
        self.index = None if self.index is None else asked[self.index]
        return super().in_call(asked, texts, finished)


class BatchTooLarge(EmbedderError):
    """Together the texts are too many or too long for one request; in smaller batches they can be embedded.

    Attributes:
        limit: what one request may hold, ``given`` what it held, in ``unit`` (``inputs`` or ``tokens``); where said.
    """

    def __init__(
        self, message: str, *, unit: str = "inputs", limit: int | None = None, given: int | None = None
    ) -> None:
        super().__init__(message)
        self.unit = unit
        self.limit = limit
        self.given = given


class Refusal(Enum):
    """What a server holds against every request of this kind."""

    KEY = "key"
    MODEL = "model"
    QUOTA = "quota"
    ADDRESS = "address"
    REQUEST = "request"


class RequestRefused(EmbedderError):
    """The server refuses for a reason that asking again does not change: key, model, quota, address, request.

    Attributes:
        refusal: which of these.
        status: the HTTP status; None when it refused in another way.
    """

    def __init__(self, message: str, *, refusal: Refusal, status: int | None = None) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.status = status


class Unavailable(EmbedderError):
    """The server did not answer, or asked to wait, and the retries are used up. Later it may work: pause and resume.

    Attributes:
        attempts: how many requests were sent.
        retry_after_s: how long the server asks to wait; None when it does not say.
    """

    def __init__(self, message: str, *, attempts: int, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.attempts = attempts
        self.retry_after_s = retry_after_s


class Wrong(Enum):
    """What is wrong with an answer."""

    NOT_JSON = "not-json"
    SHAPE = "shape"
    COUNT = "count"
    INDEX = "index"
    MODEL = "model"


class WrongAnswer(EmbedderError):
    """The server answered, and the answer as a whole cannot be used: none of its vectors is kept."""

    def __init__(self, message: str, *, wrong: Wrong) -> None:
        super().__init__(message)
        self.wrong = wrong


class VectorProblem(Enum):
    """What is wrong with one vector."""

    DIMS = "dims"
    NON_FINITE = "non-finite"
    ZERO = "zero"


@dataclass(frozen=True, slots=True)
class BadVector:
    """A vector that must not be stored: the index of its text in the call, and what is wrong with it."""

    index: int
    problem: VectorProblem
    dims: int


class UnusableVectors(EmbedderError):
    """Some vectors of an answer must not be stored.

    Attributes:
        bad: these, by the index of their text in the call.
        vectors: one for each text of the call, None where it is bad or was not asked for yet; the others are good.
            Empty when lengths are wrong: then none of the answer can be trusted.
        expected_dims: the length that was expected; None while it is unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        bad: Sequence[BadVector],
        vectors: Sequence[Vector | None] = (),
        expected_dims: int | None = None,
    ) -> None:
        super().__init__(message)
        self.bad = tuple(bad)
        self.vectors = tuple(vectors)
        self.expected_dims = expected_dims

    def in_call(self, asked: Sequence[int], texts: int, finished: Sequence[Vector | None] = ()) -> EmbedderError:
        """Make ``bad`` and ``vectors`` those of the call."""
        self.bad = tuple(BadVector(asked[each.index], each.problem, each.dims) for each in self.bad)
        if self.vectors:
            whole: list[Vector | None] = [*finished, *[None] * (texts - len(finished))]
            for index, vector in zip(asked, self.vectors, strict=False):
                whole[index] = vector
            self.vectors = tuple(whole)
        return super().in_call(asked, texts, finished)


class NotInstalled(EmbedderError):
    """A local embedder whose extra is not installed; the sentence names the extra."""

    def __init__(self, embedder: str, extra: str) -> None:
        super().__init__(
            f"the embedder '{embedder}' is not installed; it comes with the extra '{extra}': "
            f"pip install 'vector-workbench[{extra}]'"
        )
        self.embedder = embedder
        self.extra = extra
