// The self-contained page, in headless Chromium: nothing is requested, names stay text, everything works by keyboard.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { launch } from './browser.mjs';
import { sample, samples, truth, number, done } from './truth.mjs';

const shots = process.argv[3];
fs.mkdirSync(shots, { recursive: true });
const requested = [];
const server = http.createServer((request, response) => {
  requested.push(request.url);
  const file = path.join(samples, path.basename(request.url));
  if (!fs.existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'text/html' }).end(fs.readFileSync(file));
}).listen(0, '127.0.0.1');
await new Promise(resolve => server.once('listening', resolve));
const browser = await launch();

async function open(name, colorScheme = 'light') {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1400, height: 1000 } });
  const tab = await context.newPage(), problems = [], requests = [];
  tab.on('pageerror', error => problems.push(error.message));
  tab.on('console', message => problems.push(message.text()));
  tab.on('dialog', dialog => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  tab.on('request', request => requests.push(request.url()));
  const before = requested.length;
  await tab.goto(`http://127.0.0.1:${server.address().port}/${name}.html`, { waitUntil: 'networkidle' });
  const quiet = () => {
    assert.deepEqual(requested.slice(before), [`/${name}.html`], 'requests that reached the server');
    assert.equal(requests.filter(url => !url.startsWith('data:')).length, 1, `requests: ${requests}`);
    assert.deepEqual(problems, [], `${name}.html`);
  };
  const close = async () => {
    quiet();
    await context.close();
  };
  const text = selector => tab.textContent(selector);
  const shot = file => tab.waitForTimeout(150).then(() => tab.screenshot({ path: path.join(shots, `${file}.png`) }));
  return { tab, text, shot, quiet, close };
}

/** How many different colours the canvas shows: 1 means nothing was drawn. */
const colours = tab => tab.evaluate(() => {
  const canvas = document.querySelector('canvas');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(data.buffer)).size;
});

async function numbersAndControls() {
  const { tab, text, close } = await open('shop');
  const { methods, total, profile } = truth('shop', 'bytecodes');
  assert.match(await text('#subtitle'), new RegExp(`^${total.toLocaleString('en-US')} bytecodes, exact`));
  const contexts = profile.nodes.parent.filter(parent => parent >= 0).length;
  assert.ok((await text('#subtitle')).includes(` ${contexts.toLocaleString('en-US')} contexts `), await text('#subtitle'));
  const rows = () => tab.$$eval('#rows tr', list => list.map(row => [...row.children].map(cell => cell.textContent)));
  const calls = truth('shop', 'calls').methods;
  for (const [name, self, inclusive, called] of await rows()) {
    const method = name.replace(/\(.*/, ''), expected = methods.get(method);
    assert.deepEqual([number(self.split(' ')[0]), number(inclusive.split(' ')[0]), number(called)],
      [expected.self, expected.total, calls.get(method).self], method);
  }
  assert.match(await text('thead'), /Calls/);
  assert.equal((await rows()).length, methods.size);
  await tab.click('#sort-total');
  const heaviest = [...methods].sort((a, b) => b[1].total - a[1].total)[0][0];
  assert.ok((await rows())[0][0].startsWith(heaviest), 'sorted by total');

  // Units stand in the head, once.
  await tab.selectOption('#metric', { label: 'time' });
  assert.match(await text('#sort-self'), /^Self, (s|ms|µs|ns)/);
  assert.ok((await rows()).every(row => /^[\d.,]+ [<>\d]/.test(row[1]) && !/\d (s|ms|µs|ns)\b/.test(row[1])), 'numbers alone');
  await tab.selectOption('#metric', { label: 'bytecodes' });

  // Search: the share of all contexts with a match anywhere in them.
  await tab.keyboard.press('/');
  await tab.keyboard.type('hashmap.P');
  const { parent, method, self } = profile.nodes;
  let weight = 0;
  for (let node = 0; node < parent.length; node++) {
    for (let at = node; at >= 0; at = parent[at]) {
      const m = profile.methods[method[at]];
      if (m && `${m.class}.${m.method}`.toLowerCase().includes('hashmap.p')) { weight += self.bytecodes[node]; break; }
    }
  }
  const share = 100 * weight / total;
  const matched = `${share.toFixed(share >= 9.995 ? 1 : 2)} % matched, 1 method · `;
  const boxes = method.filter(m => m >= 0 && `${profile.methods[m].class}.${profile.methods[m].method}`.toLowerCase().includes('hashmap.p')).length;
  assert.ok((await text('#matched')).startsWith(matched), await text('#matched'));
  const [, inSight, count] = / (\d+) of (\d+) in the graph$/.exec(await text('#matched'));
  assert.equal(inSight, '1');
  assert.ok(Number(count) >= 1 && Number(count) <= boxes, `${count} boxes of ${boxes} contexts`);
  // Every match in turn, around the end, and back; the search keeps its field.
  for (const [key, at] of [['Enter', 1 % count + 1], ['Shift+Enter', 1], ['Shift+Enter', count]]) {
    await tab.keyboard.press(key);
    assert.ok((await text('#matched')).endsWith(` ${at} of ${count} in the graph`), `${key}: ${await text('#matched')}`);
    assert.match(await text('#detail'), /HashMap\.p/i);
  }
  // A click on a row shows who calls it and whom it calls; the search stays.
  await tab.click('#rows tr');
  const put = method.findIndex(m => m >= 0 && `${profile.methods[m].class}.${profile.methods[m].method}`.toLowerCase().includes('hashmap.p'));
  const caller = profile.methods[method[parent[put]]];
  assert.ok((await text('#around')).includes(`${caller.class}.${caller.method}`), await text('#around'));
  assert.equal(await tab.inputValue('#query'), 'hashmap.P');
  assert.equal((await rows()).length, 1);
  await tab.click('#around .close');
  assert.ok(await tab.isHidden('#around'));
  await tab.focus('#query');
  assert.deepEqual(await tab.$$eval('#rows mark', marks => marks.map(mark => mark.textContent)), ['HashMap.', 'p']);
  await tab.keyboard.press('Escape');
  assert.equal(await text('#matched'), '');
  await tab.keyboard.press('0');

  // Arrow keys, zoom in, zoom out.
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']) await tab.keyboard.press(key);
  assert.match(await text('#crumbs'), /All threads›indexer›Server\.handle$/);
  assert.match(await text('#detail'), /com\.acme\.shop\.Server\.handle\(Request\) · total 3,861,706 bytecodes/);
  await tab.keyboard.press('Escape');
  assert.match(await text('#crumbs'), /All threads›indexer$/);
  await tab.keyboard.press('0');
  assert.equal(await text('#crumbs'), 'All threads');

  // Another metric, one thread.
  await tab.selectOption('#metric', { label: 'alloc.bytes' });
  assert.match(await text('#subtitle'), new RegExp(`\\(${truth('shop', 'alloc.bytes').total.toLocaleString('en-US')} bytes\\), exact`));
  await tab.selectOption('#metric', { label: 'bytecodes' });
  await tab.selectOption('#thread', { label: 'main' });
  assert.match(await text('#subtitle'), new RegExp(`^${truth('shop', 'bytecodes', 'main').total.toLocaleString('en-US')} bytecodes`));
  assert.ok(await colours(tab) > 20);

  // Callers: the boxes of the first row are the methods by own cost. A click zooms.
  await tab.selectOption('#thread', { label: 'All threads' });
  await tab.click('#view-bottom');
  const area = await tab.locator('#flame').boundingBox();
  await tab.mouse.click(area.x + 10, area.y + 30);
  const first = [...methods].sort((a, b) => b[1].self - a[1].self)[0];
  assert.ok((await text('#detail')).startsWith(first[0]), 'the heaviest method comes first');
  assert.ok((await text('#detail')).includes(`self ${first[1].self.toLocaleString('en-US')} bytecodes`));
  await tab.keyboard.press('t');
  assert.equal(await tab.getAttribute('html', 'data-theme'), 'dark');
  await tab.keyboard.press('?');
  assert.ok(await tab.isVisible('#help'));
  await tab.keyboard.press('Escape');
  await close();
  done(`the page shows the profile's numbers for ${methods.size} methods; search, metric, thread, zoom and keys work`);
}

async function screenshots() {
  for (const scheme of ['light', 'dark']) {
    const { tab, shot, close } = await open('shop', scheme);
    assert.equal(await tab.getAttribute('html', 'data-theme'), scheme);
    await shot(`${scheme}-top-down`);
    const area = await tab.locator('#flame').boundingBox();
    await tab.mouse.move(area.x + 120, area.y + 90);
    await shot(`${scheme}-tooltip`);
    await tab.mouse.move(5, 5);
    await tab.keyboard.press('b');
    await shot(`${scheme}-bottom-up`);
    await tab.fill('#query', 'HashMap');
    await shot(`${scheme}-search`);
    await close();
  }
  done(`screenshots are in ${shots}`);
}

async function hostileNames() {
  const { tab, text, shot, quiet } = await open('hostile');
  await tab.fill('#query', 'owned');
  await tab.click('#about-button');
  await shot('hostile');
  assert.equal(await tab.$$eval('img, iframe, main script', list => list.length), 0);
  assert.match(await tab.title(), /^<\/script><script>document/);
  assert.match(await text('#rows'), /<img src=x onerror=document\.title='owned'>/);
  quiet();
  // The policy holds even for markup that somehow got in.
  const ran = await tab.evaluate(async () => {
    const broken = new Promise(resolve => document.addEventListener('securitypolicyviolation', event => resolve(event.violatedDirective)));
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
    return [window.ran, await broken];
  });
  assert.deepEqual(ran, [undefined, 'script-src-elem']);
  await tab.context().close();
  done('hostile names stay text');
}

async function largeAndDeep() {
  const start = Date.now();
  const { tab, text, shot, close } = await open('large');
  const loaded = Date.now() - start;
  assert.match(await text('#notice'), /^This page draws the [\d,]+ heaviest of [\d,]+ contexts/);
  const step = async keys => {
    const from = Date.now();
    for (const key of keys) await tab.keyboard.press(key);
    await tab.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    return Date.now() - from;
  };
  await tab.focus('#flame');
  const zoomed = await step(['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']), inverted = await step(['b']);
  await shot('large-bottom-up');
  // Times are told, not judged: what has become quadratic does not come to an end before the browser's patience does.
  await close();
  const deep = await open('deep');
  await deep.tab.$eval('#flame', frame => { frame.scrollTop = frame.scrollHeight / 2; });
  await deep.shot('deep');
  assert.ok(await colours(deep.tab) > 5, 'the middle of a recursion is drawn');
  // A search scrolls to its match: the first is at the top.
  const scrolled = () => deep.tab.$eval('#flame', frame => frame.scrollTop);
  const before = await scrolled();
  await deep.tab.fill('#query', 'demo.Deep.f');
  await deep.tab.focus('#query');
  await deep.tab.keyboard.press('Enter');
  await deep.tab.keyboard.press('Shift+Enter');
  assert.ok(before > 10000 && await scrolled() < 1000, `from ${before} to ${await scrolled()}`);
  await deep.tab.keyboard.press('Escape');
  // What was not counted has no column.
  assert.doesNotMatch(await deep.text('thead'), /Calls/);
  await deep.tab.keyboard.press('b');
  await deep.close();
  const empty = await open('empty');
  assert.match(await empty.text('#subtitle'), /^0 bytecodes/);
  // Calls have a metric there, which is 0 everywhere: no column of zeros.
  assert.doesNotMatch(await empty.text('thead'), /Calls/);
  await empty.close();
  done(`a page of 200,000 contexts loads in ${loaded} ms, zooms in ${zoomed} ms, inverts in ${inverted} ms`);
}

try {
  await numbersAndControls();
  await screenshots();
  await hostileNames();
  await largeAndDeep();
} finally {
  await browser.close();
  server.close();
}
