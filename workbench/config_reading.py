"""The tables of workbench.toml, read strictly: every unknown key and every wrong type is named, with its line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from workbench.core.text import inert

if TYPE_CHECKING:
    from workbench.embedders.configured import Configured, Leg, LocalEmbedder, RoutedEmbedder, ServerEmbedder
    from workbench.embedders.endpoint import Address
    from workbench.embedders.keys import KeySource
    from workbench.embedders.serving import Plain

_V = TypeVar("_V", str, int, bool)

_COMMON = ("kind",)
_SERVER = (
    *_COMMON,
    "model",
    "dimensions",
    "send_dimensions",
    "max_input_chars",
    "base_url",
    "api_key_env",
    "api_key_header",
    "document_prefix",
    "query_prefix",
    "send_input_type",
    "max_batch_inputs",
    "max_batch_chars",
    "timeout_seconds",
    "send",
)
_ROUTED = (*_COMMON, "primary", "fallback", "failure_streak_threshold", "cooldown_ms", "log")
_KEYS = {"openai": _SERVER, "ollama": _SERVER, "auto-fallback": _ROUTED}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_LOOKS_LIKE_A_KEY = re.compile(r"(?:sk|pk|key|pa|hf|AIza)[-_]?[A-Za-z0-9_-]{16,}|[A-Za-z0-9_-]{32,}")
_TYPES = {str: "a string", int: "a whole number", bool: "true or false"}
_OURS = ("model", "input", "encoding_format", "dimensions", "truncate", "input_type")
_WHOLE: Mapping[str, Mapping[str, Plain]] = {"voyage": {"truncation": False}}
"""What a provider must be told so that it refuses what is too long instead of cutting it."""

_OPENAI_URL = "https://api.openai.com/v1"


class ConfigurationError(Exception):
    """A configuration that cannot be used: one sentence that names the file, the line where it can, and the fault."""


@dataclass(frozen=True, slots=True)
class _Table:
    """One ``[embedders.NAME]``: its values, taken out one by one with their types."""

    path: Path
    text: str
    name: str
    values: Mapping[str, object]

    def fault(self, what: str, key: str | None = None) -> ConfigurationError:
        """Say what is wrong, and where."""
        line = _line_of(self.text, self.name, key)
        where = f"{self.path}" if line is None else f"{self.path}, line {line}"
        return ConfigurationError(f"{where}: {inert(what)}")

    def take(self, key: str, kind: type[_V]) -> _V | None:
        """Give a value of this type; None when it is not there."""
        value = self.values.get(key)
        if value is None:
            return None
        if type(value) is not kind:
            raise self.fault(f"{key} must be {_TYPES[kind]}", key)
        return value

    def text_of(self, key: str) -> str | None:
        """Give a text that is not empty."""
        value = self.take(key, str)
        if value is not None and not value.strip():
            raise self.fault(f"{key} is empty", key)
        return value

    def whole(self, key: str, least: int = 1, most: int = 10**12) -> int | None:
        """Give a whole number within bounds."""
        value = self.take(key, int)
        if value is not None and not least <= value <= most:
            raise self.fault(f"{key} must be a whole number of at least {least}", key)
        return value

    def needed(self, key: str) -> str:
        """Give a text that must be there."""
        value = self.text_of(key)
        if value is None:
            raise self.fault(f"the embedder '{self.name}' says no {key}")
        return value


def read_embedders(
    path: Path, text: str, document: Mapping[str, object], known: Mapping[str, LocalEmbedder]
) -> tuple[Configured, ...]:
    """Read all embedders of one file; an auto-fallback may name those of the same file and those known by name.

    Raises:
        ConfigurationError: at the first fault.
    """
    for key in document:
        if key != "embedders":
            raise _Table(path, text, "", {}).fault(f"'{key}' is no part of a configuration; the only one is embedders")
    tables = document.get("embedders", {})
    if not isinstance(tables, dict):
        raise ConfigurationError(f"{path}: embedders must be tables, such as [embedders.small]")
    read: dict[str, Configured] = {}
    routed: list[_Table] = []
    for name, values in tables.items():
        if not isinstance(values, dict):
            raise _Table(path, text, "", {}).fault(f"embedders.{name} must be a table: [embedders.{name}]", name)
        table = _Table(path, text, name, values)
        if name in known:
            raise table.fault(f"'{name}' is known without configuration; name this one otherwise")
        if _kind(table) == "auto-fallback":
            routed.append(table)
        else:
            read[name] = _server(table)
    for table in routed:
        read[table.name] = _routed(table, {**known, **read})
    return tuple(read[name] for name in tables)


def _kind(table: _Table) -> str:
    kind = table.needed("kind")
    if kind not in _KEYS:
        raise table.fault(f"kind '{kind}' is not known; it is one of {', '.join(_KEYS)}", "kind")
    for key in table.values:
        if key not in _KEYS[kind]:
            close = difflib.get_close_matches(key, _KEYS[kind], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            if key in ("api_key", "key", "token"):
                hint = "; keys are not written here: api_key_env names the environment variable that holds it"
            raise table.fault(f"'{key}' is not known for kind {kind}{hint}", key)
    return kind


def _server(table: _Table) -> ServerEmbedder:
    from workbench.embedders.batching import BatchLimits, limits_of
    from workbench.embedders.configured import ServerEmbedder
    from workbench.embedders.models import model_table
    from workbench.embedders.protocol import PrefixPolicy

    kind, model = table.needed("kind"), table.needed("model")
    entry = model_table().find(model)
    dimensions = table.whole("dimensions", most=1_000_000) or (None if entry is None else entry.dims)
    if dimensions is None:
        raise table.fault(f"the model table does not list '{model}': say the length of its vectors as dimensions")
    send = table.take("send_dimensions", bool)
    if send is None:
        # Asked for only where the model is known to make it: other servers refuse, or ignore it.
        send = entry is not None and dimensions in entry.smaller
    hosted = limits_of(None if entry is None or kind == "ollama" else entry.provider)
    limits = BatchLimits(
        table.whole("max_batch_inputs") or hosted.max_inputs, table.whole("max_batch_chars") or hosted.max_chars
    )
    policy = PrefixPolicy(
        table.take("document_prefix", str) or "",
        table.take("query_prefix", str) or "",
        table.take("send_input_type", bool) or False,
    )
    return ServerEmbedder(
        name=table.name,
        kind="ollama" if kind == "ollama" else "openai",
        model=model,
        dimensions=dimensions,
        address=_address(table, kind),
        key=_key(table),
        send_dimensions=send,
        max_input_chars=table.whole("max_input_chars"),
        policy=policy,
        limits=limits,
        read_timeout_s=table.whole("timeout_seconds", most=86_400),
        send=_send(table, None if entry is None else entry.provider),
    )


def _send(table: _Table, provider: str | None) -> tuple[tuple[str, Plain], ...]:
    """Read what else stands in each request; a service that cuts in silence unless told not to is told."""
    given = table.values.get("send", {})
    if not isinstance(given, dict) or not all(isinstance(value, str | int | float) for value in given.values()):
        raise table.fault(
            "send must be a table of strings, numbers and booleans, such as { truncation = false }", "send"
        )
    ours = [key for key in given if key in _OURS]
    if ours:
        raise table.fault(f"send must not hold {', '.join(ours)}: this program puts that there itself", "send")
    return tuple({**_WHOLE.get(provider or "", {}), **given}.items())


def _address(table: _Table, kind: str) -> Address:
    from workbench.embedders.endpoint import Address
    from workbench.embedders.ollama import DEFAULT_URL

    url = table.text_of("base_url") or (DEFAULT_URL if kind == "ollama" else _OPENAI_URL)
    if kind == "ollama":
        # Its own interface lies beside the OpenAI-compatible one.
        url = url.rstrip("/").removesuffix("/v1")
    try:
        return Address(url)
    except ValueError as error:
        raise table.fault(f"base_url: {error}", "base_url") from None


def _key(table: _Table) -> KeySource | None:
    from workbench.embedders.keys import KeySource

    variable, header = table.text_of("api_key_env"), table.text_of("api_key_header")
    if variable is None:
        if header is not None:
            raise table.fault("api_key_header needs api_key_env", "api_key_header")
        return None
    if not _VARIABLE.fullmatch(variable) or (_LOOKS_LIKE_A_KEY.fullmatch(variable) and variable.upper() != variable):
        # What stands there may be a key, so it is not repeated.
        raise table.fault("api_key_env must be the name of an environment variable, never a key", "api_key_env")
    if header is not None and not _HEADER.fullmatch(header):
        raise table.fault("api_key_header is no name of a header", "api_key_header")
    return KeySource(variable) if header is None else KeySource(variable, header)


def _routed(table: _Table, known: Mapping[str, Configured]) -> RoutedEmbedder:
    from workbench.embedders.configured import RoutedEmbedder

    def leg(key: str) -> Leg:
        name = table.needed(key)
        embedder = known.get(name)
        if embedder is None:
            raise table.fault(
                f"{key} names '{name}', which is no embedder of this file; there are {_listed(known)}", key
            )
        if isinstance(embedder, RoutedEmbedder):
            raise table.fault(f"{key} names '{name}', which is an auto-fallback itself", key)
        return embedder

    primary, fallback = leg("primary"), leg("fallback")
    if primary is fallback:
        raise table.fault("primary and fallback are the same embedder", "fallback")
    log = table.text_of("log")
    usual = RoutedEmbedder(table.name, primary, fallback)
    threshold, cooldown = table.whole("failure_streak_threshold"), table.whole("cooldown_ms", least=0)
    return RoutedEmbedder(
        name=table.name,
        primary=primary,
        fallback=fallback,
        failure_streak_threshold=usual.failure_streak_threshold if threshold is None else threshold,
        cooldown_ms=usual.cooldown_ms if cooldown is None else cooldown,
        # Beside the file that names it, wherever the command is run.
        log=None if log is None else str(table.path.parent / log),
    )


def _listed(known: Mapping[str, object]) -> str:
    return ", ".join(known) or "none"


def _line_of(text: str, table: str, key: str | None) -> int | None:
    """Find the line of a table's header, or of one of its keys, as people write them; None when it is not so written.

    TOML can be written in ways that this does not see; a line that is not known is left out.
    """
    header = re.compile(rf"\s*\[\s*embedders\s*\.\s*[\"']?{re.escape(table)}[\"']?\s*\]\s*(#.*)?")
    begins = None if key is None else re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            inside = header.fullmatch(line) is not None
            if inside and begins is None:
                return number
        elif inside and begins is not None and begins.match(line):
            return number
    return None
