"""The part of `workbench doctor` about embedders: which files were found, what counts, and what does not fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.fingerprint import Fingerprint, fingerprint_text

if TYPE_CHECKING:
    from workbench.embedders.configured import Configured
    from workbench.trust import Configuration


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence; ``serious`` when something cannot be used as it is configured."""

    text: str
    serious: bool = False


@dataclass(frozen=True, slots=True)
class EmbedderReport:
    """What is configured: the files by where they were found, the embedders by name, and remarks."""

    files: Mapping[str, object]
    embedders: Mapping[str, object]
    remarks: tuple[Remark, ...]


def report_embedders() -> EmbedderReport:
    """Read the configuration; asks nobody, and says of a key only whether its variable is set."""
    from workbench.config import FILE_NAME, user_file
    from workbench.config_reading import ConfigurationError
    from workbench.trust import load_configuration, state_file

    files: dict[str, object] = {"working folder": str(Path.cwd() / FILE_NAME), "user": str(user_file())}
    try:
        configuration = load_configuration()
    except ConfigurationError as error:
        return EmbedderReport(files, {}, (Remark(str(error), serious=True),))
    standing = {file.path: _standing(configuration, file.digest) for file in configuration.files}
    for where, path in files.items():
        files[where] = {"path": path, "state": standing.get(Path(str(path)), "not found")}
    files["accepted"] = str(state_file())
    remarks = [Remark(fact) for question in configuration.inert for fact in question.facts()]
    for embedder in configuration.embedders.values():
        remarks += _remarks_on(embedder)
    embedders = {name: _facts(embedder) for name, embedder in configuration.embedders.items()}
    return EmbedderReport(files, embedders, tuple(remarks))


def _standing(configuration: Configuration, digest: str) -> str:
    inert = any(question.digest == digest for question in configuration.inert)
    return "found, not accepted: it does not count" if inert else "counts"


def _facts(embedder: Configured) -> dict[str, object]:
    from workbench.embedders.configured import LocalEmbedder, RoutedEmbedder, hosts_of
    from workbench.embedders.models import resolve_index_ceiling
    from workbench.embedders.opening import is_installed

    fingerprint = Fingerprint(embedder.model_id, embedder.dimensions)
    ceiling = resolve_index_ceiling(None, embedder.max_input_chars, fingerprint)
    facts: dict[str, object] = {
        "fingerprint": fingerprint_text(fingerprint),
        "ceiling": {"chars": ceiling.chars, "source": ceiling.source},
        "hosts": list(hosts_of(embedder)),
    }
    if isinstance(embedder, LocalEmbedder):
        facts["installed"] = is_installed(embedder)
    elif isinstance(embedder, RoutedEmbedder):
        facts["primary"], facts["fallback"] = embedder.primary.name, embedder.fallback.name
        facts["log"] = embedder.log
    else:
        facts["key"] = None if embedder.key is None else {embedder.key.variable: _is_set(embedder.key.variable)}
    return facts


def _remarks_on(embedder: Configured) -> list[Remark]:
    from workbench.embedders.configured import LocalEmbedder, RoutedEmbedder
    from workbench.embedders.models import model_table
    from workbench.embedders.pairs import pair_conflict

    if isinstance(embedder, LocalEmbedder):
        return []
    if isinstance(embedder, RoutedEmbedder):
        conflict = pair_conflict(embedder.primary, embedder.fallback)
        if conflict is None:
            return []
        return [
            Remark(f"embedder '{embedder.name}': {conflict.message}; it is refused wherever vectors are stored", True)
        ]
    remarks = []
    if embedder.key is not None and not _is_set(embedder.key.variable):
        remarks.append(Remark(f"embedder '{embedder.name}': the variable {embedder.key.variable} is not set"))
    if not embedder.address.secure:
        remarks.append(Remark(f"embedder '{embedder.name}': what is sent to {embedder.address.host} is not encrypted"))
    entry = model_table().find(embedder.model)
    if entry is not None and not entry.makes(embedder.dimensions):
        remarks.append(
            Remark(f"embedder '{embedder.name}': '{embedder.model}' is known to make vectors of {entry.dims:,} numbers")
        )
    if entry is not None and (entry.document_prefix or entry.query_prefix) and not embedder.policy.input_type:
        said = (embedder.policy.document, embedder.policy.query)
        if said != (entry.document_prefix or "", entry.query_prefix or ""):
            remarks.append(
                Remark(
                    f"embedder '{embedder.name}': the model expects document_prefix "
                    f"'{entry.document_prefix or ''}' and query_prefix '{entry.query_prefix or ''}'"
                )
            )
    return remarks


def _is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def fact_text(fact: object) -> str:
    """Write a fact of the report on one line."""
    match fact:
        case {"path": path, "state": state}:
            return f"{path} ({state})"
        case {"fingerprint": fingerprint, "ceiling": ceiling, "hosts": hosts}:
            return f"{fingerprint}, {_ceiling_text(ceiling)}, {_place(fact, hosts)}"
        case _:
            return str(fact)


def _ceiling_text(ceiling: object) -> str:
    match ceiling:
        case {"chars": chars, "source": source}:
            return f"reads {chars:,} characters ({source})"
    return "reads an unknown number of characters"


def _place(fact: object, hosts: object) -> str:
    if isinstance(hosts, list) and hosts:
        return f"at {' and '.join(map(str, hosts))}"
    installed = fact.get("installed", True) if isinstance(fact, dict) else True
    return "on this machine" if installed else "not installed"
