// Valgrind's callgrind_annotate.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { sample, truth, same, number, done } from './truth.mjs';

const annotate = (...args) => {
  const result = spawnSync('callgrind_annotate', ['--threshold=100', ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(result.status, 0, result.stderr);
  assert.equal(result.stderr, '', `callgrind_annotate ${args.join(' ')}`);
  return result.stdout;
};

const { methods, total } = truth('shop', 'bytecodes');
const output = annotate('--show=bytecodes', sample('shop.callgrind'));
assert.equal(number(/([\d,]+) \(100.0%\)\s+PROGRAM TOTALS/.exec(output)[1]), total);
const found = new Map(), named = new Map([...methods].map(([name, m]) => [name + m.descriptor, name]));
for (const [, cost, name] of output.matchAll(/^\s*([\d,]+) \([ \d.]+%\)\s+[^:\s]+:(.+?) \[.*\]$/gm)) {
  if (named.has(name)) found.set(named.get(name), number(cost));
}
done(`callgrind_annotate shows the same bytecodes for ${same(found, methods, 'self', 'callgrind_annotate')} methods`);

// With --tree=calling, `handle` calls what its children in the tree add up to.
const calling = annotate('--tree=calling', '--show=bytecodes', sample('shop.callgrind'));
const block = calling.split(/\n\n/).find(part => /\* .*Server\.handle/.test(part));
const callees = [...block.matchAll(/^\s*([\d,]+) \([ \d.]+%\)\s+> /gm)].reduce((sum, m) => sum + number(m[1]), 0);
const handle = methods.get('com.acme.shop.Server.handle');
assert.equal(callees, handle.total - handle.self, 'cost of the calls that Server.handle makes');
for (const name of ['hostile', 'deep', 'empty']) annotate('--inclusive=yes', sample(`${name}.callgrind`));
done('callgrind_annotate reads calls, recursion, odd names and an empty profile');
