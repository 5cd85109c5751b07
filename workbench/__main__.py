"""The entry point: answers ``--version`` before anything else is imported, and hands all else to the commands."""

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:] == ["--version"]:
        from workbench import __version__

        try:
            if sys.stdout is not None:  # closed before the program began
                sys.stdout.write(f"workbench {__version__}\n")
                sys.stdout.flush()
            raise SystemExit(0)
        except OSError:
            pass  # a full disk, or a reader that has gone: the commands know what to say
    try:
        from workbench.cli.main import run

        code = run()
    except KeyboardInterrupt:  # before the commands are there to answer it, or after they have
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        _leave()
    raise SystemExit(code)


def _leave() -> None:
    """End with the code of an interrupt.

    An interrupt inside ``exec`` (which dataclasses are made with) is remembered by Python even when it was caught, and
    a process that ends in the usual way then dies of the signal instead of giving a code.
    """
    import atexit
    import os

    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
