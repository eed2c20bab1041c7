// Search: plain text without regard to case, or a regular expression between slashes.

/** @returns {null | { test: (text: string) => boolean, ranges: (text: string) => number[][], problem?: string }} */
function matcherFor(query) {
  if (!query) return null;
  const expression = /^\/(.+?)\/?$/.exec(query);
  let pattern;
  try {
    pattern = new RegExp(expression ? expression[1] : query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
  } catch {
    return { test: () => false, ranges: () => [], problem: 'not a regular expression' };
  }
  const ranges = text => {
    const found = [];
    for (const match of text.matchAll(pattern)) {
      if (match[0].length) found.push([match.index, match.index + match[0].length]);
    }
    return found;
  };
  return { ranges, test: text => { pattern.lastIndex = 0; return pattern.test(text); } };
}

/** Boxes of a graph that match, from left to right and from the top down. */
function matchingBoxes(graph, hit) {
  const boxes = [];
  for (let box = 0; box < graph.method.length; box++) if (graph.w[box] > 0 && hit(graph.method[box], graph.extra[box])) boxes.push(box);
  return boxes.sort((a, b) => graph.x[a] - graph.x[b] || graph.depth[a] - graph.depth[b]);
}

/** Which methods and threads match, and how much of `root` runs in or below a match, each part counted once. */
function matches(matcher, root, metric) {
  const byMethod = new Uint8Array(methods.length), byThread = new Uint8Array(raw.threads.length);
  let found = 0;
  for (let i = 0; i < methods.length; i++) {
    if (matcher.test(methods[i].full)) { byMethod[i] = 1; found++; }
  }
  for (let i = 0; i < byThread.length; i++) if (matcher.test(raw.threads[i].name)) byThread[i] = 1;
  const hit = (method, extra) => method >= 0 ? byMethod[method] === 1 : method === ROOT && byThread[extra] === 1;
  const sums = totals(metric);
  let weight = 0;
  for (let node = root; node < tree.end[root];) {
    if (hit(tree.method[node], tree.extra[node])) {
      weight += sums[node];
      node = tree.end[node];
    } else node++;
  }
  return { hit, found, weight, byMethod };
}
