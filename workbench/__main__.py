"""The entry point: answers ``--version`` before anything else is imported, and hands all else to the commands."""

import sys


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
    from workbench.cli.main import run

    raise SystemExit(run())


if __name__ == "__main__":
    main()
