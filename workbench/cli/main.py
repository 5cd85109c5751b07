"""The command line: which command answers, and with which exit code an outcome ends."""

from __future__ import annotations

import difflib
import errno
import importlib
import keyword
import logging
import os
import re
import sys
from collections.abc import Sequence

import click

from workbench import __version__
from workbench.cli import crash
from workbench.cli.output import Sign, discard, stderr
from workbench.cli.waiting import INTERRUPTED, say_interrupted

_COMMANDS = {
    "open": "indexes, recordings, routing logs and folders, in the terminal",
    "check": "what is wrong with them, as text or as JSON for scripts and CI",
    "show": "a recording as text: steps, retrievals, errors",
    "replay": "a routing log call by call, and what was written where",
    "search": "the exact nearest chunks; refused when the embedder is another",
    "summarize": "a copy of a recording, each vector as its dims and norm",
    "reindex": "a namespace built again: planned, verified, swapped in",
    "label": "who built a namespace that does not say so; proved if asked",
    "import": "any readable index as a native file",
    "demo": "the sample, written to a folder and opened",
    "doctor": "versions, terminal, paths, embedders; how much one of them reads",
}
_OPTIONS = {"version": "--version", "help": "--help"}
_WORD = re.compile(r"[A-Za-z][A-Za-z-]*")
"""What reads as a command and, when nothing of that name is there, is hardly meant as a path."""
_WRONG_USAGE = 2
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Commands(click.Group):
    """Loads a command only when it runs, and takes a path where a command could stand for ``open``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        # "import" is a word of the language, so its module has a line behind the name.
        module = importlib.import_module(f"workbench.cli.{cmd_name}{'_' if keyword.iskeyword(cmd_name) else ''}")
        command = module.command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
@click.version_option(__version__, message="workbench %(version)s")
def group() -> None:
    """Say what goes wrong in retrieval: in an index, in the recording of a run, in a routing log; and mend it.

    \b
    workbench PATH...            open indexes, recordings and routing logs
    workbench check PATH...      the same verdicts as text, or as JSON for scripts
    workbench demo               a sample of all that can be wrong
    """  # noqa: D301 (the \b is click's mark for lines that stay as they are)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code: 0 done, 1 findings or a refusal, 2 wrong usage or unreadable input.

    Never raises; what nobody foresaw is one sentence on stderr, its details in the log.
    """
    crash.keep_details()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        outcome = group.main(_with_command(given), prog_name="workbench", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _refuse(error)
    except (click.Abort, KeyboardInterrupt):
        say_interrupted()
        return INTERRUPTED
    except SystemExit:
        # How click ends when whoever read the help has gone, which is no error.
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            discard(sys.stdout)
            return _refuse(click.ClickException(f"the output could not be written: {error.strerror}"))
        if isinstance(error, FileNotFoundError) and _folder_is_gone():
            return _refuse(click.ClickException("the working folder is not there any more; change to another folder"))
        logging.getLogger("workbench.cli").exception("the command failed")
        stderr().verdict(
            Sign.ERROR,
            f"the program met something that it does not foresee and stopped; nothing was changed. The details are in "
            f"{crash.log_path()}",
            indent=0,
        )
        return _WRONG_USAGE


def _with_command(given: list[str]) -> list[str]:
    """Put ``open`` before a path, an option of it, or ``--``; without anything, ask for help."""
    if not given:
        return ["--help"]
    first = given[0]
    if first in _COMMANDS or first in ("-h", "--help", "--version"):
        return given
    if not first.startswith("-") and not os.path.lexists(first):
        near = _OPTIONS.get(first) or next(iter(difflib.get_close_matches(first, _COMMANDS, n=1)), None)
        if near is not None or _WORD.fullmatch(first):
            likely = f"did you mean workbench {near}?" if near else "workbench --help lists the commands"
            raise click.UsageError(f"{first} is neither a command nor a file; {likely}")
    return ["open", *given]


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _refuse(error: click.ClickException) -> int:
    """Say what is wrong with a command line in one sentence, and where help is."""
    out = stderr()
    out.verdict(Sign.ERROR, _sentence(error), indent=0)
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        out.line(f"   {context.command_path} --help says what it takes")
    return _WRONG_USAGE


def _sentence(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption) and error.option_name in ("--version", "-V"):
        return f"{error.option_name} is no option here; the version is told by: workbench --version"
    return error.format_message()
