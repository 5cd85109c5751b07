"""Recordings as ratios, each against a peer of the same run: first steps, offsets, and the slim copy.

    python tests/bench/bench_recordings.py [MB ...]         # sizes of generated files, 3 and 300 without any

Needs node for the second peer of the slim copy. Times are CPU, children included; the least of three runs.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DIMS = 1_024
WORDS = ("recall", "passage", "rank", "evidence", "score", "document", "chunk", "memory", "stage", "output", "answer")
NODE = """
const { readFileSync } = require('fs');
const isVector = (v) => Array.isArray(v) && v.length > 0 && v.every((x) => typeof x === 'number');
let count = 0;
const shape = (v) => { let s = 0; for (const x of v) s += x * x; count++;
  return { dims: v.length, norm: Math.round(Math.sqrt(s) * 1e4) / 1e4 }; };
const walk = (v) => {
  if (v === null || typeof v !== 'object') return v;
  if (Array.isArray(v)) return v.map(walk);
  const out = {};
  for (const k of Object.keys(v)) {
    const x = v[k];
    out[k] = k === 'embedding' && isVector(x) ? shape(x)
      : k === 'embeddings' && Array.isArray(x) && x.some(isVector) ? x.map((y) => isVector(y) ? shape(y) : walk(y))
      : walk(x);
  }
  return out; };
walk(JSON.parse(readFileSync(process.argv[1], 'utf8')));
console.log(count);
"""
NAIVE = """
import json, math, sys
sys.setrecursionlimit(10_000)
def numeric(v): return isinstance(v, list) and bool(v) and all(type(x) in (int, float) for x in v)
def shape(v):
    s = 0.0
    for x in v: s += x * x
    return {"dims": len(v), "norm": math.floor(math.sqrt(s) * 1e4 + 0.5) / 1e4}
def walk(v):
    if isinstance(v, dict):
        return {k: shape(x) if k == "embedding" and numeric(x) else [shape(y) if numeric(y) else walk(y) for y in x]
                if k == "embeddings" and isinstance(x, list) else walk(x) for k, x in v.items()}
    return [walk(x) for x in v] if isinstance(v, list) else v
walk(json.load(open(sys.argv[1], "rb")))
"""
SLIM = "import sys; from workbench.recordings.summarize import summarize_file; summarize_file(sys.argv[1], sys.argv[2])"
READ = "import sys; open(sys.argv[1], 'rb').read()"
INDEX = """
import sys
from workbench.recordings.document import FileDocument
document = FileDocument(sys.argv[1])
(root,) = document.roots()
print(sum(1 for _ in root.get("events").children()))
document.close()
"""
INDEX_NOTHING = """
import sys
from workbench.recordings.document import FileDocument
document = FileDocument(sys.argv[1])
document._far.is_plain(document.span.__class__(0, 1))
document.close()
"""
LOOK = """
import resource, sys
from workbench.recordings.opening import first_look
import workbench.recordings.readers
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before = cpu()
for _ in range(10):
    recording = first_look(sys.argv[1], steps=50)
    assert len(recording.steps) >= 50
    recording.close()
print((cpu() - before) / 10)
"""


def write(path: Path, size: int) -> None:
    """Write a recording of about ``size`` bytes, 40 % of them vectors."""
    chance = random.Random(7)
    vectors = [json.dumps([chance.gauss(0, 0.03) for _ in range(DIMS)]) for _ in range(16)]
    texts = [" ".join(chance.choice(WORDS) for _ in range(chance.randrange(60, 700))) for _ in range(200)]
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"meta":{"run":"r"},"events":[')
        number = 0
        while file.tell() < size:
            entries = [
                f'{{"id":"d{each}","text":{json.dumps(chance.choice(texts))},"score":{chance.random()},'
                f'"embedding":{chance.choice(vectors)}}}'
                for each in range(chance.choice((0, 0, 0, 0, 3)))
            ]
            more = [json.dumps({"role": "user", "content": chance.choice(texts)}) for _ in range(3)]
            event = f'{{"type":"memory.read","timestamp":{1.7e12 + number},"payload":{{"entries":[{",".join(entries)}]'
            file.write(("," if number else "") + event + f',"messages":[{",".join(more)}]}}}}')
            number += 1
        file.write("]}")


def cpu(*command: str) -> float:
    """Give the CPU seconds of a process and its children, the least of three runs."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def look(path: Path) -> float:
    """Give the CPU seconds of a first look, start-up left out."""
    return min(
        float(subprocess.run([sys.executable, "-c", LOOK, path], check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )


def main(sizes: list[int]) -> None:
    """Generate, measure, print ratios."""
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"rec_{size}.json") for size in sizes]
        for path, size in zip(files, sizes, strict=True):
            write(path, size * 10**6)
        looks = [look(path) for path in files]
        for path, seconds in zip(files, looks, strict=True):
            print(f"{path.name}: first 50 steps {seconds * 1e3:.1f} ms CPU")
        print(f"  first steps, largest against smallest: {looks[-1] / looks[0]:.2f} (at most 1.5)")
        path, out = files[-1], str(Path(folder, "out.json"))
        start = cpu(python, "-c", "pass")
        read = cpu(python, "-c", READ, str(path)) - start
        index = cpu(python, "-c", INDEX, str(path)) - cpu(python, "-c", INDEX_NOTHING, str(path))
        print(f"  offsets {index:.3f} s against read() {read:.3f} s: {index / read:.2f} (at most 1.5)")
        slim = cpu(python, "-c", SLIM, str(path), out)
        naive = cpu(python, "-c", NAIVE, str(path))
        print(
            f"  slim copy {slim:.3f} s against json and a naive walk {naive:.3f} s: {slim / naive:.2f} (at most 0.25)"
        )
        if shutil.which("node") and os.path.getsize(path) < 500_000_000:
            node = cpu("node", "-e", NODE, str(path))
            print(f"  slim copy {slim:.3f} s against node {node:.3f} s: {slim / node:.2f} (at most 0.33)")


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [3, 300])
