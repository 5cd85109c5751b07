"""Real clients for the test server: no waiting, no dice, and everything that they do kept to be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tests.embedders.misbehaving_server import MisbehavingServer
from workbench.embedders.activity import Activity
from workbench.embedders.batching import DEFAULT_LIMITS, BatchLimits
from workbench.embedders.endpoint import Address, Endpoint, Timeouts
from workbench.embedders.keys import KeySource
from workbench.embedders.ollama import OllamaProvider
from workbench.embedders.openai_http import OpenAIProvider
from workbench.embedders.protocol import PrefixPolicy
from workbench.embedders.retrying import RetryPolicy, Time
from workbench.embedders.serving import Served

KEY = "sk-proj-9Zt4QmLw7XcV2bNs8KdR"
VARIABLE = "TEST_EMBEDDER_KEY"

A = TypeVar("A", bound=Activity)


@dataclass
class FakeTime:
    """A clock that only moves when somebody waits."""

    seconds: float = 1_700_000_000.0
    waits: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds

    @property
    def time(self) -> Time:
        """It, as embedders take it; the dice always show the middle."""
        return Time(self.now, self.sleep, lambda: 0.5)


@dataclass
class Watched:
    """What an embedder did."""

    events: list[Activity] = field(default_factory=list)

    def __call__(self, activity: Activity) -> None:
        self.events.append(activity)

    def of(self, kind: type[A]) -> list[A]:
        """Give the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


SHORT = Timeouts(connect_s=5.0, read_s=1.0, whole_s=1.5)
"""For servers that hang: as short as a busy machine still answers within."""

LONG = Timeouts(connect_s=30.0, read_s=30.0, whole_s=60.0)


def openai(
    server: MisbehavingServer,
    *,
    dims: int | None = 64,
    limits: BatchLimits = DEFAULT_LIMITS,
    clock: FakeTime | None = None,
    watched: Watched | None = None,
    retries: int = 3,
    key: KeySource | None = None,
    environment: Mapping[str, str] | None = None,
    policy: PrefixPolicy | None = None,
    send_dimensions: bool = False,
    url: str | None = None,
    timeouts: Timeouts = LONG,
) -> OpenAIProvider:
    """Give a client of the OpenAI-compatible part."""
    served = Served(server.model, dims, send_dimensions, None, policy or PrefixPolicy(), limits)
    return OpenAIProvider(
        served,
        Endpoint(
            Address(url or f"{server.url}/v1"), key, timeouts=timeouts, environment=environment or {VARIABLE: KEY}
        ),
        retries=RetryPolicy(retries),
        clock=(clock or FakeTime()).time,
        observer=watched or Watched(),
    )


def ollama(server: MisbehavingServer, *, dims: int | None = 64, watched: Watched | None = None) -> OllamaProvider:
    """Give a client of Ollama's own interface."""
    return OllamaProvider(
        Served(server.model, dims),
        Endpoint(Address(server.url), timeouts=LONG),
        retries=RetryPolicy(3),
        clock=FakeTime().time,
        observer=watched or Watched(),
    )
