"""The entry point: answers ``--version`` before anything else is imported, and hands all else to the commands."""

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:] == ["--version"]:
        from workbench import __version__

        sys.stdout.write(f"workbench {__version__}\n")
        raise SystemExit(0)
    from workbench.cli.main import run

    raise SystemExit(run())


if __name__ == "__main__":
    main()
