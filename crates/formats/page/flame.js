// The flame graph on a canvas as large as its window; rows outside are not drawn, so depth costs nothing.

const ROW = 20;
const frame = document.getElementById('flame');
const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById('canvas'));
const spacer = document.getElementById('spacer');
const pen = canvas.getContext('2d');

const palettes = {
  light: {
    hues: [[30, 68, 77], [42, 66, 75], [16, 60, 79], [52, 48, 74], [8, 46, 81], [36, 52, 82]],
    jdk: [213, 38, 83], native: [268, 18, 83], root: [40, 12, 88], folded: [40, 6, 91],
    ink: '#23211d', soft: '#6b675f', hit: '#d63f8c', hitInk: '#ffffff', edge: '#1a1815', dim: 0.28,
  },
  dark: {
    hues: [[28, 38, 36], [40, 36, 34], [15, 36, 37], [50, 28, 33], [6, 30, 39], [34, 28, 31]],
    jdk: [213, 24, 34], native: [268, 13, 36], root: [40, 5, 26], folded: [40, 3, 22],
    ink: '#f2eee6', soft: '#a39d92', hit: '#c2377c', hitInk: '#ffffff', edge: '#fff6e6', dim: 0.3,
  },
};

function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return (value ^ (value >>> 15)) >>> 0;
}

/** One colour per method: the hue says whose package it is, a small step in lightness tells neighbours apart. */
const fills = { light: /** @type {string[]} */ ([]), dark: /** @type {string[]} */ ([]) };
function fill(theme, method) {
  const palette = palettes[theme];
  const hsl = ([h, s, l]) => `hsl(${h} ${s}% ${l}%)`;
  if (method < 0) return hsl(method === FOLDED ? palette.folded : palette.root);
  if (!fills[theme][method]) {
    const { className, full, kind } = methods[method];
    const family = className.slice(0, Math.max(0, className.lastIndexOf('.')));
    const [h, s, l] = kind === 'app' ? palette.hues[hash(family) % palette.hues.length] : palette[kind];
    fills[theme][method] = hsl([h, s, l + (hash(full) % 5 - 2) * 1.4]);
  }
  return fills[theme][method];
}

const flame = {
  /** @type {Graph} */ graph: null,
  from: 0, to: 1, // the part that fills the width
  zoomed: 0, selected: -1, hovered: -1,
  theme: 'light',
  /** @type {null | ((method: number, extra: number) => boolean)} */ hit: null,
};

const widths = new Map();
function textWidth(text) {
  let width = widths.get(text);
  if (width === undefined) {
    width = pen.measureText(text).width;
    if (widths.size > 20000) widths.clear();
    widths.set(text, width);
  }
  return width;
}

/** The longest form of a name that fits: in full, without package, cut off. */
function fitted(method, extra, room) {
  const full = frameName(method, extra);
  if (textWidth(full) <= room) return full;
  const short = method >= 0 ? methods[method].short : full;
  if (textWidth(short) <= room) return short;
  if (room < 16) return '';
  let low = 0, high = Math.min(short.length, 200);
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (pen.measureText(short.slice(0, mid) + '…').width <= room) low = mid; else high = mid - 1;
  }
  return low > 1 ? short.slice(0, low) + '…' : '';
}

let scheduled = false;
function redraw() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => { scheduled = false; draw(); });
}

function draw() {
  const { graph, from, to, theme, hit } = flame, palette = palettes[theme];
  const width = frame.clientWidth, height = frame.clientHeight, ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + 'px';
  }
  const rows = graph.rowStart.length - 1;
  spacer.style.height = Math.max(0, rows * ROW + 12 - height) + 'px';
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = `12px ${getComputedStyle(document.documentElement).fontFamily}`;
  pen.textBaseline = 'middle';
  const scale = width / (to - from), top = frame.scrollTop, above = graph.depth[flame.zoomed];
  const first = Math.max(0, Math.floor(top / ROW)), last = Math.min(rows - 1, Math.ceil((top + height) / ROW));
  for (let row = first; row <= last; row++) {
    const y = row * ROW - top;
    let drawnTo = -1;
    for (let at = firstFrom(graph, row, from); at < graph.rowStart[row + 1]; at++) {
      const box = graph.rows[at];
      if (graph.x[box] >= to) break;
      const left = Math.max(0, (graph.x[box] - from) * scale);
      const right = Math.min(width, (graph.x[box] + graph.w[box] - from) * scale);
      if (right - drawnTo < 0.4) continue; // hidden behind what is drawn already
      drawnTo = right;
      const method = graph.method[box], extra = graph.extra[box];
      const found = hit !== null && hit(method, extra);
      const span = Math.max(0.5, right - left - (right - left > 3 ? 1 : 0));
      pen.globalAlpha = hit !== null && !found ? palette.dim : row < above ? 0.6 : 1;
      pen.fillStyle = found ? palette.hit : fill(theme, method);
      pen.fillRect(left, y, span, ROW - 1);
      if (span > 20) {
        const label = fitted(method, extra, span - 10);
        if (label) {
          pen.globalAlpha = hit !== null && !found ? 0.6 : 1;
          pen.fillStyle = found ? palette.hitInk : method < 0 ? palette.soft : palette.ink;
          pen.fillText(label, left + 5, y + ROW / 2);
        }
      }
      pen.globalAlpha = 1;
      if (box === flame.selected || box === flame.hovered) {
        pen.strokeStyle = palette.edge;
        pen.lineWidth = box === flame.selected ? 2 : 1;
        pen.strokeRect(left + 1, y + 0.5, Math.max(1, span - 2), ROW - 2);
      }
    }
  }
}

/** The box under a point of the window, -1 for none. */
function boxAt(clientX, clientY) {
  const area = frame.getBoundingClientRect(), { graph } = flame;
  const row = Math.floor((clientY - area.top + frame.scrollTop) / ROW);
  if (row < 0 || row >= graph.rowStart.length - 1) return -1;
  const x = flame.from + (clientX - area.left) / frame.clientWidth * (flame.to - flame.from);
  const at = firstFrom(graph, row, x);
  if (at >= graph.rowStart[row + 1]) return -1;
  return graph.x[graph.rows[at]] <= x ? graph.rows[at] : -1;
}

function showBox(box) {
  flame.zoomed = box;
  flame.from = flame.graph.x[box];
  flame.to = flame.from + (flame.graph.w[box] || 1);
  scrollToRow(flame.graph.depth[box]);
  redraw();
}

function scrollToRow(row) {
  const y = row * ROW;
  if (y < frame.scrollTop) frame.scrollTop = Math.max(0, y - 2 * ROW);
  else if (y + 2 * ROW > frame.scrollTop + frame.clientHeight) frame.scrollTop = y - 2 * ROW;
}

/** The neighbour of a box: its caller, heaviest callee, or what stands beside it in the row. */
function neighbour(box, key) {
  const { graph } = flame;
  if (key === 'ArrowUp') return graph.parent[box];
  if (key === 'ArrowDown') return graph.firstChild(box);
  const row = graph.depth[box];
  let at = firstFrom(graph, row, graph.x[box]) + (key === 'ArrowRight' ? 1 : -1);
  return at >= graph.rowStart[row] && at < graph.rowStart[row + 1] ? graph.rows[at] : -1;
}
