"""Makes the pictures of README.md from the running program over the sample data.

    python screenshots/make.py

They are SVG, as Textual draws them: small, sharp, and their text can be searched.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from workbench.core.fingerprint import Fingerprint
from workbench.tui.app import WorkbenchApp
from workbench.tui.reading import FileReader

HERE = Path(__file__).parent
INCOMING = Fingerprint("wordllama", 256)
QUIET_LOOKS = 80
"""So many looks in a row must find nothing being read before a picture is taken."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: its file name without the ending, which namespace it shows, the size in cells, and the theme."""

    name: str
    namespace: str
    size: tuple[int, int]
    theme: str = "workbench-dark"


PICTURES = (
    Picture("overview-120x40", "handbook", (120, 40)),
    Picture("overview-120x40-light", "handbook", (120, 40), "workbench-light"),
    Picture("overview-80x24", "handbook", (80, 24)),
    Picture("unusable-vectors-120x40", "recipes", (120, 40)),
)


async def take(picture: Picture) -> None:
    """Open the sample, wait until all is read, and keep what is drawn."""
    app = WorkbenchApp(
        ("sample_data",), FileReader(None), incoming=INCOMING, namespace=picture.namespace, theme=picture.theme
    )
    async with app.run_test(size=picture.size) as pilot:
        quiet = 0
        while quiet < QUIET_LOOKS:
            await pilot.pause(0.05)
            reading = any(worker.is_running for worker in app.workers)
            quiet = 0 if reading else quiet + 1
        (HERE / f"{picture.name}.svg").write_text(app.export_screenshot(title="workbench"), encoding="utf-8")
    print(f"{picture.name}.svg")


def main() -> None:
    """Take all pictures, from the top of the checkout, so that paths are short."""
    os.chdir(HERE.parent)
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    for picture in PICTURES:
        asyncio.run(take(picture))


if __name__ == "__main__":
    main()
