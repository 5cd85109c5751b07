"""Options that several commands share, each read strictly and refused in one sentence."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from workbench.core.fingerprint import parse_incoming

if TYPE_CHECKING:
    from workbench.core.fingerprint import Fingerprint
    from workbench.embedders.known import KnownEmbedder

_WHOLE = re.compile(r"[0-9]{1,15}")
_SHOWN_NAMES = 5


def read_incoming(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Fingerprint | None:
    """Read ``ID@DIMS``; ``?@DIMS`` is anonymous."""
    if value is None:
        return None
    try:
        return parse_incoming(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_path(_ctx: click.Context, _param: click.Parameter, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Take a path, or several, as they are; an empty one, usually a variable that was not set, is wrong usage."""
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.UsageError("an empty path names no file; give one, or find out which argument is empty")
    return value


def read_whole(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Read a whole number of at least 1, in plain digits."""
    if value is None:
        return None
    if not _WHOLE.fullmatch(value) or int(value) < 1:
        raise click.BadParameter(f"'{value}' is not a whole number of at least 1")
    return int(value)


def read_embedder(_ctx: click.Context, _param: click.Parameter, value: str | None) -> KnownEmbedder | None:
    """Read the name of an embedder: one that is known by name, or of a configuration; it is not asked anything."""
    if value is None:
        return None
    from workbench.cli.embedders import declared_by

    return declared_by(value)


incoming = click.option(
    "--incoming", metavar="ID@DIMS", callback=read_incoming, help="The embedder about to be used; ?@DIMS is anonymous."
)
max_chunk_chars = click.option(
    "--max-chunk-chars", metavar="N", callback=read_whole, help="How many characters of a chunk the embedder reads."
)
embedder = click.option(
    "--embedder", metavar="NAME", callback=read_embedder, help="An embedder by name: its ceiling, and its fingerprint."
)
json_output = click.option("--json", "as_json", is_flag=True, help="Write one JSON document to stdout.")


def unknown_namespace(name: str, known: Sequence[str]) -> click.UsageError:
    """Refuse a namespace that is not there, and offer the names that are close."""
    if not known:
        return click.UsageError(f"there is no namespace {name}: the index holds none")
    close = difflib.get_close_matches(name, known, n=_SHOWN_NAMES, cutoff=0.5)
    rest = len(known) - _SHOWN_NAMES
    listed = close or list(known[:_SHOWN_NAMES])
    more = f" and {rest:,} more" if not close and rest > 0 else ""
    offered = ", ".join(shlex.quote(each) for each in listed) + more
    return click.UsageError(f"there is no namespace {name}; {'close to it' if close else 'there are'}: {offered}")
