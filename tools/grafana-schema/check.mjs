// Checks dashboards against the TypeScript types that Grafana publishes for dashboards, and for the options of each type
// of panel. Standard input is a JSON object of dashboards by name. Standard output contains the errors of the compiler.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = process.argv[2]; // the folder that has node_modules
const ts = createRequire(path.join(root, 'package.json'))('typescript');
const raw = path.join(root, 'node_modules/@grafana/schema/dist/esm/raw');
const kinds = { timeseries: 'TimeSeries', stat: 'Stat', gauge: 'Gauge', bargauge: 'BarGauge', table: 'Table', heatmap: 'Heatmap' };

const lines = [
  `import type * as dashboard from '${raw}/dashboard/x/dashboard_types.gen';`,
  `import type * as common from '@grafana/schema';`,
  ...Object.entries(kinds).map(([kind, name]) => `import type * as ${kind} from '${raw}/composable/${kind}/panelcfg/x/${name}PanelCfg_types.gen';`),
];
const names = [];
const check = (what, type, value) => {
  names[lines.length] = what;
  lines.push(`export const v${lines.length}: ${type} = ${JSON.stringify(value)};`);
};
for (const [name, dashboard] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  check(name, 'dashboard.Dashboard', { ...dashboard, panels: [] });
  for (const panel of dashboard.panels) {
    const what = `${name}: ${panel.title}`;
    if (panel.type === 'row') {
      check(what, 'dashboard.RowPanel', panel);
      continue;
    }
    check(what, 'dashboard.Panel', panel);
    check(what, `${panel.type}.Options`, panel.options);
    const custom = panel.fieldConfig.defaults.custom;
    if (custom) {
      check(what, panel.type === 'table' ? 'Partial<common.TableFieldOptions>' : `${panel.type}.FieldConfig`, custom);
    }
  }
}

// The function unions replaces each enum type by the union of its values, because values of enums are strings in JSON.
const enums = /(export )?declare (?:const )?enum (\w+) \{([^}]*)\}/g;
const unions = (text) =>
  text.replace(enums, (_, exported = '', name, body) => {
    const members = [...body.matchAll(/(\w+) = ([^,\n]+)/g)];
    const each = members.map(([, member, value]) => `export type ${member} = ${value};`).join(' ');
    return `${exported}type ${name} = ${members.map((m) => m[2]).join(' | ')}; ${exported}declare namespace ${name} { ${each} }`;
  });

const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], moduleResolution: ts.ModuleResolutionKind.Bundler, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
const file = path.join(root, 'dashboards.ts');
const host = ts.createCompilerHost(options);
const { readFile, fileExists, getSourceFile } = host;
host.readFile = (name) => (name === file ? lines.join('\n') : readFile(name));
host.fileExists = (name) => name === file || fileExists(name);
host.getSourceFile = (name, ...rest) => {
  if (name !== file && !name.includes('@grafana/schema')) {
    return getSourceFile(name, ...rest);
  }
  return ts.createSourceFile(name, unions(host.readFile(name)), rest[0]);
};
const program = ts.createProgram([file], options, host);
let errors = 0;
for (const d of ts.getPreEmitDiagnostics(program)) {
  const message = ts.flattenDiagnosticMessageText(d.messageText, ' ');
  const line = d.file && d.file.fileName === file ? names[d.file.getLineAndCharacterOfPosition(d.start).line] : d.file?.fileName;
  process.stdout.write(`${line}: ${message}\n`);
  errors++;
}
process.exit(errors ? 1 : 0);
