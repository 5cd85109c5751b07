"""Recordings as ratios in one run: first steps, offsets, the slim copy against its peers, memory, the event loop.

    python -m tests.bench.bench_recordings FOLDER [--small 3] [--big 1000] [--peer 500] [--runs 3] [--only PART ...]

Sizes are in MB. Files are generated into FOLDER, which needs room for three times the biggest, and removed one after
the other. Times are CPU, children included, runs interleaved, medians. The peers get a smaller file, since node
cannot hold a text of more than 536,870,888 characters; without node that ratio is left out.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import recording_files
from tests.bench.bench_screens import Job, Measured, measure, say
from tests.bench.measure import Ended, Ratio, process_medians, run_process
from tests.bench.private_memory import most_private_bytes
from tests.bench.recording_files import MB
from tests.bench.recording_peers import NAIVE, NODE

_HUGE_EVENT = 100
_MOST_PRIVATE = 64 << 20
_TIMES_EVENT = 3
_ORDINARY_EVENT = MB
_MOST_LOOK_SECONDS = 0.010
_FORMS = ("json", "jsonl")

_SLIM = (
    "import sys; from workbench.recordings.summarize import summarize_file; summarize_file(sys.argv[1], sys.argv[2])"
)
_SUMMARISE = """
import os, sys
from workbench.recordings.summarize import summarize_to
with open(os.devnull, "wb") as nowhere:
    summarize_to(sys.argv[1], nowhere)
"""
_READ = "import sys; open(sys.argv[1], 'rb').read()"
_INDEX = """
import sys
from workbench.recordings.document import FileDocument
document = FileDocument(sys.argv[1])
nodes = list(document.roots())
if document.form == "json":
    nodes = list(nodes[0].get("events").children())
document.close()
"""
_LOOK = """
import resource, sys
import workbench.recordings.readers
from workbench.recordings.opening import first_look
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before = cpu()
recording = first_look(sys.argv[1], steps=50)
spent = cpu() - before
assert len(recording.steps) >= 50
print(spent)
"""
_OPEN = """
import sys
from workbench.recordings.opening import open_recording
recording = open_recording(sys.argv[1])
print(len(recording.steps))
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for: a folder, sizes in MB, and how many runs."""

    folder: Path
    small: int
    big: int
    peer: int
    runs: int

    def path(self, size: int, form: str) -> Path:
        """Where a generated file is."""
        return self.folder / f"rec_{size}.{form}"


def _python(code: str, *arguments: Path | str) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


def _looks(asked: Asked, form: str) -> bool:
    """Take the first look at a small file and a big one, each time in a fresh process."""
    spent: dict[int, list[float]] = {asked.small: [], asked.big: []}
    for _ in range(4 * asked.runs + 1):
        for size, seconds in spent.items():
            ended: Ended = run_process(_python(_LOOK, asked.path(size, form)))
            seconds.append(float(ended.output))
    small, big = (statistics.median(seconds[1:]) for seconds in spent.values())
    holds = big <= _MOST_LOOK_SECONDS
    print(
        f"{'ok  ' if holds else 'MISS'} first 50 steps of {asked.big} MB of {form}: "
        f"{1e3 * big:.1f} ms CPU beyond start-up (at most {1e3 * _MOST_LOOK_SECONDS:g})"
    )
    names = (f"{asked.big} MB", f"{asked.small} MB")
    return Ratio(f"first 50 steps, {form}", *names, big, small, at_most=1.5).print() and holds


def _offsets(asked: Asked, form: str) -> bool:
    """Find all offsets, beyond what the same does on a file that just needs the other process too."""
    least = recording_files.write(asked.folder / f"least.{form}", 17 * MB)
    commands = {
        "index": _python(_INDEX, asked.path(asked.big, form)),
        "least": _python(_INDEX, least),
        "read": _python(_READ, asked.path(asked.big, form)),
        "python": _python("pass"),
    }
    medians = process_medians(commands, asked.runs)
    least.unlink()
    name = f"offset index of {asked.big} MB of {form}"
    index, read = medians["index"] - medians["least"], medians["read"] - medians["python"]
    return Ratio(name, "beyond start-up", "read() of the file", index, read, at_most=1.5).print()


def _slim(asked: Asked, form: str) -> bool:
    """Summarise a file that the peers walk too, first as they do: written nowhere. Then the copy on the disk."""
    path = recording_files.write(asked.folder / f"peer_{asked.peer}.{form}", asked.peer * MB)
    commands = {
        "summarised": _python(_SUMMARISE, path),
        "naive": _python(NAIVE, path),
        "written": _python(_SLIM, path, asked.folder / "slim"),
    }
    if shutil.which("node"):
        commands["node"] = ["node", "--max-old-space-size=8192", "-e", NODE, str(path)]
    medians = process_medians(commands, asked.runs)
    (asked.folder / "slim").unlink()
    path.unlink()
    bases = {"node": ("JSON.parse and the same walk", 1 / 3), "naive": ("json.loads and a naive walk", 1 / 4)}
    held = []
    for peer, (basis, most) in bases.items():
        if peer in medians:
            name = f"{asked.peer} MB of {form} summarised"
            held.append(Ratio(name, "workbench", basis, medians["summarised"], medians[peer], at_most=most).print())
            print(f"     with the copy written and synced: {medians['written'] / medians[peer]:.2f}")
    return all(held)


def _memory(asked: Asked) -> bool:
    """Hold the private memory of slim copies, and of whole openings, against the largest event."""
    huge = _HUGE_EVENT * MB
    event = recording_files.write_one_event(asked.folder / "one_event.jsonl", huge)
    text = recording_files.write_one_text(asked.folder / "one_text.json", huge)
    ordinary = [(asked.path(asked.big, form), _ORDINARY_EVENT) for form in _FORMS]
    held = []
    for path, largest in (*ordinary, (event, huge), (text, huge)):
        for what, command in (
            ("slim copy", _python(_SLIM, path, asked.folder / "slim")),
            ("offset index", _python(_INDEX, path)),
            ("all steps", _python(_OPEN, path)),
        ):
            most, bound = most_private_bytes(command), _MOST_PRIVATE + _TIMES_EVENT * largest
            held.append(most <= bound)
            print(
                f"{'ok  ' if held[-1] else 'MISS'} {what} of {path.name}: {most / MB:.0f} MB private"
                f" (at most {bound / MB:.0f}: 64 MiB and three times the largest event, {largest / MB:.0f} MB)",
                flush=True,
            )
    for path in (event, text, asked.folder / "slim"):
        path.unlink()
    return all(held)


def _screen(asked: Asked, form: str) -> bool:
    """Open the big file in the program itself, to the end, until esc, and until it is left."""
    found = Measured()
    job = Job(f"opening {asked.big} MB of {form}", ())
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as home:
        for _ in range(asked.runs):
            measure(job, asked.path(asked.big, form), Path(home), found)
    return say(job, found)


_PER_FORM: dict[str, Callable[[Asked, str], bool]] = {
    "looks": _looks,
    "offsets": _offsets,
    "screen": _screen,
    "summary": _slim,
}
_MEMORY = "memory"


def _measured(asked: Asked, parts: Sequence[str]) -> bool:
    """Generate the files, measure the parts, and leave nothing behind."""
    held = []
    paths = [asked.path(size, form) for size in (asked.small, asked.big) for form in _FORMS]
    try:
        for path in paths:
            recording_files.write(path, int(path.stem.rpartition("_")[2]) * MB)
        for part, measured in _PER_FORM.items():
            if part in parts:
                held += [measured(asked, form) for form in _FORMS]
        if _MEMORY in parts:
            held.append(_memory(asked))
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
    return all(held)


def main() -> int:
    """Print every bound; 0 when all hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for name, default in (("small", 3), ("big", 1_000), ("peer", 500), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", nargs="+", choices=[*_PER_FORM, _MEMORY], default=[*_PER_FORM, _MEMORY])
    given = vars(parser.parse_args())
    parts = given.pop("only")
    asked = Asked(**given)
    asked.folder.mkdir(parents=True, exist_ok=True)
    return 0 if _measured(asked, parts) else 1


if __name__ == "__main__":
    sys.exit(main())
