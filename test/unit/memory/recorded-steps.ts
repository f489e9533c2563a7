import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { emptyLedger } from '../../../server/src/memory/ledger';
import { pipelineStages } from '../../../server/src/memory/pipeline';
import { shardingOf } from '../../../server/src/memory/sharding';
import { type StepWalk, walkStep } from '../../../server/src/memory/step';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

interface Phase {
  readonly peak: number;
}
interface Case {
  readonly id: string;
  readonly run: RunValues;
  readonly model: Record<string, unknown>;
  readonly results: {
    readonly parameters: { readonly total: number; readonly trainable: number };
    readonly forward: Phase;
    readonly backward: Phase;
    readonly optimizer: Phase;
    readonly peak: number;
    /** Tensors in host memory of one process when the optimizer steps, where something is offloaded. */
    readonly host?: number;
  };
}

/** Cases of a file beside the recording scripts. */
export function recordedCases(name: string): readonly Case[] {
  const file = path.join(process.cwd(), 'test', 'oracle', name);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).cases : [];
}

function highest(step: StepWalk, ...moments: string[]): number {
  return Math.max(...step.points.filter((p) => moments.includes(p.moment)).map((p) => p.bytes));
}

export interface Row {
  readonly id: string;
  readonly errors: Readonly<Record<string, number>>;
}

/** Elements of the biases that balance experts, which are buffers in transformers' DeepSeek and no parameters. */
function balancingBiases(stages: readonly TracedStage[]): number {
  let elements = 0;
  for (const { tape, copies } of stages)
    for (const weight of tape.weights)
      if (/correction_bias$/.test(weight.name)) elements += copies * weight.elements;
  return elements;
}

/** Relative errors of the walk against the recorded run of one GPU: the highest bytes of each phase. */
export function compareRecorded({ id, run: values, model: config, results }: Case): Row {
  const model = modelFromConfig(config, id, 'inline');
  assert.ok(!('error' in model), id);
  // The recordings wrap embedding and head apart, and give back what ends the model, where they say so.
  const transformers = { 'fsdp.separateEnds': false, 'fsdp.reshardsEnds': false };
  const run = aRun({ ...(values['model.code'] === undefined && transformers), ...values });
  // Without a pipeline all on one stage, on which layers may differ in what they keep.
  const [{ stages } = assert.fail(id)] = pipelineStages(traceRun(model, run), run);
  const sums = sumWeights(stages, run);
  const sharding = shardingOf(run, sums, stages);
  const walk = walkStep(stages, run, sharding, emptyLedger());
  const host = sharding.host.reduce((sum, { bytes }) => sum + bytes, 0) / run['hardware.gpus'];
  const off = (actual: number, expected: number) => actual / expected - 1;
  if (process.env.OOMLINT_ORACLE_CASE && id.includes(process.env.OOMLINT_ORACLE_CASE)) {
    for (const { moment, label, bytes } of walk.points) console.log(moment, label, bytes);
    console.log(results);
  }
  return {
    id,
    errors: {
      parameters: off(sums.total - balancingBiases(stages), results.parameters.total),
      forward: off(highest(walk, 'forward', 'loss'), results.forward.peak),
      backward: off(highest(walk, 'backward', 'gradient-reduction'), results.backward.peak),
      step: off(highest(walk, 'optimizer-step'), results.optimizer.peak),
      peak: off(walk.peak.bytes, results.peak),
      ...(results.host !== undefined && { host: off(host, results.host) }),
    },
  };
}

/** Errors of all cases, printed where `OOMLINT_ORACLE` asks for them. */
export function compareAll(cases: ReturnType<typeof recordedCases>): readonly Row[] {
  const rows = cases.map(compareRecorded);
  if (!process.env.OOMLINT_ORACLE) return rows;
  for (const { id, errors } of rows) {
    const text = Object.entries(errors).map(([k, v]) => `${k} ${(100 * v).toFixed(2)}`);
    console.log(`${id.padEnd(66)} ${text.join('  ')}`);
  }
  return rows;
}

/** Cases whose error is larger than this share, with the error; one without the figure is, too. */
export const casesBeyond = (rows: readonly Row[], key: string, most: number): readonly string[] =>
  rows
    .filter(({ errors }) => Math.abs(errors[key] ?? 1) > most)
    .map(({ id, errors }) => `${id} ${errors[key]}`);
