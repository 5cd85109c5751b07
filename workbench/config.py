"""workbench.toml: where it is looked for, what it may say, and the embedders that it names as typed values."""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config_reading import ConfigurationError, read_embedders

if TYPE_CHECKING:
    from workbench.embedders.configured import Configured, LocalEmbedder

FILE_NAME = "workbench.toml"
_MOST_BYTES = 1_000_000


class Origin(Enum):
    """Where a configuration file was found: it decides whether it holds before anybody has looked at it."""

    WORKING_FOLDER = "working folder"
    USER = "user"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file that was read.

    Attributes:
        path: absolute.
        digest: SHA-256 of its bytes, in hex: what was accepted is this content and no other.
        embedders: those that it names, in its order.
    """

    path: Path
    origin: Origin
    digest: str
    embedders: tuple[Configured, ...]


def user_file() -> Path:
    """Give the path of the user's own file, there or not."""
    import platformdirs

    return platformdirs.user_config_path("workbench", appauthor=False) / FILE_NAME


def known_by_name() -> Mapping[str, LocalEmbedder]:
    """Give the embedders that need no configuration, installed or not."""
    from workbench.embedders.opening import LOCAL

    return {each.name: each for each in LOCAL}


def find_files(folder: Path | None = None) -> tuple[ConfigFile, ...]:
    """Read the file of the working folder, then the user's; those that are there.

    Raises:
        ConfigurationError: one of them is damaged or says what nobody understands; the sentence names file and line.
    """
    working = (Path.cwd() if folder is None else folder) / FILE_NAME
    own = user_file()
    found = []
    if not _same(working, own):
        found.append(read_file(working, Origin.WORKING_FOLDER))
    found.append(read_file(own, Origin.USER))
    return tuple(each for each in found if each is not None)


def read_file(path: Path, origin: Origin) -> ConfigFile | None:
    """Read one file; None when it is not there.

    Raises:
        ConfigurationError: it cannot be read, is damaged, or says what nobody understands.
    """
    content = _content(path)
    if content is None:
        return None
    try:
        text = content.decode("utf-8-sig")
        document = tomllib.loads(text)
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is no UTF-8 text, which TOML must be") from None
    except RecursionError:
        raise ConfigurationError(f"{path} is no TOML that can be read: it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is no TOML: {error}") from None
    embedders = read_embedders(path, text, document, known_by_name())
    return ConfigFile(path, origin, hashlib.sha256(content).hexdigest(), embedders)


def _content(path: Path) -> bytes | None:
    """Read the bytes of a regular file, whatever else may bear its name."""
    try:
        # Without waiting: a named pipe that nobody writes to would hold the program for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigurationError(f"{path} is no regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ConfigurationError(f"{path} is larger than a configuration can be ({_MOST_BYTES:,} bytes)")
    return content


def _same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except OSError:
        return a.absolute() == b.absolute()
