// What the canvas draws: boxes with a place in units of the metric, ordered in rows.

/**
 * @typedef {{ count: number, x: Float64Array, w: Float64Array, own: Float64Array, depth: Int32Array,
 *   parent: Int32Array, method: Int32Array, extra: Int32Array, total: number,
 *   rows: Int32Array, rowStart: Int32Array, firstChild: (box: number) => number }} Graph
 */

/** Groups boxes by row, from left to right. */
function withRows(graph) {
  let deepest = 0, drawn = 0;
  for (let i = 0; i < graph.count; i++) if (graph.w[i] > 0) { deepest = Math.max(deepest, graph.depth[i]); drawn++; }
  const rowStart = new Int32Array(deepest + 2);
  for (let i = 0; i < graph.count; i++) if (graph.w[i] > 0) rowStart[graph.depth[i] + 1]++;
  for (let row = 0; row <= deepest; row++) rowStart[row + 1] += rowStart[row];
  const next = rowStart.slice(), rows = new Int32Array(drawn);
  for (let i = 0; i < graph.count; i++) if (graph.w[i] > 0) rows[next[graph.depth[i]]++] = i;
  for (let row = 0; row <= deepest; row++) {
    if (rowStart[row + 1] - rowStart[row] > 1) {
      rows.subarray(rowStart[row], rowStart[row + 1]).sort((a, b) => graph.x[a] - graph.x[b]);
    }
  }
  graph.rows = rows;
  graph.rowStart = rowStart;
  /** The leftmost, that is heaviest, child; -1 when there is none. */
  graph.firstChild = box => {
    const row = graph.depth[box] + 1;
    if (row > deepest) return -1;
    const at = firstFrom(graph, row, graph.x[box]);
    return at < rowStart[row + 1] && graph.parent[rows[at]] === box ? rows[at] : -1;
  };
  return graph;
}

/** Position in `rows` of the first box of a row that reaches beyond `x`. */
function firstFrom(graph, row, x) {
  let low = graph.rowStart[row], high = graph.rowStart[row + 1];
  while (low < high) {
    const mid = (low + high) >> 1, box = graph.rows[mid];
    if (graph.x[box] + graph.w[box] <= x) low = mid + 1; else high = mid;
  }
  return low;
}

/** Callers above callees, heaviest to the left, what was folded to the right. */
function topDown(root, metric) {
  const sums = totals(metric), count = tree.end[root] - root;
  const x = new Float64Array(count), parent = new Int32Array(count), depth = new Int32Array(count);
  const children = [];
  parent[0] = -1;
  for (let i = 0; i < count; i++) {
    const node = root + i;
    if (!(sums[node] > 0)) continue;
    children.length = 0;
    for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
      if (sums[child] > 0) children.push(child);
    }
    if (children.length > 1) {
      children.sort((a, b) => (+(tree.method[a] === FOLDED) - +(tree.method[b] === FOLDED)) || sums[b] - sums[a] || a - b);
    }
    let at = x[i];
    for (const child of children) {
      const box = child - root;
      x[box] = at;
      at += sums[child];
      parent[box] = i;
      depth[box] = depth[i] + 1;
    }
  }
  return withRows({
    count, x, parent, depth, total: sums[root],
    w: sums.subarray(root, root + count), own: tree.self[metric].subarray(root, root + count),
    method: tree.method.subarray(root, root + count), extra: tree.extra.subarray(root, root + count),
  });
}

const BOTTOM_UP_LEVELS = 400, BOTTOM_UP_BOXES = 60000;

/**
 * Where the cost is, with its callers below. A full inversion is quadratic in the depth, so boxes too narrow to see
 * are left out; `path` (methods from the root) is zoomed to and weighs `zoomed`, and below it the limit is finer.
 */
function bottomUp(root, metric, path, zoomed) {
  const own = tree.self[metric], total = totals(metric)[root];
  const x = [0], w = [total], depth = [0], parent = [-1], method = [tree.method[root]], extra = [tree.extra[root]];
  const start = [];
  for (let node = root; node < tree.end[root]; node++) if (own[node] > 0) start.push(node);
  const slots = new Int32Array(methods.length + 3).fill(-1);
  // Each box of the current level, with the contexts whose cost it is and the callers these have been followed to.
  let level = [{ box: 0, origins: start, cursors: start, onPath: true, below: path.length === 0 }];
  let target = 0;
  for (let row = 1; row <= BOTTOM_UP_LEVELS && level.length && w.length < BOTTOM_UP_BOXES; row++) {
    const next = [];
    for (const { box, origins, cursors, onPath, below } of level) {
      const groups = [];
      for (let k = 0; k < cursors.length; k++) {
        const cursor = row === 1 ? cursors[k] : tree.parent[cursors[k]];
        if (cursor < root || (row > 1 && tree.method[cursor] < 0)) continue;
        const key = tree.method[cursor];
        let slot = slots[key + 3];
        if (slot < 0) {
          slot = slots[key + 3] = groups.length;
          groups.push({ key, weight: 0, extra: 0, origins: [], cursors: [] });
        }
        const group = groups[slot];
        group.weight += own[origins[k]];
        group.extra = key === FOLDED ? group.extra + tree.extra[cursor] : tree.extra[cursor];
        group.origins.push(origins[k]);
        group.cursors.push(cursor);
      }
      for (const group of groups) slots[group.key + 3] = -1;
      groups.sort((a, b) => b.weight - a.weight || a.key - b.key);
      const smallest = (below ? zoomed : total) / 4000;
      let left = x[box];
      for (const group of groups) {
        const inPath = onPath && row <= path.length && group.key === path[row - 1];
        if (group.weight < smallest && !inPath) { left += group.weight; continue; }
        const id = w.length;
        x.push(left); w.push(group.weight); depth.push(row); parent.push(box);
        method.push(group.key); extra.push(group.extra);
        left += group.weight;
        if (inPath) target = id;
        next.push({ box: id, origins: group.origins, cursors: group.cursors, onPath: inPath, below: below || (inPath && row === path.length) });
      }
    }
    level = next;
  }
  const graph = withRows({
    count: w.length, total, x: Float64Array.from(x), w: Float64Array.from(w), depth: Int32Array.from(depth),
    parent: Int32Array.from(parent), method: Int32Array.from(method), extra: Int32Array.from(extra), own: Float64Array.from(w),
  });
  // What no caller accounts for: stacks that begin here.
  for (let i = 1; i < graph.count; i++) graph.own[graph.parent[i]] -= graph.w[i];
  return { graph, target };
}

/** Callers and callees of a method below `root`, heaviest first: [method, extra, value]. Recursion counts once. */
function neighbours(method, root, metric) {
  const sums = totals(metric), callers = new Map(), callees = new Map();
  const add = (map, node, value) => {
    const key = tree.method[node] >= 0 ? tree.method[node] : 'x' + tree.method[node] + (tree.method[node] === ROOT ? ':' + tree.extra[node] : '');
    const entry = map.get(key) || [tree.method[node], tree.extra[node], 0];
    entry[2] += value;
    map.set(key, entry);
  };
  let total = 0, until = 0;
  const parent = [];
  for (let node = root; node < tree.end[root]; node++) {
    while (parent.length && tree.end[parent[parent.length - 1]] <= node) parent.pop();
    const above = parent[parent.length - 1];
    if (tree.method[node] === method && node >= until) {
      until = tree.end[node];
      total += sums[node];
      if (above !== undefined) add(callers, above, sums[node]);
    }
    if (above !== undefined && tree.method[above] === method && tree.method[node] !== method) add(callees, node, sums[node]);
    parent.push(node);
  }
  const ranked = map => [...map.values()].filter(entry => entry[2] > 0).sort((a, b) => b[2] - a[2]);
  return { callers: ranked(callers), callees: ranked(callees), total };
}
