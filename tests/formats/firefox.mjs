// The Firefox Profiler's own loader, by its command line tool.
//
// Its `load` command starts a process that holds the profile and gives it half a second to come up, which a busy
// machine does not always do. So that process is started here, and asked until it answers.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { require, sample, truth, same, done } from './truth.mjs';

const tool = require.resolve('@firefox-devtools/profiler-cli');
const sessions = fs.mkdtempSync(path.join(process.env.QUIPU_FORMATS_WORK, 'firefox-'));
const env = { ...process.env, PROFILER_CLI_SESSION_DIR: sessions };

/** Loads a profile, and hands `use` a function that asks about it. */
async function opened(name, use) {
  const holder = spawn(process.execPath, [tool, '--daemon', path.resolve(sample(`${name}.firefox.json`)), '--session', name],
    { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  holder.stderr.on('data', data => { complaint += data; });
  const run = (...args) =>
    spawnSync(process.execPath, [tool, ...args, '--session', name], { encoding: 'utf8', env, maxBuffer: 1 << 28 });
  try {
    // The tool takes seconds to start, so it is not started again and again while its other half is loading: that one
    // notes its session in a file when it is ready.
    const deadline = Date.now() + 300_000;
    let answer;
    do {
      await pause(500);
      assert.equal(holder.exitCode, null, `${name}: the profile was not loaded: ${complaint}`);
      assert.ok(Date.now() < deadline, `${name}: no answer within five minutes: ${answer?.stderr}${complaint}`);
      answer = fs.readdirSync(sessions).some(file => file.startsWith(name)) ? run('thread', 'list') : undefined;
    } while (answer?.status !== 0);
    await use((...args) => {
      const result = run(...args);
      assert.equal(result.status, 0, `profiler-cli ${args.join(' ')}: ${result.stderr}${result.stdout}`);
      return result.stdout;
    });
  } finally {
    if (holder.exitCode === null) {
      const exit = once(holder, 'exit');
      holder.kill();
      await exit;
    }
  }
}

try {
  await opened('shop', ask => {
    const threads = new Map([...ask('thread', 'list').matchAll(/(t-\d+)\s+(.+?)\s{2,}/g)].map(m => [m[2], m[1]]));
    let compared = 0;
    for (const thread of ['main', 'indexer']) {
      assert.ok(threads.has(thread), `no thread ${thread} in ${[...threads.keys()]}`);
      const list = JSON.parse(ask('thread', 'functions', '--json', '--limit', '0', '--include-idle', '--thread', threads.get(thread)));
      const { methods } = truth('shop', 'bytecodes', thread);
      const column = key => new Map(list.functions.map(f => [f.name, f[key]]));
      compared += same(column('selfSamples'), methods, 'self', 'Firefox Profiler');
      same(column('totalSamples'), methods, 'total', 'Firefox Profiler');
    }
    done(`the Firefox Profiler shows the same bytecodes for ${compared} methods`);
  });
  for (const name of ['hostile', 'empty']) await opened(name, ask => ask('thread', 'list'));
  done('the Firefox Profiler reads odd names and an empty profile');
} finally {
  fs.rmSync(sessions, { recursive: true, force: true });
}
