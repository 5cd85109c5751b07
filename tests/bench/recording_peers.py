"""What the slim copy of a recording is held against: the same walk in JavaScript, and a naive one in Python."""

from __future__ import annotations

NODE = """
const { readFileSync } = require('fs');
const path = process.argv[1];
const isVector = (v) => Array.isArray(v) && v.length > 0 && v.every((x) => typeof x === 'number');
const done = new WeakMap();
let count = 0;
const shape = (v) => {
  let sum = 0;
  for (const x of v) sum += x * x;
  count++;
  return { dims: v.length, norm: Math.round(Math.sqrt(sum) * 1e4) / 1e4 };
};
const of = (key, v) => {
  if (key === 'embedding' && isVector(v)) return shape(v);
  if (key === 'embeddings' && Array.isArray(v) && v.some(isVector))
    return v.map((x) => isVector(x) ? shape(x) : walk(x));
  return walk(v);
};
const walk = (v) => {  // parts that hold no vector stay the very same objects, parts that are met again are walked once
  if (v === null || typeof v !== 'object') return v;
  if (done.has(v)) return done.get(v);
  done.set(v, v);
  let out = v;
  if (Array.isArray(v)) {
    for (let i = 0; i < v.length; i++) {
      const x = walk(v[i]);
      if (x !== v[i]) { if (out === v) out = v.slice(); out[i] = x; }
    }
  } else {
    for (const key of Object.keys(v)) {
      const x = of(key, v[key]);
      if (x !== v[key]) { if (out === v) out = { ...v }; out[key] = x; }
    }
  }
  done.set(v, out);
  return out;
};
const text = readFileSync(path, 'utf8');
if (path.endsWith('.jsonl')) for (const line of text.split('\\n')) { if (line) walk(JSON.parse(line)); }
else walk(JSON.parse(text));
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
with open(sys.argv[1], "rb") as file:
    if sys.argv[1].endswith(".jsonl"):
        for line in file: walk(json.loads(line))
    else: walk(json.load(file))
"""
