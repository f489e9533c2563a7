import assert from 'node:assert/strict';
import type { EditorMessage, PageState } from '../../client/webview/messages';
import { planValues } from '../../server/src/advice/apply-plan';
import { fixesFor } from '../../server/src/advice/fixes';
import { fixCard, plannedOf } from '../../server/src/features/advice-cards';
import { openedOf } from '../../server/src/features/breakdown';
import { compareRuns } from '../../server/src/features/compare';
import type { Breakdown } from '../../server/src/features/protocol';
import { editorBreakdown, tryKnobs } from '../../server/src/features/try';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';
import { measuredBeside } from './sample';

const HOME = 'file:///project';
const PROJECT = 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\n';
const MODEL = 'defaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';
const deepspeed = (stage: number, micro: number) => `{
  "train_micro_batch_size_per_gpu": ${micro},
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": ${stage}, "overlap_comm": true },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }
}
`;
const PIPELINE = `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \\
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 4096 --max-position-embeddings 4096 \\
  --micro-batch-size 1 --global-batch-size 64 --pipeline-model-parallel-size 4 --tensor-model-parallel-size 2 \\
  --swiglu --bf16 --vocab-size 128256 --train-iters 1000 --lr 1e-4 --use-distributed-optimizer --disable-bias-linear
`;

/** What the panel is sent in one of its states. */
export interface PanelRun {
  readonly file: string;
  readonly breakdown: Breakdown;
  readonly more: readonly EditorMessage[];
  /** What the page kept over a reload. */
  readonly kept?: PageState;
}

async function analysed(files: Readonly<Record<string, string>>, file: string) {
  const host = new MemoryHost(
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${HOME}/${name}`, text])),
    { folders: [HOME] },
  );
  const workspace = new Workspace(host);
  const analysis = await workspace.analyze(`${HOME}/${file}`);
  assert.ok(analysis, file);
  return { workspace, analysis };
}

const NAME = 'ds_config.json';
const onCards = (text: string, more = MODEL) =>
  analysed({ [NAME]: text, 'oomlint.yaml': PROJECT + more }, NAME);

/** Every state that the panel may be in, as the engine answers, in the language that is spoken. */
export const PANEL_RUNS: Readonly<Record<string, () => Promise<PanelRun>>> = {
  fits: async () => {
    const { analysis } = await onCards(deepspeed(3, 1));
    const opened = openedOf(analysis);
    assert.ok(opened);
    return {
      file: NAME,
      breakdown: editorBreakdown(analysis, 1),
      more: [
        { type: 'opened', opened },
        { type: 'cursor', key: 'stage', categories: ['weights', 'gradients', 'optimizer-states'] },
      ],
    };
  },
  exceeds: async () => {
    const { analysis, workspace } = await onCards(deepspeed(2, 4));
    const fixes = (await fixesFor(analysis, workspace)).map((fix) => fixCard(fix, [HOME]));
    assert.ok(fixes.length > 1);
    return { file: NAME, breakdown: editorBreakdown(analysis, 1), more: [{ type: 'fixes', fixes }] };
  },
  tight: async () => {
    const { analysis, workspace } = await onCards(deepspeed(2, 7), `${MODEL}  checkpointing: full\n`);
    const breakdown = editorBreakdown(analysis, 1);
    assert.equal(breakdown.verdict, 'tight');
    const fixes = (await fixesFor(analysis, workspace)).map((fix) => fixCard(fix, [HOME]));
    assert.ok(fixes.length > 0);
    return { file: NAME, breakdown, more: [{ type: 'fixes', fixes }] };
  },
  'no verdict': async () => {
    const { analysis } = await onCards(
      deepspeed(2, 4).replace('"bf16"', '"sparse_attention": { "mode": "fixed", "block": 16 },\n  "bf16"'),
    );
    const breakdown = editorBreakdown(analysis, 1);
    return { file: NAME, breakdown: { ...breakdown, verdict: 'unknown' }, more: [] };
  },
  'missing facts': async () => {
    const { analysis } = await analysed({ [NAME]: deepspeed(3, 1) }, NAME);
    return { file: NAME, breakdown: editorBreakdown(analysis, 1), more: [] };
  },
  'measured run': async () => {
    const { analysis } = await onCards(deepspeed(3, 1));
    const breakdown = editorBreakdown(analysis, 1);
    assert.ok(breakdown.peak);
    return { file: NAME, breakdown: { ...breakdown, measured: measuredBeside(breakdown.peak) }, more: [] };
  },
  trying: async () => {
    const { analysis, workspace } = await onCards(deepspeed(2, 4));
    const turned = { 'micro-batch': 1, checkpointing: 'full' };
    const tried = tryKnobs(analysis, turned, 1);
    assert.ok(tried?.breakdown);
    const fixes = (await fixesFor(analysis, workspace)).map((fix) => fixCard(fix, [HOME]));
    const planned = plannedOf(await planValues(analysis, tried.values, workspace), tried.values, [HOME]);
    return {
      file: NAME,
      breakdown: editorBreakdown(analysis, 1),
      kept: { uri: analysis.uri, turned },
      more: [
        { type: 'fixes', fixes },
        { type: 'tried', tried },
        { type: 'planned', planned },
      ],
    };
  },
  'pipeline stages': async () => {
    const { analysis } = await analysed({ 'train.sh': PIPELINE, 'oomlint.yaml': PROJECT }, 'train.sh');
    const breakdown = editorBreakdown(analysis, 1);
    assert.ok(breakdown.ranks && breakdown.ranks.length > 1);
    return { file: 'train.sh', breakdown, more: [] };
  },
  compared: async () => {
    const { analysis: before } = await onCards(deepspeed(2, 4));
    const { analysis: after } = await onCards(deepspeed(3, 1), `${MODEL}  checkpointing: full\n`);
    const comparison = compareRuns(before, after);
    assert.ok(comparison);
    return {
      file: NAME,
      breakdown: editorBreakdown(after, 1),
      more: [{ type: 'compared', before: 'HEAD', after: NAME, comparison, turns: true }],
    };
  },
};
