// The method table. Its numbers were counted over the whole profile, not over the part of the tree in this page.

const PAGE_ROWS = 100;
const table = { sort: 'self', descending: true, shown: PAGE_ROWS };

/** Rows for a thread, or for all of them: own and total values by metric. */
const rowsOf = new Map();
function methodRows(thread) {
  if (rowsOf.has(thread)) return rowsOf.get(thread);
  const byMethod = new Map(), rest = { count: 0 };
  for (const index of thread < 0 ? raw.tables.keys() : [thread]) {
    const part = raw.tables[index];
    rest.count += part.rest;
    part.method.forEach((method, i) => {
      let row = byMethod.get(method);
      if (!row) byMethod.set(method, row = { method, self: raw.metrics.map(() => 0), total: raw.metrics.map(() => 0) });
      raw.metrics.forEach((_, m) => { row.self[m] += part.self[m][i]; row.total[m] += part.total[m][i]; });
    });
  }
  const result = { rows: [...byMethod.values()], rest: rest.count };
  rowsOf.set(thread, result);
  return result;
}

function tableColumns(metric, rows) {
  let calls = raw.metrics.findIndex(m => m.count);
  if (calls >= 0 && !rows.some(row => row.self[calls] > 0)) calls = -1;
  const columns = [{ key: 'name', label: 'Method' }];
  if (raw.metrics[metric].count) {
    columns.push({ key: 'self', label: raw.metrics[metric].name });
  } else {
    columns.push({ key: 'self', label: 'Self' }, { key: 'total', label: 'Total' });
    if (calls >= 0) columns.push({ key: 'calls', label: 'Calls' });
  }
  return { columns, calls };
}

/** @param {{thread: number, metric: number, total: number, matcher: any, found: any, pick: (method: number) => void}} state */
function drawTable(state) {
  const { metric, matcher, found } = state, info = raw.metrics[metric];
  const { rows, rest } = methodRows(state.thread);
  const { columns, calls } = tableColumns(metric, rows);
  const unit = columnUnit(rows.reduce((most, row) => Math.max(most, row.total[metric], row.self[metric]), 0), info);
  if (!columns.some(column => column.key === table.sort)) table.sort = 'self';
  const head = document.getElementById('columns');
  const focused = document.activeElement && document.activeElement.closest('th') && document.activeElement.id;
  head.replaceChildren(...columns.map(({ key, label }) => {
    const units = unit[1] && (key === 'self' || key === 'total') ? `, ${unit[1]}` : '';
    const button = element('button', '', label + units + (key === table.sort ? table.descending ? ' ↓' : ' ↑' : ''));
    button.id = 'sort-' + key;
    button.addEventListener('click', () => {
      table.descending = key === table.sort ? !table.descending : key !== 'name';
      table.sort = key;
      drawTable(state);
    });
    const th = element('th', '', button);
    th.scope = 'col';
    if (key === table.sort) th.ariaSort = table.descending ? 'descending' : 'ascending';
    return th;
  }));
  if (focused) document.getElementById(focused)?.focus();

  const value = {
    name: row => methods[row.method].full, self: row => row.self[metric],
    total: row => row.total[metric], calls: row => row.self[calls],
  };
  const list = rows.filter(row => (!found || found.byMethod[row.method])
    && (row.self[metric] > 0 || row.total[metric] > 0 || (calls >= 0 && row.self[calls] > 0)));
  const by = value[table.sort], sign = table.descending ? -1 : 1;
  list.sort((a, b) => {
    const left = by(a), right = by(b);
    return (left < right ? -sign : left > right ? sign : 0) || a.method - b.method;
  });
  document.getElementById('rows').replaceChildren(...list.slice(0, table.shown).map(row => {
    const method = methods[row.method];
    const name = element('td', 'name');
    const ranges = matcher ? matcher.ranges(method.full) : [];
    const prefix = method.className ? method.className + '.' : '';
    const cls = element('span', 'class'), own = element('span', 'method');
    marked(cls, prefix, ranges, 0);
    marked(own, method.methodName, ranges, prefix.length);
    name.append(cls);
    name.append(own, element('span', 'sig', method.signature));
    name.title = method.full + method.signature;
    const line = element('tr', '', name);
    for (const { key } of columns.slice(1)) {
      const number = value[key](row), cell = element('td', key === 'calls' ? 'calls' : 'num ' + key);
      if (key === 'calls') cell.append(whole(number));
      else {
        const bar = element('i');
        bar.style.width = Math.min(100, 100 * number / (state.total || 1)) + '%';
        cell.append(inUnit(number, unit), ' ', element('span', 'pct', percent(number, state.total)), element('div', 'fill', bar));
        cell.title = exact(number, info);
      }
      line.append(cell);
    }
    line.tabIndex = 0;
    line.addEventListener('click', () => state.pick(row.method));
    line.addEventListener('keydown', event => {
      if (event.key === 'Enter') state.pick(row.method);
      const to = event.key === 'ArrowDown' ? line.nextElementSibling : event.key === 'ArrowUp' ? line.previousElementSibling : null;
      if (to) { event.preventDefault(); /** @type {HTMLElement} */ (to).focus(); }
    });
    return line;
  }));
  document.getElementById('table-note').textContent = whole(list.length) + (list.length === 1 ? ' method' : ' methods')
    + (rest && !found ? `, and ${whole(rest)} lighter ones that are not in this page` : '');
  const more = document.getElementById('more');
  more.hidden = list.length <= table.shown;
  more.textContent = `Show ${whole(Math.min(400, list.length - table.shown))} more of ${whole(list.length)}`;
  more.onclick = () => { table.shown += 400; drawTable(state); };
}
