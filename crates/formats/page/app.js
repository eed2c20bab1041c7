// State, controls and keys.

const $ = id => document.getElementById(id);
const input = /** @type {HTMLInputElement} */ ($('query'));
const metricChoice = /** @type {HTMLSelectElement} */ ($('metric'));
const threadChoice = /** @type {HTMLSelectElement} */ ($('thread'));
const state = { metric: raw.metric, thread: -1, view: 'top', matcher: null, found: null, path: [], boxes: [], at: -1, around: -1 };

function currentRoot() {
  return state.thread < 0 ? (threadRoots.length === 1 ? threadRoots[0] : 0) : threadRoots[state.thread];
}

/** Builds the graph anew, after anything but a zoom within the top-down view changed. */
function rebuild(zoomed) {
  const root = currentRoot();
  let target = 0;
  if (state.view === 'top') {
    flame.graph = topDown(root, state.metric);
    for (const step of state.path) {
      const child = childWith(target, step);
      if (child < 0) break;
      target = child;
    }
  } else {
    ({ graph: flame.graph, target } = bottomUp(root, state.metric, state.path, zoomed || totals(state.metric)[root]));
  }
  flame.selected = flame.hovered = -1;
  state.path = pathOf(target);
  showBox(target);
  search();
  crumbs();
  detail(target);
}

function childWith(box, step) {
  const { graph } = flame, row = graph.depth[box] + 1;
  if (row >= graph.rowStart.length - 1) return -1;
  for (let at = firstFrom(graph, row, graph.x[box]); at < graph.rowStart[row + 1]; at++) {
    const child = graph.rows[at];
    if (graph.parent[child] !== box) return -1;
    if (stepOf(child) === step) return child;
  }
  return -1;
}

/** Identifies a box among its siblings: a method, or a thread as a negative number. */
function stepOf(box) {
  const method = flame.graph.method[box];
  return method === ROOT ? -10 - flame.graph.extra[box] : method;
}

function pathOf(box) {
  const path = [];
  for (let at = box; flame.graph.parent[at] >= 0; at = flame.graph.parent[at]) path.push(stepOf(at));
  return path.reverse();
}

function zoom(box) {
  if (box < 0) return;
  state.path = pathOf(box);
  if (state.view === 'bottom') rebuild(flame.graph.w[box]);
  else { showBox(box); crumbs(); }
}

function crumbs() {
  const { graph } = flame, chain = [];
  for (let at = flame.zoomed; at >= 0; at = graph.parent[at]) chain.unshift(at);
  // Far down, only both ends of the way there fit.
  const shown = chain.length > 5 ? [chain[0], -1, ...chain.slice(-3)] : chain;
  $('crumbs').replaceChildren(...shown.flatMap((box, i) => {
    if (box < 0) return ['… ›'];
    const name = graph.method[box] >= 0 ? methods[graph.method[box]].short : frameName(graph.method[box], graph.extra[box]);
    if (i === shown.length - 1) return [element('span', '', name)];
    const button = element('button', '', name);
    button.addEventListener('click', () => zoom(box));
    return [button, '›'];
  }));
}

function search() {
  state.matcher = matcherFor(input.value.trim());
  const root = currentRoot(), total = totals(state.metric)[root];
  state.found = state.matcher && matches(state.matcher, root, state.metric);
  flame.hit = state.found && state.found.hit;
  state.boxes = state.found ? matchingBoxes(flame.graph, state.found.hit) : [];
  state.at = flame.selected = -1;
  told();
  table.shown = PAGE_ROWS;
  drawTable({ ...state, total, pick: method => { state.around = method; around(); } });
  around();
  redraw();
}

/** Says how much matches, and which of the matches is the one in sight. */
function told() {
  const out = $('matched'), { matcher, found, boxes, at } = state;
  out.replaceChildren();
  if (matcher && matcher.problem) out.append(matcher.problem);
  else if (found) {
    out.append(element('b', '', percent(found.weight, totals(state.metric)[currentRoot()])),
      ` matched, ${whole(found.found)} ${found.found === 1 ? 'method' : 'methods'}`);
    if (boxes.length) out.append(` · ${at < 0 ? '' : whole(at + 1) + ' of '}${whole(boxes.length)} in the graph`);
  }
}

/** Brings the next match into sight, or the one before it. */
function step(by) {
  if (!state.boxes.length) return;
  state.at = state.at < 0 ? (by > 0 ? 0 : state.boxes.length - 1) : (state.at + by + state.boxes.length) % state.boxes.length;
  const box = state.boxes[state.at], { graph } = flame;
  // Too narrow to be seen, or out of the part that is shown: from the nearest caller that makes it wide enough. Bottom up,
  // a zoom makes another graph; there it is only scrolled to.
  const narrow = graph.w[box] < (flame.to - flame.from) / 400;
  if (state.view === 'top' && (narrow || graph.x[box] + graph.w[box] <= flame.from || graph.x[box] >= flame.to)) {
    let above = box;
    while (graph.parent[above] >= 0 && graph.w[graph.parent[above]] <= graph.w[box] * 50) above = graph.parent[above];
    zoom(above);
  }
  flame.selected = box;
  scrollToRow(graph.depth[box]);
  detail(box);
  told();
  redraw();
}

/** Who calls a method and whom it calls, in the part that is shown; the search stays as it is. */
function around() {
  const panel = $('around'), info = raw.metrics[state.metric];
  panel.hidden = state.around < 0;
  if (panel.hidden) return;
  const { callers, callees, total } = neighbours(state.around, currentRoot(), state.metric);
  const list = (title, entries) => element('div', '', element('h3', '', title), ...entries.slice(0, 12).map(([method, extra, value]) => {
    const name = element(method >= 0 ? 'button' : 'span', 'who', frameName(method, extra));
    if (method >= 0) name.addEventListener('click', () => { state.around = method; around(); });
    return element('p', '', element('span', 'num', amount(value, info)), element('span', 'pct', percent(value, total)), name);
  }), ...(entries.length > 12 ? [element('p', '', `and ${whole(entries.length - 12)} more`)] : []),
  ...(entries.length ? [] : [element('p', '', 'nobody')]));
  const close = element('button', 'close', 'Close');
  close.addEventListener('click', () => { state.around = -1; around(); });
  panel.replaceChildren(element('b', '', methods[state.around].full + methods[state.around].signature), close,
    element('div', 'sides', list('Called by', callers), list('Calls', callees)));
}

/** The lines of the tooltip and of the bar under the graph. */
function facts(box) {
  const { graph } = flame, info = raw.metrics[state.metric], lines = [];
  if (state.view === 'top') {
    if (info.count) lines.push(['here', graph.own[box]], ['here and below', graph.w[box]]);
    else lines.push(['total', graph.w[box]], ['self', graph.own[box]]);
  } else lines.push([graph.depth[box] === 1 ? 'self' : graph.depth[box] === 0 ? 'total' : 'by this way', graph.w[box]]);
  const result = lines.map(([label, value]) => [label, exact(value, info), percent(value, graph.total)]);
  if (state.view === 'top' && graph.method[box] >= 0) {
    raw.metrics.forEach((metric, m) => {
      const node = currentRoot() + box;
      if (m !== state.metric && totals(m)[currentRoot()] > 0) result.push(metric.count
        ? [metric.name, whole(tree.self[m][node]), '']
        : [metric.name, amount(totals(m)[node], metric), percent(totals(m)[node], totals(m)[currentRoot()])]);
    });
  }
  return result;
}

function fullName(box) {
  const method = flame.graph.method[box];
  return frameName(method, flame.graph.extra[box]) + (method >= 0 ? methods[method].signature : '');
}

function detail(box) {
  if (box < 0) return;
  $('detail').replaceChildren(element('b', '', fullName(box)), ...facts(box).map(([label, value, share]) =>
    ` · ${label} ${value}${share ? ' (' + share + ')' : ''}`));
}

function hover(event) {
  const box = boxAt(event.clientX, event.clientY), tip = $('tip');
  if (box !== flame.hovered) {
    flame.hovered = box;
    redraw();
    tip.hidden = box < 0;
    if (box >= 0) {
      detail(box);
      tip.replaceChildren(element('b', '', fullName(box)), element('table', '', ...facts(box).map(([label, value, share]) =>
        element('tr', '', element('td', '', label), element('td', 'v', value), element('td', '', share)))));
    }
  }
  frame.style.cursor = box < 0 ? 'default' : 'pointer';
  if (box >= 0) {
    const area = tip.getBoundingClientRect(), margin = 14;
    const x = event.clientX + margin + area.width > innerWidth ? event.clientX - margin - area.width : event.clientX + margin;
    const y = event.clientY + margin + area.height > innerHeight ? event.clientY - margin - area.height : event.clientY + margin;
    tip.style.left = Math.max(4, x) + 'px';
    tip.style.top = Math.max(4, y) + 'px';
  }
}

function unhover() {
  $('tip').hidden = true;
  flame.hovered = -1;
  redraw();
}

function setView(view) {
  if (view === state.view) return;
  state.view = view;
  state.path = [];
  for (const name of ['top', 'bottom']) {
    $('view-' + name).setAttribute('aria-checked', String(name === view));
    $('view-' + name).tabIndex = name === view ? 0 : -1;
  }
  frame.scrollTop = 0;
  rebuild();
}

function setTheme(theme) {
  flame.theme = theme;
  document.documentElement.dataset.theme = theme;
  if (flame.graph) redraw();
}

const keys = [
  ['/', 'search', () => input.focus()],
  ['n', 'next match', () => step(1)],
  ['N', 'match before', () => step(-1)],
  ['m', 'next metric', () => { metricChoice.selectedIndex = (metricChoice.selectedIndex + 1) % metricChoice.length; metricChoice.dispatchEvent(new Event('change')); }],
  ['b', 'top down or bottom up', () => setView(state.view === 'top' ? 'bottom' : 'top')],
  ['t', 'light or dark', () => setTheme(flame.theme === 'light' ? 'dark' : 'light')],
  ['0', 'show everything', () => zoom(0)],
  ['?', 'this help', () => /** @type {HTMLDialogElement} */ ($('help')).showModal()],
];

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.target === input) {
    if (event.key === 'Escape') { input.value = ''; search(); frame.focus(); }
    if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
    return;
  }
  if (event.target instanceof HTMLSelectElement) return;
  const key = keys.find(([name]) => name === event.key);
  if (key) { event.preventDefault(); /** @type {() => void} */ (key[2])(); return; }
  if (event.key === 'Escape') {
    if (flame.graph.parent[flame.zoomed] >= 0) zoom(flame.graph.parent[flame.zoomed]);
    else if (input.value) { input.value = ''; search(); }
  }
});

frame.addEventListener('keydown', event => {
  if (event.key.startsWith('Arrow')) {
    event.preventDefault();
    const from = flame.selected < 0 ? flame.zoomed : flame.selected;
    const to = flame.selected < 0 ? from : neighbour(from, event.key);
    if (to < 0) return;
    flame.selected = to;
    const { x, w } = flame.graph;
    if (x[to] + w[to] <= flame.from || x[to] >= flame.to) zoom(flame.graph.parent[to]);
    scrollToRow(flame.graph.depth[to]);
    detail(to);
    redraw();
  } else if (event.key === 'Enter' && flame.selected >= 0) zoom(flame.selected);
});

frame.addEventListener('mousemove', hover);
frame.addEventListener('mouseleave', unhover);
frame.addEventListener('click', event => {
  const box = boxAt(event.clientX, event.clientY);
  if (box < 0) return;
  unhover();
  zoom(box);
});
frame.addEventListener('scroll', () => { unhover(); redraw(); });
new ResizeObserver(redraw).observe(frame);
input.addEventListener('input', () => { search(); step(1); });
$('view-top').addEventListener('click', () => setView('top'));
$('view-bottom').addEventListener('click', () => setView('bottom'));
for (const name of ['top', 'bottom']) {
  $('view-' + name).addEventListener('keydown', event => {
    if (!['ArrowLeft', 'ArrowRight'].includes(event.key)) return;
    setView(name === 'top' ? 'bottom' : 'top');
    $('view-' + state.view).focus();
  });
}
$('theme').addEventListener('click', () => setTheme(flame.theme === 'light' ? 'dark' : 'light'));
$('about-button').addEventListener('click', () => /** @type {HTMLDialogElement} */ ($('about')).showModal());
$('help-button').addEventListener('click', () => /** @type {HTMLDialogElement} */ ($('help')).showModal());
metricChoice.addEventListener('change', () => { state.metric = Number(metricChoice.value); describe(); rebuild(); });
threadChoice.addEventListener('change', () => { state.thread = Number(threadChoice.value); state.path = []; describe(); rebuild(); });
const preference = matchMedia('(prefers-color-scheme: dark)');
preference.addEventListener('change', () => setTheme(preference.matches ? 'dark' : 'light'));

function describe() {
  const info = raw.metrics[state.metric], total = totals(state.metric)[currentRoot()];
  const how = info.exact ? 'exact' : 'sampled';
  $('subtitle').textContent = [`${exact(total, info)}, ${how}`,
    `${whole(raw.contexts)} contexts`, `${whole(raw.methodCount)} methods`,
    `${whole(raw.threads.length)} ${raw.threads.length === 1 ? 'thread' : 'threads'}`].join(' · ');
}

function start() {
  $('title').textContent = raw.title;
  for (const [key, value] of raw.facts) $('facts').append(element('dt', '', key), element('dd', '', value));
  for (const [key, text] of keys) $('keys').append(element('dt', '', element('kbd', '', /** @type {string} */ (key))), element('dd', '', /** @type {string} */ (text)));
  for (const [key, text] of [['↑ ↓ ← →', 'move in the flame graph'], ['Enter', 'zoom in; in the search, next match'], ['Esc', 'zoom out, leave the search']]) {
    $('keys').append(element('dt', '', element('kbd', '', key)), element('dd', '', text));
  }
  raw.metrics.forEach((metric, i) => metricChoice.append(new Option(metric.name, String(i), false, i === state.metric)));
  threadChoice.append(new Option('All threads', '-1'));
  raw.threads.forEach((_, i) => threadChoice.append(new Option(threadName(i), String(i))));
  $('thread-label').hidden = raw.threads.length < 2;
  const notices = [...raw.notices];
  if (raw.folded) notices.unshift(`This page draws the ${whole(raw.drawn - raw.folded)} heaviest of ${whole(raw.drawn)} contexts${raw.drawn < raw.contexts ? ', those of one caller together' : ''}. The other ${whole(raw.folded)} are drawn as “folded” next to their siblings: totals are complete. The method table is counted over all contexts.`);
  if (notices.length) { $('notice').hidden = false; $('notice').textContent = notices.join(' '); }
  setTheme(preference.matches ? 'dark' : 'light');
  describe();
  if (!raw.metrics.length || !threadRoots.length) return;
  rebuild();
}
start();
