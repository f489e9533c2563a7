import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { FIELDS, type RunValues } from '../../server/src/run/fields';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';
import type { Measurement } from './measurement';

/*
 * Megatron-LM's functional tests as measurements: `mem-max-allocated-bytes` of their golden values, beside the arguments that
 * ran, read by the engine itself as they stand in `model_config.yaml`. The figure is of the last rank, the only one that
 * writes (`training/global_vars.py`). Tests are taken whose golden values are of H100 or GB200, where they are kept up to date.
 */

const CASES = 'tests/functional_tests/test_cases';
const RECIPES = 'tests/test_utils/recipes';
/** Machines that golden values are of, with the folder of their recipes; some of H100s stand twice, recorded on other machines. */
const PLATFORMS = {
  dgx_h100: { recipes: 'h100', card: 'H100-SXM5-80GB' },
  dgxh100_dgxc: { recipes: 'h100', card: 'H100-SXM5-80GB' },
  dgx_gb200: { recipes: 'gb200', card: 'GB200' },
} as const;

/** Whose figures are those of a training run of one model that the vocabulary has. */
const FOLDERS = ['bert', 'gpt', 'moe', 't5', 'mixtral', 'hybrid'];

/** Tests that are known not to be met, by name and machine, and what of them is not modelled. */
const UNMET: readonly (readonly [test: RegExp, why: string])[] = [
  [/check_grads/, 'one process runs five layouts in turn and keeps the gradients of each to compare them'],
  [
    /tp_overlap/,
    'what Transformer Engine holds otherwise where transfers overlap its products (user buffers lie outside the allocator)',
  ],
];

/**
 * Tests whose figures on GB200 are of April 2026, in NGC's image 26.02 (`docker/.ngc_version.dev` of those commits), whose torch is one before
 * 2.12; it matters where no workspace is stated.
 */
const OF_OLDER_IMAGE =
  /^(?!gpt\/gpt3_mcore_te_tp2_(?:(?:pp1_resume_torch_dist|pp2)_cp2(?:_calculate_per_token_loss)?_nondeterministic|pp2_cross_entropy_loss_fusion)-).*(?:nondeterministic|cross_entropy_loss_fusion|reshard_(?:1x4|8x1)xNone|reshard_2x1x4\w+_1node)\w*-gb200$/;

interface Machine {
  readonly nodes: number;
  readonly gpus: number;
}

/** Machines of the tests of one card, by folder and test: what its recipes say. */
function machinesOf(checkout: string, recipes: string): Map<string, Machine> {
  const machines = new Map<string, Machine>();
  const folder = path.join(checkout, RECIPES, recipes);
  for (const file of existsSync(folder) ? readdirSync(folder) : []) {
    const [spec = '', products = ''] = readFileSync(path.join(folder, file), 'utf8').split(/^products:/m);
    const model = /^ {2}model: (\S+)/m.exec(spec)?.[1];
    const size = (name: string, text: string) =>
      Number(new RegExp(`^ +${name}: (\\d+)`, 'm').exec(text)?.[1] ?? 0);
    if (!/pretrain_(gpt|bert|t5|hybrid)\.py/.test(spec)) continue;
    for (const product of products.split(/^ +- test_case:/m).slice(1)) {
      const nodes = size('nodes', product) || size('nodes', spec) || 1;
      const gpus = size('gpus', product) || size('gpus', spec) || 8;
      for (const [, name] of product.split(']')[0]?.matchAll(/([\w.-]+)/g) ?? [])
        machines.set(`${model}/${name}`, { nodes, gpus });
    }
  }
  return machines;
}

/** The largest of the figures that a test recorded over its steps, bytes. */
function measuredBytes(file: string): number | undefined {
  const text = readFileSync(file, 'utf8');
  // Some were never recorded.
  if (text.trim() === '') return undefined;
  const golden = JSON.parse(text) as Record<string, { values?: Record<string, unknown> }>;
  const values = Object.values(golden['mem-max-allocated-bytes']?.values ?? {});
  const figures = values.filter((value): value is number => typeof value === 'number');
  return figures.length > 0 ? Math.max(...figures) : undefined;
}

/** Values that are not those of the vocabulary anyway. */
function stated(run: RunValues): RunValues {
  return Object.fromEntries(
    Object.entries(run).filter(([field, value]) => {
      const spec = FIELDS[field as keyof typeof FIELDS];
      const usual = 'default' in spec ? spec.default : undefined;
      return field !== 'framework' && JSON.stringify(value) !== JSON.stringify(usual);
    }),
  ) as RunValues;
}

/** Every test that can be estimated, once where several say the same of the same card. */
export async function writeFunctionalTests(checkout: string, commit: string, out: string): Promise<void> {
  const rows = new Map<string, Measurement>();
  for (const [platform, { recipes, card }] of Object.entries(PLATFORMS)) {
    const machineName = platform.replace('dgx_', '');
    for (const [test, machine] of machinesOf(checkout, recipes)) {
      if (!FOLDERS.includes(test.split('/')[0] ?? '')) continue;
      const golden = `${CASES}/${test}/golden_values_dev_${platform}.json`;
      const config = path.join(checkout, CASES, test, 'model_config.yaml');
      if (!existsSync(path.join(checkout, golden)) || !existsSync(config)) continue;
      const bytes = measuredBytes(path.join(checkout, golden));
      const read =
        bytes === undefined ? undefined : await runOf(readFileSync(config, 'utf8'), test, card, machine);
      if (!read || bytes === undefined) continue;
      const { 'model.config': model, ...values } = read;
      const isOlder = OF_OLDER_IMAGE.test(`${test}-${machineName}`) && !values['allocator.cublasWorkspace'];
      const run: RunValues = isOlder ? { ...values, 'version.torch': '2.11' } : values;
      const features = run['features.unmodelled'] ?? [];
      const unmet =
        features.length > 0
          ? `not modelled: ${features.join(', ')}`
          : UNMET.find(([pattern]) => pattern.test(`${test}-${machineName}`))?.[1];
      const row: Measurement = {
        id: `megatron-${test.replace('/', '-')}-${machineName}`,
        framework: 'Megatron-LM',
        method: test.startsWith('moe') || test.startsWith('mixtral') ? 'full, experts' : 'full',
        source: `NVIDIA/Megatron-LM@${commit} ${golden}`,
        what: 'allocated',
        rank: 'last',
        measuredBytes: bytes,
        ...(unmet === undefined ? {} : { unmet }),
        scored: unmet === undefined,
        run: { 'model.id': test, ...run },
        config: model,
      };
      const key = JSON.stringify([row.run && { ...row.run, 'model.id': '' }, row.config, bytes]);
      if (!rows.has(key)) rows.set(key, row);
    }
  }
  writeFileSync(out, [...rows.values()].map((row) => `${JSON.stringify(row)}\n`).join(''));
}

async function runOf(
  yaml: string,
  test: string,
  card: string,
  { nodes, gpus }: Machine,
): Promise<RunValues | undefined> {
  const uri = `file:///w/${test}/model_config.yaml`;
  const machine = `# oomlint: gpu=${card} gpus=${nodes * gpus} nodes=${nodes}\n`;
  const analysis = await new Workspace(new MemoryHost({ [uri]: machine + yaml })).analyze(uri);
  return analysis?.estimate && analysis.resolved.run ? stated(analysis.resolved.values) : undefined;
}
