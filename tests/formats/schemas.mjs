// Our JSON against our schema, speedscope's against its own, and the SVG against an XML parser.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { spawnSync } from 'node:child_process';
import { require, sample, done } from './truth.mjs';

const Ajv = require('ajv').default;
const read = file => JSON.parse(fs.readFileSync(file, 'utf8'));
const ajv = new Ajv({ strict: false, allowUnionTypes: true });
const ours = ajv.compile(read(new URL('../../crates/formats/schema/profile.schema.json', import.meta.url)));
const speedscope = ajv.compile(read(require.resolve('speedscope/dist/release/file-format-schema.json')));
const names = ['shop', 'hostile', 'deep', 'empty'];

for (const name of names) {
  const profile = read(sample(`${name}.json`));
  assert.ok(ours(profile), `${name}.json: ${ajv.errorsText(ours.errors)}`);
  const { count, self, ...columns } = profile.nodes;
  for (const [key, column] of [...Object.entries(columns), ...Object.entries(self)]) {
    assert.equal(column.length, count, `${name}.json: column ${key}`);
  }
  const file = `${name}.speedscope.json`;
  assert.ok(speedscope(read(sample(file))), `${file}: ${ajv.errorsText(speedscope.errors)}`);
}
done('JSON and speedscope files satisfy their schemas');

const parser = 'import sys, xml.dom.minidom as m; [m.parse(f) for f in sys.argv[1:]]';
const python = spawnSync('python3', ['-c', parser, ...names.map(name => sample(`${name}.svg`))], { encoding: 'utf8' });
assert.equal(python.status, 0, python.stderr);
done('flame graphs are well-formed XML');
