// The Firefox Profiler's own loader, by its command line tool.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { require, sample, truth, same, done } from './truth.mjs';

const tool = require.resolve('@firefox-devtools/profiler-cli');
const sessions = fs.mkdtempSync(path.join(process.env.QUIPU_FORMATS_WORK, 'firefox-'));
const cli = (...args) => {
  const env = { ...process.env, PROFILER_CLI_SESSION_DIR: sessions };
  const result = spawnSync(process.execPath, [tool, ...args], { encoding: 'utf8', env, maxBuffer: 1 << 28 });
  assert.equal(result.status, 0, `profiler-cli ${args.join(' ')}: ${result.stderr}${result.stdout}`);
  return result.stdout;
};

try {
  cli('load', sample('shop.firefox.json'));
  const threads = new Map([...cli('thread', 'list').matchAll(/(t-\d+)\s+(.+?)\s{2,}/g)].map(m => [m[2], m[1]]));
  let compared = 0;
  for (const thread of ['main', 'indexer']) {
    assert.ok(threads.has(thread), `no thread ${thread} in ${[...threads.keys()]}`);
    const list = JSON.parse(cli('thread', 'functions', '--json', '--limit', '0', '--include-idle', '--thread', threads.get(thread)));
    const { methods } = truth('shop', 'bytecodes', thread);
    const column = key => new Map(list.functions.map(f => [f.name, f[key]]));
    compared += same(column('selfSamples'), methods, 'self', 'Firefox Profiler');
    same(column('totalSamples'), methods, 'total', 'Firefox Profiler');
  }
  done(`the Firefox Profiler shows the same bytecodes for ${compared} methods`);
  for (const name of ['hostile', 'empty']) cli('load', sample(`${name}.firefox.json`));
  done('the Firefox Profiler reads odd names and an empty profile');
} finally {
  cli('stop', '--all');
  fs.rmSync(sessions, { recursive: true, force: true });
}
