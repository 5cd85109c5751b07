"""What every embedder behind a server does alike: batches, prefixes, retries, checks; a subclass only speaks."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.core.text import utf16_length
from workbench.embedders.activity import AnswerCame, BatchSplit, Observer, RequestSent, unobserved
from workbench.embedders.batching import DEFAULT_LIMITS, BatchLimits, next_batch
from workbench.embedders.failures import BatchTooLarge, EmbedderError, Wrong, WrongAnswer
from workbench.embedders.models import model_table
from workbench.embedders.protocol import PrefixPolicy, ProviderHealth, Purpose, Vector
from workbench.embedders.retrying import Gate, RetryPolicy, Time, TryAgain, asked_wait
from workbench.embedders.server_refusals import Reply, reason_of, refusal_of
from workbench.embedders.vectors import checked
from workbench.embedders.well_formed import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.embedders.endpoint import Endpoint, HttpAnswer
    from workbench.embedders.tokens import TokenCounter

Plain = str | int | float | bool
"""A value that a request may hold beside what this package puts there."""

_MOST_DIMS = 16_384
_BYTES_PER_NUMBER = 40
_BYTES_AROUND = 1 << 20
_HEALTH_TEXT = "health"


@dataclass(frozen=True, slots=True)
class Served:
    """A model behind a server, as configured.

    Attributes:
        model: what the server calls it, and the id of the fingerprint.
        dimensions: the length of its vectors; None learns it from the first answer.
        send_dimensions: whether the server is asked for this length.
        max_input_chars: what was declared, in UTF-16 code units.
        send: what else stands in every request, such as a server's own switch against cutting in silence.
    """

    model: str
    dimensions: int | None = None
    send_dimensions: bool = False
    max_input_chars: int | None = None
    policy: PrefixPolicy = field(default_factory=PrefixPolicy)
    limits: BatchLimits = DEFAULT_LIMITS
    send: tuple[tuple[str, Plain], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered: vectors in the order of the texts, its own count of tokens, and the model it names."""

    vectors: tuple[NDArray[np.float32], ...]
    tokens: int | None
    model: str | None


class ServedProvider(ABC):
    """A ``BuildingProvider`` over an endpoint. Subclasses write the request and read the answer."""

    kind: str

    def __init__(
        self,
        served: Served,
        endpoint: Endpoint,
        *,
        retries: RetryPolicy | None = None,
        clock: Time | None = None,
        observer: Observer = unobserved,
    ) -> None:
        self._served = served
        self._endpoint = endpoint
        self._time = clock or Time()
        self._gate = Gate(retries or RetryPolicy(), self._time)
        self._observer = observer
        self._dims = served.dimensions
        self._limits = served.limits
        self._last_error: str | None = None
        self._answered_model: str | None = None

    @property
    def model_id(self) -> str:
        """The id of the fingerprint."""
        return self._served.model

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors: as configured, else as first answered."""
        return self._dims

    @property
    def max_input_chars(self) -> int | None:
        """What was declared."""
        return self._served.max_input_chars

    @property
    def last_error(self) -> str | None:
        """What went wrong in the last call."""
        return self._last_error

    @property
    def batch_limits(self) -> BatchLimits:
        """What one request holds; a refusal of the server may have lowered it."""
        return self._limits

    @property
    def policy(self) -> PrefixPolicy:
        """What is put before documents and queries."""
        return self._served.policy

    @property
    def host(self) -> str | None:
        """The host that texts are sent to."""
        return self._endpoint.address.host

    @property
    def answered_model(self) -> str | None:
        """The model that the server names."""
        return self._answered_model

    @property
    def counter(self) -> TokenCounter | None:
        """Not at hand: the tokenizer is the server's."""
        return None

    def watch(self, observer: Observer) -> None:
        """Tell this observer from now on."""
        self._observer = observer

    async def embed(self, text: str, *, purpose: Purpose) -> Vector | None:
        """Embed one text; the empty text has no embedding. Raises EmbedderError."""
        return (await self.embed_batch([text], purpose=purpose))[0]

    async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
        """Embed texts in as few requests as the server takes, one after the other.

        Raises:
            EmbedderError: a type of ``failures.py``. Its ``finished`` holds what earlier requests of the call brought,
                and its indexes count the texts of this call.
        """
        self._last_error = None
        asked = [index for index, text in enumerate(texts) if text]
        prefix = self.policy.before(purpose)
        sent = [prefix + well_formed(texts[index]) for index in asked]
        vectors: list[Vector | None] = [None] * len(texts)
        done = 0
        try:
            while done < len(sent):
                batch = sent[done : done + next_batch(sent[done:], self._limits)]
                answered = await self._batch(batch, purpose)
                if answered is None:
                    continue
                for index, vector in zip(asked[done : done + len(batch)], answered, strict=True):
                    vectors[index] = vector
                done += len(batch)
        except EmbedderError as error:
            self._last_error = str(error)
            raise error.in_call(asked[done:], len(texts), vectors[: asked[done]]) from None
        return vectors

    async def healthcheck(self) -> ProviderHealth:
        """Embed one short text, at once, without retries and without telling anybody."""
        began = time.perf_counter()
        try:
            answer = await self._attempt([_HEALTH_TEXT], "query")
            dims = len(checked(answer.vectors, self._dims, self._named)[0])
        except (EmbedderError, TryAgain) as error:
            return ProviderHealth(False, self.kind, self.model_id, self._dims, None, str(error))
        return ProviderHealth(True, self.kind, self.model_id, dims, (time.perf_counter() - began) * 1000)

    async def dispose(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    @abstractmethod
    def _request(self, texts: Sequence[str], purpose: Purpose) -> tuple[str, bytes]:
        """Write the path below the address and the body."""

    @abstractmethod
    def _read(self, answer: HttpAnswer) -> Answer:
        """Read an answer of status 200; raises WrongAnswer, or TryAgain when it was cut off."""

    async def _batch(self, texts: Sequence[str], purpose: Purpose) -> list[Vector] | None:
        """Embed one batch; None when the server takes less at once, which is then known for the next."""
        chars = sum(map(utf16_length, texts))

        async def attempt(number: int) -> Answer:
            self._endpoint.check_key()
            self._observer(RequestSent(len(texts), chars, number))
            began = time.perf_counter()
            answer = await self._attempt(texts, purpose)
            self._observer(AnswerCame(len(texts), answer.tokens, time.perf_counter() - began, answer.model))
            return answer

        try:
            answer = await self._gate.insist(attempt, self._observer)
        except BatchTooLarge as refused:
            self._limits = self._limits.lower(refused, len(texts), chars)
            self._observer(BatchSplit(len(texts), str(refused)))
            return None
        good = checked(answer.vectors, self._dims, self._named)
        self._dims = len(good[0])
        return good

    async def _attempt(self, texts: Sequence[str], purpose: Purpose) -> Answer:
        path, body = self._request(texts, purpose)
        most = _BYTES_AROUND + len(texts) * (self._dims or _MOST_DIMS) * _BYTES_PER_NUMBER
        got = await self._endpoint.post(path, body, most_bytes=most)
        if got.status != 200:
            self._refuse(got, texts)
        answer = self._read(got)
        if len(answer.vectors) != len(texts):
            raise WrongAnswer(
                f"{self._named} answered {len(texts):,} texts with {len(answer.vectors):,} vectors", wrong=Wrong.COUNT
            )
        self._same_model(answer.model)
        return answer

    def _refuse(self, got: HttpAnswer, texts: Sequence[str]) -> None:
        text = got.content.decode("utf-8", "replace")
        chars = sum(map(utf16_length, texts))
        host = self._endpoint.address.host
        refused = refusal_of(Reply(got.status, text, len(texts), host, self.model_id, chars))
        if refused is not None:
            raise refused
        raise TryAgain(f"{host} answered {reason_of(got.status, text)}", asked_wait(got.headers, self._time.now()))

    def _same_model(self, model: str | None) -> None:
        if model is None:
            return
        known = self._answered_model
        if known is not None and model != known and not model_table().same_space(model, known):
            raise WrongAnswer(
                f"{self._endpoint.address.host} answered with the model '{model}', and before with "
                f"'{known}'; vectors of two models are not mixed",
                wrong=Wrong.MODEL,
            )
        self._answered_model = known or model

    @property
    def _named(self) -> str:
        return f"'{self.model_id}' at {self._endpoint.address.host}"
