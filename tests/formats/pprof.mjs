// Go's pprof.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { sample, truth, same, done } from './truth.mjs';

const pprof = (...args) => {
  const result = spawnSync(process.argv[3], args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(result.status, 0, `pprof ${args.join(' ')}: ${result.stderr}`);
  return result.stdout;
};
const top = (metric, file) => {
  const found = { self: new Map(), total: new Map() };
  const output = pprof('-top', '-nodecount=100000', '-nodefraction=0', '-edgefraction=0', `-sample_index=${metric}`, `-unit=${metric === 'alloc.bytes' ? 'B' : 'minimum'}`, file);
  for (const line of output.split('\n')) {
    const match = /^\s*(\d+)\S*\s+[\d.]+%\s+[\d.]+%\s+(\d+)\S*\s+[\d.]+%\s+(.*)$/.exec(line);
    if (match) { found.self.set(match[3], Number(match[1])); found.total.set(match[3], Number(match[2])); }
  }
  return found;
};

for (const metric of ['bytecodes', 'calls', 'alloc.bytes']) {
  const { methods } = truth('shop', metric);
  const found = top(metric, sample('shop.pb.gz'));
  const compared = same(found.self, methods, 'self', 'pprof');
  same(found.total, methods, 'total', 'pprof');
  done(`pprof shows the same ${metric} for ${compared} methods`);
}
assert.match(pprof('-top', sample('shop.pb.gz')), /Type: bytecodes/, 'the chosen metric is the default');
const { total } = truth('shop', 'bytecodes', 'main');
assert.match(pprof('-tags', sample('shop.pb.gz')), new RegExp(`\\b${total} .*: main\\n`), 'threads are tags');
assert.match(pprof('-top', sample('deep.pb.gz')), /deeper frames/);
for (const name of ['hostile', 'empty']) pprof('-top', sample(`${name}.pb.gz`));
done('pprof reads threads, deep stacks, odd names and an empty profile');
