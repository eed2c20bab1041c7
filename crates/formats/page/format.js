// Numbers for people.
const integers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

function whole(value) {
  return integers.format(value);
}

function percent(part, total) {
  if (!(total > 0)) return '–';
  if (part === 0) return '0 %';
  const share = 100 * part / total;
  if (share > 0 && share < 0.01) return '< 0.01 %';
  if (share >= 99.995) return part < total ? '> 99.99 %' : '100 %';
  return share.toFixed(share >= 9.995 ? 1 : 2) + ' %';
}

const scales = {
  nanoseconds: [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']],
  bytes: [[1 << 30, 'GiB'], [1 << 20, 'MiB'], [1 << 10, 'KiB'], [1, 'B']],
};

/** Counts in full; times and sizes in a unit that suits them, with `exact` for the rest. */
function amount(value, metric) {
  const scale = scales[metric.unit];
  if (!scale) return whole(value);
  const [size, unit] = scale.find(([size]) => value >= size) || scale[scale.length - 1];
  return (size === 1 ? whole(value) : (value / size).toFixed(2)) + ' ' + unit;
}

/** The unit that suits the largest of some values: a column has one, in its head. */
function columnUnit(largest, metric) {
  const scale = scales[metric.unit];
  return scale ? scale.find(([size]) => largest >= size) || scale[scale.length - 1] : [1, ''];
}

/** A value in a column's unit. */
function inUnit(value, [size]) {
  return size === 1 ? whole(value) : (value / size).toFixed(2);
}

function exact(value, metric) {
  const number = whole(value) + ' ' + (metric.unit === 'count' ? metric.name : metric.unit);
  return scales[metric.unit] && value >= 1000 ? `${amount(value, metric)} (${number})` : number;
}

/** An element with a class and children; strings become text, never markup. */
function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

/** Adds `text` to `parent`, with `ranges` of it marked; `offset` is where the text starts in what was searched. */
function marked(parent, text, ranges, offset) {
  let from = 0;
  for (const range of ranges) {
    const start = Math.max(from, range[0] - offset), end = Math.min(text.length, range[1] - offset);
    if (start >= end) continue;
    if (start > from) parent.append(text.slice(from, start));
    parent.append(element('mark', '', text.slice(start, end)));
    from = end;
  }
  if (from < text.length) parent.append(text.slice(from));
}
