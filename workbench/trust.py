"""Which configuration files count: one from a working folder says where texts and keys go, so it is asked about first.

A folder from somewhere must not send a key to anywhere. What was accepted is the content of a file, whatever its path:
one changed byte asks again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config import ConfigFile, Origin, find_files, known_by_name
from workbench.embedders.configured import RoutedEmbedder, ServerEmbedder

if TYPE_CHECKING:
    from workbench.embedders.configured import Configured

_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """What a person accepts, or does not, before a file of a working folder counts.

    Attributes:
        path: the file; ``digest`` is that of its content.
        hosts: where texts would be sent.
        variables: the environment variables whose values would be sent, each with the host that gets it.
        logs: the files that would be written, as the file names them.
        unencrypted: those of the hosts that are spoken to without encryption over a network.
    """

    path: Path
    digest: str
    hosts: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    logs: tuple[str, ...]
    unencrypted: tuple[str, ...]

    def facts(self) -> tuple[str, ...]:
        """Give what would happen, a sentence each; the first says why it is asked."""
        said = [f"{self.path} was found in the working folder and counts only when you accept what it does"]
        said += [f"texts would be sent to {host}" for host in self.hosts]
        said += [f"the value of {variable} would be sent to {host}" for variable, host in self.variables]
        said += [f"what is sent to {host} would not be encrypted" for host in self.unencrypted]
        said += [f"a log would be written to {log}" for log in self.logs]
        return tuple(said)


class UnknownEmbedder(Exception):
    """No embedder of this name is configured; ``names`` are those that are."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        super().__init__(f"'{name}' is no known embedder; known are {', '.join(names)}")
        self.name = name
        self.names = names


class NotAccepted(Exception):
    """The name stands in a file of the working folder that nobody has accepted; ``question`` is what to ask."""

    def __init__(self, name: str, question: TrustQuestion) -> None:
        super().__init__(
            f"'{name}' is configured in {question.path}, which counts only when its hosts and variables were accepted; "
            "run the command on a terminal to be asked, or configure it in your own configuration folder"
        )
        self.name = name
        self.question = question


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every embedder that counts, by name, and the files that do not count yet.

    Attributes:
        files: those that were found, the working folder's first.
        embedders: known by name, of the working folder, of the user, in this order; the first of a name wins.
        inert: what has to be accepted before the files that name it count.
    """

    files: tuple[ConfigFile, ...]
    embedders: Mapping[str, Configured]
    inert: tuple[TrustQuestion, ...]

    def find(self, name: str) -> Configured:
        """Give an embedder.

        Raises:
            NotAccepted: only a file that does not count yet names it.
            UnknownEmbedder: nobody does.
        """
        found = self.embedders.get(name)
        if found is not None:
            return found
        waiting = {question.digest: question for question in self.inert}
        for file in self.files:
            if file.digest in waiting and any(embedder.name == name for embedder in file.embedders):
                raise NotAccepted(name, waiting[file.digest])
        raise UnknownEmbedder(name, tuple(self.embedders))


def load_configuration(folder: Path | None = None) -> Configuration:
    """Read the files of the working folder and of the user, and take what counts. Sends nothing, asks nobody.

    Raises:
        ConfigurationError: a file is damaged or says what nobody understands.
    """
    files = find_files(folder)
    accepted = _accepted()
    embedders: dict[str, Configured] = dict(known_by_name())
    inert = []
    for file in files:
        question = question_of(file)
        if question is not None and question.digest not in accepted:
            inert.append(question)
            continue
        for embedder in file.embedders:
            embedders.setdefault(embedder.name, embedder)
    return Configuration(files, embedders, tuple(inert))


def question_of(file: ConfigFile) -> TrustQuestion | None:
    """Say what has to be accepted before a file counts; None for the user's own, and for one that reaches nothing."""
    if file.origin is Origin.USER:
        return None
    servers = list(_servers(file))
    question = TrustQuestion(
        path=file.path,
        digest=file.digest,
        hosts=_once(server.address.host for server in servers),
        variables=tuple(
            dict.fromkeys((server.key.variable, server.address.host) for server in servers if server.key is not None)
        ),
        logs=_once(
            embedder.log for embedder in file.embedders if isinstance(embedder, RoutedEmbedder) and embedder.log
        ),
        unencrypted=_once(server.address.host for server in servers if not server.address.secure),
    )
    return question if question.hosts or question.logs else None


def accept(question: TrustQuestion) -> None:
    """Remember that a person accepted this content. Raises OSError when the user's state folder cannot be written."""
    path = state_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digests = sorted({*_accepted(), question.digest})
    # Written whole beside it and moved over it, so that a kill leaves the old list or the new one.
    descriptor, beside = tempfile.mkstemp(prefix=".accepted-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"accepted": digests}, file, indent=1)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def state_file() -> Path:
    """Give the file that lists what was accepted; it exists once something was."""
    import platformdirs

    return platformdirs.user_state_path("workbench", appauthor=False) / "accepted_configurations.json"


def _accepted() -> frozenset[str]:
    """Read the list; one that cannot be read accepts nothing."""
    try:
        with open(state_file(), "rb") as file:
            document = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return frozenset()
    digests = document.get("accepted") if isinstance(document, dict) else None
    return frozenset(each for each in digests if isinstance(each, str)) if isinstance(digests, list) else frozenset()


def _servers(file: ConfigFile) -> Iterator[ServerEmbedder]:
    for embedder in file.embedders:
        legs = (embedder.primary, embedder.fallback) if isinstance(embedder, RoutedEmbedder) else (embedder,)
        yield from (leg for leg in legs if isinstance(leg, ServerEmbedder))


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
