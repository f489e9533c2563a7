import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promptGap } from '../../../server/src/memory/prompt-gap';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import type { TraceSettings } from '../../../server/src/model/trace-settings';
import { FIELDS, type RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

/** Task, class, what its file states, and what PEFT trains of each kind of prompt; null where `get_peft_model` stops. */
type Row = readonly [
  TraceSettings['objective'],
  string,
  Readonly<Record<string, unknown>>,
  Readonly<Record<string, number | null>>,
];
interface Oracle {
  readonly tokens: number;
  readonly counts: Readonly<Record<string, readonly Row[]>>;
}

const oracleFile = path.join(process.cwd(), 'test', 'oracle', 'virtual_tokens.json');
const oracle: Oracle = JSON.parse(readFileSync(oracleFile, 'utf8'));

const PROMPTS: Readonly<Record<string, RunValues>> = {
  'prompt-tuning': { 'lora.kind': 'prompt-tuning' },
  'p-tuning': { 'lora.kind': 'p-tuning' },
  'prefix-tuning': { 'lora.kind': 'prefix-tuning' },
  'prefix-tuning, projected': {
    'lora.kind': 'prefix-tuning',
    'lora.prefixProjection': true,
    'lora.encoderSize': 32,
  },
  'prefix-tuning, projected as wide': { 'lora.kind': 'prefix-tuning', 'lora.prefixProjection': true },
};

/** Every class of every type that is built, once. */
const MODELS = Object.entries(oracle.counts).flatMap(([type, rows]) =>
  rows.flatMap(([task, name, fields, counts]) => {
    const config = { model_type: type, architectures: [name], transformers_version: '5.23.0', ...fields };
    const model = modelFromConfig(config, type, 'config.json');
    return 'error' in model ? [] : [{ model, task, name: `${type}, ${task}`, counts }];
  }),
);

const adapted = (task: TraceSettings['objective'], values: RunValues) =>
  aRun({
    'method.kind': 'lora',
    'method.objective': task,
    'lora.task': 'other',
    'lora.virtualTokens': oracle.tokens,
    'batch.micro': 1,
    'batch.sequence': 64,
    'batch.targetSequence': 48,
    ...values,
  });

function trained(stages: readonly TracedStage[]): number {
  const own = ({ tape, copies }: TracedStage) =>
    tape.weights.reduce((sum, { role, elements }) => sum + (role === 'adapter' ? copies * elements : 0), 0);
  return stages.reduce((sum, stage) => sum + own(stage), 0);
}

const learns = (stages: readonly TracedStage[]) =>
  stages.at(-1)?.tape.exit.some(({ requiresGrad }) => requiresGrad) === true;

describe('virtual tokens', () => {
  for (const [kind, values] of Object.entries(PROMPTS))
    it(`${kind}: what PEFT counts, and a graph through the layers, or no estimate`, () => {
      const wrong: string[] = [];
      let counted = 0;
      for (const { model, task, name, counts } of MODELS) {
        const run = adapted(task, values);
        if (promptGap(run, model) !== undefined) continue;
        counted++;
        const stages = traceRun(model, run);
        const [own, expected] = [trained(stages), counts[kind]];
        // Where the config names a size otherwise, `get_peft_model` wants it stated.
        if (expected !== null && own !== expected) wrong.push(`${name}: ${own}, not ${expected}`);
        if (!learns(stages)) wrong.push(`${name}: nothing is learned`);
      }
      assert.deepEqual(wrong, []);
      assert.ok(counted > 150, `${counted} models`);
    });

  const gap = (type: string, kind: 'prompt-tuning' | 'prefix-tuning', task: TraceSettings['objective']) => {
    const { model } =
      MODELS.find(({ model: one, task: own }) => one.modelType === type && own === task) ?? assert.fail(type);
    return promptGap(adapted(task, { 'lora.kind': kind }), model) !== undefined;
  };

  it('are refused where PEFT stops: tried with peft 0.21.2 and transformers 5.23', () => {
    const tried = [
      ['bert', 'classification', false, false],
      ['roberta', 'classification', false, false],
      ['deberta-v2', 'classification', false, true],
      ['electra', 'classification', true, false],
      ['modernbert', 'classification', false, true],
      ['vit', 'classification', true, true],
      ['bart', 'lm', false, false],
      ['bart', 'classification', true, true],
      ['t5', 'lm', false, false],
      ['t5', 'classification', true, true],
      ['llama', 'lm', false, false],
      ['granitemoehybrid', 'lm', false, true],
      ['jamba', 'lm', false, true],
      ['whisper', 'lm', true, true],
    ] as const;
    assert.deepEqual(
      tried.map(([type, task]) => [
        type,
        task,
        gap(type, 'prompt-tuning', task),
        gap(type, 'prefix-tuning', task),
      ]),
      tried,
    );
  });
});

describe('adapters of every kind in every family', () => {
  const OTHERS = FIELDS['lora.kind'].values.filter((kind) => !/-tuning$|^llama-adapter/.test(kind));
  const bank = (stages: readonly TracedStage[]) =>
    stages.flatMap(({ tape }) => tape.weights).filter(({ name }) => name === 'vblora_vector_bank').length;
  /** Norms between the parts of a model, not of single heads, by the last part of their names. */
  const norms = (model: Model, task: TraceSettings['objective']) =>
    traceRun(model, adapted(task, { 'lora.targets': ['all-linear'] })).flatMap(({ tape }) =>
      tape.weights.flatMap(
        ({ name }) =>
          /(?:^|\.)(?!(?:q|k)_(?:layer)?norm)(\w*norm\w*|ln_\w+)\.(?:weight|bias)$/i.exec(name)?.[1] ?? [],
      ),
    );
  for (const kind of [...OTHERS, 'ln-tuning'] as const)
    it(`${kind} trains something of each model, through its layers`, () => {
      const lacking = (model: Model, task: TraceSettings['objective']) => {
        const targets = kind === 'ln-tuning' ? [...new Set(norms(model, task))] : ['all-linear'];
        const stages = traceRun(model, adapted(task, { 'lora.kind': kind, 'lora.targets': targets }));
        const some = kind === 'ln-tuning' || trained(stages) > 0;
        const banks = kind !== 'vblora' || bank(stages) === 1;
        return !some || !banks || !learns(stages);
      };
      assert.deepEqual(
        MODELS.filter(({ model, task }) => lacking(model, task)).map(({ name }) => name),
        // OLMo's norms have no weights.
        kind === 'ln-tuning' ? ['olmo, lm', 'olmo, classification'] : [],
      );
    });
});
