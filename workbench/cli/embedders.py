"""Embedders on the command line: found by name, asked about once when a working folder names them, and watched."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from workbench.cli.output import Output, Sign, is_terminal, stderr
from workbench.core.fingerprint import Fingerprint
from workbench.embedders.known import KNOWN_EMBEDDERS, KnownEmbedder

if TYPE_CHECKING:
    from workbench.embedders.activity import Activity
    from workbench.embedders.configured import Configured
    from workbench.embedders.protocol import BuildingProvider
    from workbench.trust import Configuration, TrustQuestion


def find_embedder(name: str) -> Configured:
    """Find an embedder by name. On a terminal, a file of the working folder is asked about once; a pipe accepts none.

    Raises:
        click.ClickException: there is none of this name, its file was not accepted, or a file is damaged.
    """
    from workbench.trust import NotAccepted, UnknownEmbedder

    try:
        return _configuration().find(name)
    except UnknownEmbedder as error:
        raise click.BadParameter(str(error)) from None
    except NotAccepted as waiting:
        if not _accepts(waiting.question):
            raise click.ClickException(str(waiting)) from None
    return find_embedder(name)


def declared_by(name: str) -> KnownEmbedder:
    """Give what an embedder declares of itself, without asking it.

    Raises:
        click.ClickException: as ``find_embedder`` does.
    """
    known = KNOWN_EMBEDDERS.get(name)
    if known is not None:
        return known
    found = find_embedder(name)
    fingerprint = Fingerprint(found.model_id, found.dimensions)
    return KnownEmbedder(name, fingerprint, found.max_input_chars, found.max_input_tokens)


def open_named(name: str) -> BuildingProvider:
    """Make the provider of this name; it has asked nobody yet.

    Raises:
        click.ClickException: there is none, it was not accepted, it is not installed, or its log cannot be written.
    """
    from workbench.embedders.failures import NotInstalled
    from workbench.embedders.opening import open_embedder
    from workbench.routing.log_writing import RoutingLogError

    try:
        return open_embedder(find_embedder(name))
    except (NotInstalled, RoutingLogError) as error:
        raise click.ClickException(str(error)) from None


class Narration:
    """Says on stderr what an embedder waits for and why it asks again; requests that go well need no word."""

    def __init__(self, out: Output | None = None) -> None:
        self._out = stderr() if out is None else out

    def __call__(self, activity: Activity) -> None:
        """Take in one event."""
        from workbench.embedders.activity import BatchSplit, Retrying, Waiting

        match activity:
            case Waiting():
                asked = ", as asked" if activity.asked else ""
                self._out.verdict(Sign.NOTE, f"{activity.reason}; waiting {activity.seconds:.1f} s{asked}", indent=0)
            case Retrying():
                self._out.verdict(Sign.NOTE, f"asking again ({activity.number} of {activity.most})", indent=0)
            case BatchSplit():
                self._out.verdict(Sign.NOTE, f"{activity.reason}; going on in smaller batches", indent=0)


def _configuration() -> Configuration:
    from workbench.config_reading import ConfigurationError
    from workbench.trust import load_configuration

    try:
        return load_configuration()
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from None


def _accepts(question: TrustQuestion) -> bool:
    """Ask a person at a terminal, and remember a yes."""
    from workbench.trust import accept

    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return False
    out = stderr()
    first, *facts = question.facts()
    out.verdict(Sign.WARNING, first, indent=0)
    for fact in facts:
        out.verdict(Sign.NOTE, fact)
    if not click.confirm("accept this content of the file?", default=False, err=True):
        return False
    try:
        accept(question)
    except OSError as error:
        raise click.ClickException(f"what was accepted cannot be remembered: {error.strerror}") from None
    return True
