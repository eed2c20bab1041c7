// What the other readers are compared with: the JSON export, added up in the plainest way.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

export const samples = process.argv[2];
export const sample = name => path.join(samples, name);
/** Packages live in the work directory of check.sh. */
export const require = createRequire(path.join(process.env.QUIPU_FORMATS_WORK, 'package.json'));

/** Own and inclusive values by method name, of all threads or of one; recursion counts once. */
export function truth(name, metric, thread) {
  const profile = JSON.parse(fs.readFileSync(sample(`${name}.json`), 'utf8'));
  const { parent, method, self } = profile.nodes;
  const names = profile.methods.map(m => (m.class ? m.class + '.' : '') + m.method);
  const descriptors = profile.methods.map(m => m.descriptor);
  const values = self[metric], methods = new Map();
  let total = 0, inThread = '';
  for (let node = 0; node < values.length; node++) {
    if (parent[node] < 0) inThread = profile.threads.find(t => t.root === node).name;
    if (thread !== undefined && inThread !== thread) continue;
    total += values[node];
    const seen = new Set();
    for (let at = node; at >= 0 && method[at] >= 0; at = parent[at]) {
      const name = names[method[at]];
      if (!methods.has(name)) methods.set(name, { self: 0, total: 0, descriptor: descriptors[method[at]] });
      if (at === node) methods.get(name).self += values[node];
      if (!seen.has(name)) methods.get(name).total += values[node];
      seen.add(name);
    }
  }
  return { profile, methods, total };
}

export const number = text => Number(text.replace(/,/g, ''));

/** Compares a reader's map of name to value with one column of the truth; zeros may be left out. */
export function same(found, methods, column, reader) {
  let compared = 0;
  for (const [name, expected] of methods) {
    if (expected[column] === 0 && !found.has(name)) continue;
    assert.equal(found.get(name), expected[column], `${reader}: ${column} of ${name}`);
    compared++;
  }
  assert.ok(compared > 10, `${reader}: only ${compared} methods were compared`);
  return compared;
}

export const done = text => console.log(`formats: ${text}`);
