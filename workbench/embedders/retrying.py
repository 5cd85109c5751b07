"""When to ask again: how long to wait after a failure, who says so, and when to give up."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import TypeVar

from workbench.embedders.activity import Observer, Retrying, Waiting
from workbench.embedders.failures import Unavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently. Seconds.

    Attributes:
        retries: how many times the same request is sent again.
        first_s: the longest first wait; it doubles with each retry, up to ``longest_s``, and is spread at random.
        most_asked_s: the longest time that a server may ask to wait before the call gives up instead.
    """

    retries: int = 5
    first_s: float = 1.0
    longest_s: float = 30.0
    most_asked_s: float = 120.0

    def wait(self, retry: int, jitter: float) -> float:
        """Give the wait before a retry (from 1), spread by ``jitter`` (0 to 1) over its upper half."""
        longest = min(self.longest_s, self.first_s * 2.0 ** min(retry - 1, 60))
        return longest * (0.5 + 0.5 * jitter)


@dataclass(frozen=True, slots=True)
class Time:
    """The clock, the wait and the dice, so that tests need none of them. Epoch seconds; ``dice`` gives 0 to 1."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    dice: Callable[[], float] = random.random


class TryAgain(Exception):
    """An attempt failed in a way that may pass. ``asked_s`` is how long the server asks to wait, None when silent."""

    def __init__(self, reason: str, asked_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.asked_s = asked_s


class Gate:
    """One embedder's patience: all its calls wait when one of them was told to wait."""

    def __init__(self, policy: RetryPolicy, time: Time) -> None:
        self._policy = policy
        self._time = time
        self._closed_until = 0.0

    async def wait(self, observer: Observer, reason: str) -> None:
        """Wait, once, for as long as another call was told to."""
        # A clock that goes back must not hold the gate shut: what is left is never more than was asked.
        left = min(self._closed_until - self._time.now(), self._policy.most_asked_s)
        if left > 0:
            observer(Waiting(left, self._time.now() + left, reason, asked=True))
            await self._time.sleep(left)

    async def insist(self, attempt: Callable[[int], Awaitable[T]], observer: Observer) -> T:
        """Make attempts (numbered from 1) until one does not raise TryAgain; every other exception passes through.

        Raises:
            Unavailable: the retries are used up, or the server asks to wait for longer than the policy allows.
        """
        most = self._policy.retries
        for number in range(1, most + 2):
            await self.wait(observer, "another request was told to wait")
            try:
                return await attempt(number)
            except TryAgain as failure:
                failed = failure
            if failed.asked_s is not None:
                self._closed_until = max(self._closed_until, self._time.now() + failed.asked_s)
            if number > most or (failed.asked_s or 0) > self._policy.most_asked_s:
                break
            await self._pause(failed, number, observer)
            observer(Retrying(number, most, failed.reason))
        raise given_up(failed, number)

    async def _pause(self, failed: TryAgain, number: int, observer: Observer) -> None:
        seconds = self._policy.wait(number, self._time.dice())
        if failed.asked_s is not None:
            # A little later than asked: many clients that wake in the same instant are refused together again.
            seconds = failed.asked_s + 0.1 * seconds
        observer(Waiting(seconds, self._time.now() + seconds, failed.reason, asked=failed.asked_s is not None))
        await self._time.sleep(seconds)


def given_up(failed: TryAgain, attempts: int) -> Unavailable:
    """Say that no further attempt is made."""
    asked = failed.asked_s
    wait = "" if asked is None else f"; the server asks to wait {asked:,.0f} s"
    times = "once" if attempts == 1 else f"{attempts:,} times"
    return Unavailable(f"{failed.reason} (tried {times}){wait}", attempts=attempts, retry_after_s=asked)


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Read how long a server asks to wait: ``retry-after-ms``, ``Retry-After`` in seconds or as an HTTP date.

    Gives None when it does not say, or says what cannot be read; a date that has passed is 0.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    try:
        date = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)  # "-0000", which HTTP means as UTC
    try:
        return max(0.0, date.timestamp() - now)
    except (OverflowError, ValueError):
        return None


def _seconds(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
