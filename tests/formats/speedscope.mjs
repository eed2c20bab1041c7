// speedscope itself, in a browser: it also imports collapsed stacks and pprof.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';
import { require, sample, truth, same, number, done } from './truth.mjs';

const page = pathToFileURL(require.resolve('speedscope/dist/release/index.html')).href;
const loader = path.join(process.env.QUIPU_FORMATS_WORK, 'speedscope-load.js');
const browser = await launch('--use-angle=swiftshader', '--enable-unsafe-swiftshader');

/** The rows of its table of functions, and of its list of profiles when there are several. */
async function open(file) {
  // As its own command line does it.
  const base64 = fs.readFileSync(sample(file)).toString('base64');
  fs.writeFileSync(loader, `speedscope.loadFileFromBase64(${JSON.stringify(file)}, ${JSON.stringify(base64)})`);
  const tab = await browser.newPage();
  const errors = [];
  tab.on('pageerror', error => errors.push(error.message));
  tab.on('console', message => { if (message.type() === 'error') errors.push(message.text()); });
  await tab.goto(`${page}#localProfilePath=${loader}`);
  await tab.waitForFunction(() => document.title.includes(' - speedscope'));
  await tab.keyboard.press('3');
  // The list of profiles comes first, then the head of the table of functions, then its rows.
  const rows = () => tab.evaluate(() =>
    [...document.querySelectorAll('tr')].map(row => [...row.children].map(cell => cell.textContent)));
  let all, head;
  for (let tries = 0; tries < 600 && !(head >= 0 && all.length > head + 3); tries++) {
    await tab.waitForTimeout(50);
    all = await rows();
    head = all.findIndex(cells => cells.join().includes('Symbol Name'));
  }
  const functions = all.slice(head), profiles = all.slice(1, head);
  await tab.close();
  assert.deepEqual(errors, [], file);
  const column = index => new Map(functions.slice(1).map(cells => [cells[2].trim(), number(cells[index].split(' ')[0])]));
  return { profiles, total: column(0), self: column(1) };
}

/** The table draws only the rows in view: compares those that are there. */
function compare(found, methods, what) {
  const visible = new Map([...methods].filter(([name]) => found.self.has(name)));
  const compared = same(found.self, visible, 'self', what);
  same(found.total, visible, 'total', what);
  done(`${what} shows the same bytecodes for ${compared} methods`);
}

try {
  const own = await open('shop.speedscope.json');
  for (const thread of ['main', 'indexer', 'http-worker']) {
    const row = own.profiles.find(cells => cells.join('|').includes(thread));
    assert.equal(number(row[row.length - 1]), truth('shop', 'bytecodes', thread).total, `speedscope: ${thread}`);
  }
  // It opens the heaviest thread, as the file asks it to.
  compare(own, truth('shop', 'bytecodes', 'indexer').methods, 'speedscope (its own format)');
  compare(await open('shop.collapsed'), truth('shop', 'bytecodes').methods, 'speedscope (collapsed stacks)');
  compare(await open('shop.pb.gz'), truth('shop', 'bytecodes').methods, 'speedscope (pprof)');
  await open('hostile.speedscope.json');
} finally {
  await browser.close();
}
