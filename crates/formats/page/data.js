// The profile as the page holds it. Everything in it is untrusted text or a number.
const raw = JSON.parse(document.getElementById('data').textContent);
const ROOT = -1, FOLDED = -2, ALL = -3;

/** Nodes in preorder; 0 stands for all threads, the threads' roots hang from it. */
const tree = (() => {
  const count = raw.nodes.method.length + 1;
  const depth = new Int32Array(count), parent = new Int32Array(count), method = new Int32Array(count);
  const end = new Int32Array(count).fill(count);
  const extra = new Int32Array(count); // thread of a root, number of contexts in a folded node
  const open = [0];
  method[0] = ALL;
  parent[0] = -1;
  let level = 0, threads = 0, folds = 0;
  for (let i = 1; i < count; i++) {
    level += raw.nodes.step[i - 1];
    depth[i] = level + 1;
    for (; open.length > level + 1; open.pop()) end[open[open.length - 1]] = i;
    parent[i] = open[open.length - 1];
    open.push(i);
    method[i] = raw.nodes.method[i - 1];
    if (method[i] === ROOT) extra[i] = threads++;
    if (method[i] === FOLDED) extra[i] = raw.nodes.folded[folds++];
  }
  const self = raw.nodes.self.map((/** @type {number[]} */ column) => {
    const values = new Float64Array(count);
    values.set(column, 1);
    return values;
  });
  return { count, depth, parent, method, end, extra, self };
})();
raw.nodes = null;

const threadRoots = [];
for (let i = 1; i < tree.count; i = tree.end[i]) threadRoots.push(i);

/** Sums over subtrees, by metric; made when first asked for. @type {Float64Array[]} */
const totalsOf = [];
function totals(metric) {
  if (!totalsOf[metric]) {
    const sums = tree.self[metric].slice();
    for (let i = tree.count - 1; i > 0; i--) sums[tree.parent[i]] += sums[i];
    totalsOf[metric] = sums;
  }
  return totalsOf[metric];
}

/** Methods: [class, name, descriptor, flags], texts by index. */
const methods = raw.methods.map(([cls, name, descriptor, opaque]) => {
  const className = raw.strings[cls], methodName = raw.strings[name];
  return {
    className, methodName, opaque: opaque === 1,
    full: className ? className + '.' + methodName : methodName,
    short: className ? className.slice(className.lastIndexOf('.') + 1) + '.' + methodName : methodName,
    signature: signature(raw.strings[descriptor]),
    kind: opaque ? 'native' : /^(java|javax|jdk|sun|com\.sun)\./.test(className) ? 'jdk' : 'app',
  };
});

/** `(I[Ljava/lang/String;)V` as `(int, String[])`; the empty text when it is not a descriptor. */
function signature(descriptor) {
  const basic = { B: 'byte', C: 'char', D: 'double', F: 'float', I: 'int', J: 'long', S: 'short', Z: 'boolean' };
  const match = /^\((.*)\)/.exec(descriptor);
  if (!match) return '';
  const types = match[1].match(/\[*(?:L[^;]*;|[BCDFIJSZ])/g) || [];
  return '(' + types.map(type => {
    const item = type.replace(/^\[+/, '');
    const name = item[0] === 'L' ? item.slice(1, -1).split('/').pop() : basic[item];
    return name + '[]'.repeat(type.length - item.length);
  }).join(', ') + ')';
}

function threadName(index) {
  const thread = raw.threads[index];
  return thread.count > 1 ? `${thread.name} (${whole(thread.count)} threads)` : thread.name;
}

/** What a frame of either flame graph is called: `method` as in `tree`, `extra` as there. */
function frameName(method, extra) {
  if (method >= 0) return methods[method].full;
  if (method === ALL) return 'All threads';
  if (method === ROOT) return threadName(extra);
  return extra === 1 ? '1 lighter context, folded' : `${whole(extra)} lighter contexts, folded`;
}
