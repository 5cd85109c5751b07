"""What a run spends and waits for, as its embedder tells while it works: requests, tokens, retries, waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from workbench.embedders.activity import Activity, AnswerCame, Observer, RequestSent, Retrying, Waiting, unobserved


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests that were sent, and tokens: as the server counts them where it says so, else estimated."""

    requests: int
    tokens: int


class Meter:
    """Takes in what an embedder does, and passes it on. Used from the embedder's own thread."""

    def __init__(
        self, passed_on: Observer = unobserved, chars_per_token: float = 4.0, on_wait: Callable[[], None] | None = None
    ) -> None:
        self.on_wait = on_wait
        self.retries = 0
        self.counted = False
        self._passed_on = passed_on
        self._chars_per_token = chars_per_token
        self._requests = 0
        self._tokens = 0
        self._waiting: tuple[str, float] | None = None

    def __call__(self, activity: Activity) -> None:
        """Take in one event."""
        match activity:
            case RequestSent():
                self._requests += 1
                self._waiting = None
            case AnswerCame(tokens=tokens):
                self.counted = tokens is not None
                self._tokens += tokens or 0
            case Retrying():
                self.retries += 1
                self._waiting = None
            case Waiting(reason=reason, until=until):
                self._waiting = (reason, until)
        self._passed_on(activity)
        if isinstance(activity, Waiting) and self.on_wait is not None:
            self.on_wait()

    @property
    def waiting(self) -> str | None:
        """What it waits for and how long still, None when it does not."""
        if self._waiting is None:
            return None
        reason, until = self._waiting
        left = until - time.time()
        return f"{reason}; waiting {left:,.0f} s" if left > 0 else None

    def take(self, chars: int) -> Spent:
        """Give what was spent since the last time; ``chars`` code units were sent, for servers that do not count.

        Of requests that overlap, each is in what is taken first, and none in two.
        """
        spent = Spent(self._requests, self._tokens if self.counted else self.estimate(chars))
        self._requests = self._tokens = 0
        return spent

    def estimate(self, chars: int) -> int:
        """Say how many tokens so many code units usually are."""
        return round(chars / self._chars_per_token)
