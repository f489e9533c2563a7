import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { LIBRARIES } from '../../server/src/behaviours/products';
import { behavioursOf } from '../../server/src/behaviours/resolve';
import { type BehaviourCase, TABLE } from '../../server/src/behaviours/table';
import { BEHAVIOUR_FIELDS, behaviours } from '../../server/src/run/behaviours';
import { FIELD_PATHS, type RunValues } from '../../server/src/run/fields';
import { MODEL_CODES } from '../../server/src/terms/model-codes';
import { PRECISION_SCHEMES } from '../../server/src/terms/precision-schemes';
import { behavioursPage } from '../docs/behaviours-page';
import { sourcesOf } from '../house/imports';
import { FORMULAS, knowing, productComparisons } from '../house/products';
import { aRun } from './memory/a-run';

const cases = Object.entries(TABLE).flatMap(([name, { cases }]) =>
  (cases as readonly BehaviourCase<unknown>[]).map((one) => ({ name, ...one })),
);

describe('behaviours', () => {
  it('are what formulas ask for: none names a product or a version', () => {
    const files = FORMULAS.flatMap((folder) => sourcesOf(folder));
    assert.ok(files.length > 100, `only ${files.length} files were found`);
    assert.deepEqual(productComparisons(), []);
  });

  it('stand beside schemes, which nothing asks for by name but what makes them', () => {
    /** What a run of a scheme looks like to the tracer, to optimizers and to adapters is decided before the scheme is made. */
    const makers = ['sharding', 'sharding-scheme', 'megatron', 'horovod', 'fsdp/', 'zero/'];
    const earlier = ['traced-run', 'optimizers', 'kept-entries', 'dormant-states'];
    const asking = [...sourcesOf('server/src/memory'), ...sourcesOf('server/src/explanation')]
      .filter((file) => /\[\s*'(?:parallel\.data|zero\.stage)'\s*\]/.test(readFileSync(file, 'utf8')))
      .map((file) =>
        file
          .replaceAll('\\', '/')
          .replace(/^server\/src\/memory\//, '')
          .replace(/\.ts$/, ''),
      );
    assert.ok(asking.length > 5);
    assert.deepEqual(
      asking.filter(
        (file) =>
          ![...makers, ...earlier].some((one) => file === one || (one.endsWith('/') && file.startsWith(one))),
      ),
      [],
    );
  });

  it('would be missed in every form that stood there before', () => {
    for (const text of [
      "if (run['model.code'] === 'transformers') x();",
      "const mixed = run['precision.scheme'] === 'fsdp';",
      "if (settings.code !== 'megatron') x();",
      "const LOWERED = new Set<Scheme>([\n  'deepspeed',\n  'fsdp',\n]);",
      "run['version.transformers'].startsWith('4.')",
      "/^0\\.[0-7]/.test(run['version.liger'])",
      "import { isAtLeast } from '../terms/version';",
    ]) {
      assert.notDeepEqual(knowing(text), [], text);
    }
    assert.deepEqual(
      knowing("// run['model.code'] === 'megatron'\nconst rollout = engine === 'transformers';"),
      [],
    );
  });

  it('hang on the fields that they are resolved from, and every version is one of them', () => {
    assert.deepEqual(
      FIELD_PATHS.filter((field) => field.startsWith('version.')),
      BEHAVIOUR_FIELDS.filter((field) => field.startsWith('version.')),
    );
    assert.deepEqual(
      LIBRARIES.map((of) => `version.${of}`),
      BEHAVIOUR_FIELDS.filter((field) => field.startsWith('version.')),
    );
  });

  it('are resolved once for a run, and once for runs with the same products', () => {
    const run = aRun({});
    assert.equal(behaviours(run), behaviours(run));
    assert.equal(behaviours(aRun({ 'batch.micro': 7 })), behaviours(run));
    assert.notEqual(behaviours(aRun({ 'model.code': 'megatron' })), behaviours(run));
  });

  it('change with the product, and with the version where the table has it', () => {
    const versions = Object.fromEntries(LIBRARIES.map((of) => [of, '99'])) as Record<
      (typeof LIBRARIES)[number],
      string
    >;
    const plain = { code: 'timm', scheme: 'native', versions } as const;
    for (const { name, value, code, scheme, library } of cases) {
      const does = (version: string | undefined) =>
        behavioursOf({
          code: code?.[0] ?? plain.code,
          scheme: scheme?.[0] ?? plain.scheme,
          versions: library && version !== undefined ? { ...versions, [library.of]: version } : versions,
        })[name as keyof typeof TABLE];
      const below = (edge: string) => edge.replace(/\d+$/, (last) => String(Number(last) - 1));
      const { since, before } = library ?? {};
      assert.equal(does(before ? below(before) : since), value, `${name} of ${code ?? scheme}`);
      for (const version of [...(since ? [below(since)] : []), ...(before ? [before] : [])])
        assert.notEqual(does(version), value, name);
    }
  });

  // Read in the releases on both sides of each step.
  it('change where the releases do', () => {
    const steps: readonly (readonly [keyof typeof TABLE, RunValues, RunValues])[] = [
      ['ligerAddsInPlace', { 'version.liger': '0.8.2' }, { 'version.liger': '0.8.3' }],
      ['flattensOnGpu', { 'version.deepspeed': '0.18.6' }, { 'version.deepspeed': '0.18.7' }],
      ['readsAheadOfQuantizing', { 'version.transformers': '4.57.1' }, { 'version.transformers': '5.0.0' }],
      ['readsAheadOfQuantizing', { 'version.transformers': '5.4.0' }, { 'version.transformers': '5.3.0' }],
      ['makesWholeChangeOfExperts', { 'version.peft': '0.21.0' }, { 'version.peft': '0.20.0' }],
      ['convertsNamesOfExperts', { 'version.peft': '0.18.1' }, { 'version.peft': '0.19.0' }],
      ['convertsPatternsOfExperts', { 'version.peft': '0.19.1' }, { 'version.peft': '0.20.0' }],
      ['upcastsBeforeSharding', { 'version.accelerate': '1.13.0' }, { 'version.accelerate': '1.14.0' }],
    ];
    for (const [name, before, since] of steps) {
      assert.equal(behaviours(aRun(before))[name], false, name);
      assert.equal(behaviours(aRun(since))[name], true, name);
    }
  });

  it('name their source at a version', () => {
    for (const { name, source } of cases) {
      assert.match(source, /^https:\/\//, name);
      assert.doesNotMatch(source, /\/(?:blob|tree)\/(?:main|master)\//, name);
    }
  });

  it('know every product', () => {
    const reported = new Set(cases.flatMap(({ code = [], scheme = [] }) => [...code, ...scheme]));
    const untold = [...MODEL_CODES, ...PRECISION_SCHEMES].filter((product) => !reported.has(product));
    assert.deepEqual(untold, []);
  });

  it('are on a page of the documentation, as the table has them', () => {
    const page = behavioursPage(readFileSync('server/src/behaviours/behaviours.ts', 'utf8'));
    assert.equal(readFileSync('docs/behaviours.md', 'utf8'), page, 'node scripts/behaviours-page.mjs');
    for (const name of Object.keys(TABLE)) assert.ok(page.includes(`| \`${name}\`: `), name);
  });
});
