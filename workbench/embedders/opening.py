"""From an embedder as configured to one that can be asked; making it asks nobody."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.embedders import minilm, wordllama
from workbench.embedders.activity import Observer, unobserved
from workbench.embedders.configured import Configured, LocalEmbedder, RoutedEmbedder, ServerEmbedder
from workbench.embedders.endpoint import Endpoint, Timeouts
from workbench.embedders.failures import NotInstalled
from workbench.embedders.known import MINILM, WORDLLAMA
from workbench.embedders.ollama import OllamaProvider
from workbench.embedders.openai_http import OpenAIProvider
from workbench.embedders.retrying import RetryPolicy
from workbench.embedders.serving import Served

if TYPE_CHECKING:
    from workbench.embedders.protocol import BuildingProvider

LOCAL = (LocalEmbedder(WORDLLAMA, wordllama.EXTRA), LocalEmbedder(MINILM, minilm.EXTRA))
"""The embedders that are known by name without configuration."""

_MODULES = {WORDLLAMA.name: wordllama.MODULES, MINILM.name: minilm.MODULES}
_SERVED = {"openai": OpenAIProvider, "ollama": OllamaProvider}

_OF_LEGS = RetryPolicy(retries=2)
"""Less patience than one alone has: another leg stands by."""


def open_embedder(
    configured: Configured, *, observer: Observer = unobserved, warn: Callable[[str], None] | None = None
) -> BuildingProvider:
    """Make the provider. No request is sent, no key is read and no model is loaded before it is asked.

    ``warn`` hears of changes of route in an auto-fallback, by default on stderr.

    Raises:
        NotInstalled: a local embedder whose extra is not installed.
    """
    match configured:
        case LocalEmbedder():
            return _local(configured, observer)
        case ServerEmbedder():
            return _server(configured, observer, RetryPolicy())
        case RoutedEmbedder():
            return _routed(configured, observer, warn)


def is_installed(embedder: LocalEmbedder) -> bool:
    """Whether all that a local embedder needs is installed."""
    return all(importlib.util.find_spec(module) is not None for module in _MODULES[embedder.name])


def _local(configured: LocalEmbedder, observer: Observer) -> BuildingProvider:
    if not is_installed(configured):
        raise NotInstalled(configured.name, configured.extra)
    if configured.name == MINILM.name:
        return minilm.MiniLmProvider(observer=observer)
    return wordllama.WordLlamaProvider(observer=observer)


def _server(configured: ServerEmbedder, observer: Observer, retries: RetryPolicy) -> BuildingProvider:
    served = Served(
        configured.model,
        configured.dimensions,
        configured.send_dimensions,
        configured.max_input_chars,
        configured.policy,
        configured.limits,
        configured.send,
    )
    timeouts = Timeouts()
    if configured.read_timeout_s is not None:
        timeouts = Timeouts(read_s=configured.read_timeout_s, whole_s=max(timeouts.whole_s, configured.read_timeout_s))
    endpoint = Endpoint(configured.address, configured.key, timeouts=timeouts)
    return _SERVED[configured.kind](served, endpoint, retries=retries, observer=observer)


def _leg(configured: LocalEmbedder | ServerEmbedder) -> BuildingProvider:
    if isinstance(configured, LocalEmbedder):
        return _local(configured, unobserved)
    return _server(configured, unobserved, _OF_LEGS)


def _routed(configured: RoutedEmbedder, observer: Observer, warn: Callable[[str], None] | None) -> BuildingProvider:
    from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider
    from workbench.routing.log_writing import RoutingLog

    provider = AutoFallbackEmbeddingProvider(
        _leg(configured.primary),
        _leg(configured.fallback),
        failure_streak_threshold=configured.failure_streak_threshold,
        cooldown_ms=configured.cooldown_ms,
        warn=warn,
        log=None if configured.log is None else RoutingLog(configured.log),
    )
    provider.watch(observer)
    return provider
