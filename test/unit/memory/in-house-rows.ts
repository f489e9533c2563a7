import { existsSync, readFileSync } from 'node:fs';
import type { RunValues } from '../../../server/src/run/fields';

/** One measured run of the in-house notes. */
export interface Row {
  /** What was switched on, in the notes' own terms, outermost last: `base`, `fused LN`. */
  readonly label: string;
  /** Label of the row that this one adds one thing to, where there is one. */
  readonly parent?: string;
  /** As the notes print them, decimal GB. */
  readonly gigabytes: number;
  /** Examples per second and GPU, where the notes print them. */
  readonly rate?: number;
  readonly values: RunValues;
}

const FILE = process.env.OOMLINT_IN_HOUSE ?? '../shared/facts/IN-HOUSE.md';

/** The notes, or undefined where they do not lie beside the repository. */
export function notes(): string | undefined {
  return existsSync(FILE) ? readFileSync(FILE, 'utf8') : undefined;
}

/** Rows of the section whose heading begins so, line by line, split at the middle dots. */
function section(text: string, heading: string): string[][] {
  const part = text.split('\n## ').find((p) => p.startsWith(heading)) ?? '';
  return part
    .split('\n')
    .slice(1)
    .filter((line) => line.trim() !== '')
    .map((line) => line.split('·').map((item) => item.trim()));
}

const ITEM = /^(.*?)\s*(\d+(?:\.\d+)?)(?:,\s*(\d+(?:\.\d+)?))?$/;

/**
 * A BERT of which the notes give layers and width. Heads of 64, as every published BERT has; the vocabulary from the
 * notes' own count of the embedding (316 M parameters at width 3072).
 */
export function encoder(layers: number, hidden: number, keyBias = false, attentionDropout = 0) {
  return {
    model_type: 'bert',
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: hidden / 64,
    intermediate_size: 4 * hidden,
    vocab_size: Math.round(316e6 / 3072),
    max_position_embeddings: 512,
    type_vocab_size: 2,
    hidden_act: 'gelu',
    hidden_dropout_prob: 0.1,
    attention_probs_dropout_prob: attentionDropout,
    use_bias_in_keys: keyBias,
    tie_word_embeddings: true,
  };
}

/**
 * What holds for every row. Logits of masked words alone: `masked_lm_prob` of google-research/bert is 0.15. Hidden dropout as
 * its `bert_config.json` has it; attention dropout is off unless a row switches it on, as the notes list it apart.
 */
export const ALWAYS: RunValues = {
  'model.code': 'tensorflow',
  'parallel.data': 'horovod',
  'zero.stage': 0,
  'hardware.gpus': 8,
  'batch.sequence': 512,
  'loss.tokenShare': 0.15,
};

const ACCUMULATED: RunValues = { 'batch.accumulation': 2 };
/** Variables in fp16, whose fp32 shadows the optimizer steps: see `horovod`. */
const FP16: RunValues = { 'precision.scheme': 'apex-o2', 'precision.compute': 'fp16' };
const BASE: RunValues = { ...FP16, 'kernels.xla': true, 'precision.reduce': 'fp16' };
const LAMB: RunValues = { 'optimizer.name': 'lamb', 'optimizer.implementation': 'fused' };
const BASEF: RunValues = {
  ...BASE,
  ...LAMB,
  'kernels.fusedLayerNorm': true,
  'kernels.fusedSoftmax': true,
};
const OPTIMAL: RunValues = { ...BASEF, 'kernels.fusedGelu': true };
export const OPTIMALD: RunValues = {
  ...OPTIMAL,
  ...ACCUMULATED,
  'zero.stage': 2,
  'precision.gradientAccumulation': 'fp16',
};

/** What each word of a label sets. Dropout and the bias of keys are the architecture's. */
const WORDS: Readonly<Record<string, RunValues>> = {
  baseline: {},
  fp16: FP16,
  xla: { 'kernels.xla': true },
  base: BASE,
  basef: BASEF,
  optimal: OPTIMAL,
  optimald: OPTIMALD,
  wordpiece: {},
  'fused LN': { 'kernels.fusedLayerNorm': true },
  'fused attention softmax': { 'kernels.fusedSoftmax': true },
  'fused attention': { 'kernels.fusedSoftmax': true },
  FusedLAMB: LAMB,
  both: { ...LAMB, 'kernels.fusedSoftmax': true },
  default: {},
  heuristic: { 'activations.checkpointing': 'elementwise' },
  recomputation: { 'activations.checkpointing': 'elementwise' },
  scheduling: {},
  swapping: {},
  suppress_grappler: {},
  'resource variables': { 'kernels.resourceVariables': true },
  'bias in keys': { 'model.config': encoder(24, 1024, true) },
  'attention dropout 0.1': { 'model.config': encoder(24, 1024, false, 0.1) },
  'without fused LN': { 'kernels.fusedLayerNorm': false },
  split_opt_state: { 'zero.stage': 1 },
  'grad accumulation fp32': { ...ACCUMULATED, 'precision.gradientAccumulation': 'fp32' },
  'grad accumulation fp16': { ...ACCUMULATED, 'precision.gradientAccumulation': 'fp16' },
  'gac fp16': { ...ACCUMULATED, 'precision.gradientAccumulation': 'fp16' },
  'with AdamW': { 'optimizer.name': 'adamw', 'optimizer.implementation': 'for-loop' },
  'ZeRO-1': { 'zero.stage': 1 },
  'ZeRO-2': { 'zero.stage': 2 },
  'tp=2': {
    'parallel.tensor': 2,
    'kernels.fusedLayerNorm': false,
    'kernels.fusedSoftmax': false,
  },
};

const PARENTS: Readonly<Record<string, string>> = {
  fp16: 'baseline',
  'fp16+xla': 'fp16',
  base: 'fp16+xla',
  basef: 'base+fused attention softmax',
  optimal: 'basef',
  'optimal+ZeRO-1+gac fp16': 'optimal+grad accumulation fp16',
  'optimal+ZeRO-2+gac fp16': 'optimal+ZeRO-1+gac fp16',
  'optimald+tp=2': 'optimal+ZeRO-2+gac fp16',
  'fused attention': 'base',
  FusedLAMB: 'base',
  both: 'FusedLAMB',
};

function words(label: string): string[] {
  return label
    .replace(/ (with AdamW|without fused LN)/, '+$1')
    .split('+')
    .map((word) => word.trim());
}

function rowsOf(lines: readonly (readonly string[])[], common: RunValues): Row[] {
  const rows: Row[] = [];
  for (const line of lines) {
    let before = '';
    for (const item of line) {
      const match = ITEM.exec(item.replace(/\s*\([^)]*\)/g, ''));
      if (!match) continue;
      let label = (match[1] ?? '').trim();
      // `+x` continues the label before; a bare type continues its last word.
      if (label.startsWith('+')) label = `${before.split('+')[0]}${label}`;
      if (label === 'fp16' && before.includes('accumulation')) label = before.replace(/fp32$/, 'fp16');
      if (!/^\+/.test((match[1] ?? '').trim())) before = label;
      const known = words(label).map((word) => WORDS[word]);
      if (known.some((values) => values === undefined)) throw new Error(`no reading of "${label}"`);
      const parts = words(label);
      const parent = PARENTS[label] ?? (parts.length > 1 ? parts.slice(0, -1).join('+') : undefined);
      rows.push({
        label,
        parent,
        gigabytes: Number(match[2]),
        ...(match[3] ? { rate: Number(match[3]) } : {}),
        values: Object.assign({}, common, ...known),
      });
    }
  }
  return rows;
}

/**
 * "large" is not spelled out: BERT-large (24 layers of 1024), with 32 samples, because attention dropout costs 13.26 GB there,
 * which is 4 bytes for 24 x 16 x 512 x 512 attention weights of 33 samples.
 */
export function largeRows(text: string): Row[] {
  const lines = section(text, 'Measured: "large"');
  const local = lines.filter((line) => line[0]?.startsWith('Local card'));
  const rest = lines.filter((line) => !local.includes(line));
  const common: RunValues = { ...ALWAYS, 'model.config': encoder(24, 1024), 'batch.micro': 32 };
  return rowsOf(rest, common);
}

/** The local card's model is not named: BERT-base on one GPU. */
export function localRows(text: string): Row[] {
  const local = section(text, 'Measured: "large"').filter((line) => line[0]?.startsWith('Local card'));
  const common: RunValues = {
    ...ALWAYS,
    ...BASE,
    'model.config': encoder(12, 768),
    'hardware.gpus': 1,
    'batch.micro': 24,
  };
  const named = local.map((line) => line.map((item) => item.replace(/^.*: /, '').replace(/ GB$/, '')));
  return rowsOf(named, common);
}

/** Larger models: the best settings of "large" (`optimald`, which accumulates) with what a row states of itself. */
export function largerRows(text: string): Row[] {
  const rows: Row[] = [];
  let shape: readonly [number, number] = [24, 2048];
  let head = '';
  let nodes = '';
  for (const line of section(text, 'Measured: larger')) {
    for (const item of line) {
      const pieces = /^(.*?)\s(\d+(?:\.\d+)?),\s*(\d+(?:\.\d+)?)/.exec(item);
      if (!pieces) continue;
      const own = (pieces[1] ?? '').replace(/:$/, '');
      const sizes = /l=(\d+) h=(\d+)/.exec(own);
      if (sizes) shape = [Number(sizes[1]), Number(sizes[2])];
      else if (/xxlarge/.test(own)) shape = [48, 3072];
      else if (/^xlarge/.test(own)) shape = [24, 2048];
      // What an item leaves out is as in the one before it: the batch, and for a way to split, the nodes.
      if (/bs=/.test(own)) head = '';
      const reported = /\d+ nodes?/.exec(own)?.[0];
      if (reported) nodes = reported;
      const stated = [head, /greedy|naive/.test(own) && !reported ? nodes : '', own]
        .filter(Boolean)
        .join(' ');
      if (/bs=/.test(own)) head = /bs=\d+/.exec(own)?.[0] ?? '';
      const [layers, hidden] = shape;
      rows.push({
        label: /l=|xlarge/.test(stated) ? stated : `l=${layers} h=${hidden} ${stated}`,
        gigabytes: Number(pieces[2]),
        rate: Number(pieces[3]),
        values: larger(stated, shape),
      });
    }
  }
  return rows;
}

function number(text: string, pattern: RegExp): number | undefined {
  const match = pattern.exec(text);
  return match ? Number(match[1]) : undefined;
}

function larger(stated: string, [layers, hidden]: readonly [number, number]): RunValues {
  const nodes = number(stated, /(\d+) nodes?(?!.*\d+ nodes)/) ?? number(stated, /nodes=(\d+)/) ?? 1;
  const accumulation = number(stated, /gac=(\d+)/) ?? 1;
  const sequence = number(stated, /seq_len=(\d+)/) ?? 512;
  const batch = number(stated, /bs=(\d+)/) ?? 8;
  const dropout = /attention dropout/.test(stated) ? 0.1 : 0;
  const groups = number(stated, /greedy:(\d+)/);
  return {
    ...ALWAYS,
    ...OPTIMAL,
    'model.config': encoder(layers, hidden, false, dropout),
    'kernels.fusedSoftmax': !/without fused softmax/.test(stated),
    'zero.stage': 2,
    'precision.gradientAccumulation': 'fp16',
    'batch.sequence': sequence,
    // A batch that the accumulation divides is that of a step: 48 samples at once would take 86 GB of 80.
    'batch.micro': batch % accumulation === 0 ? batch / accumulation : batch,
    'batch.accumulation': Math.max(2, accumulation),
    'hardware.gpus': 8 * nodes,
    'hardware.nodes': nodes,
    ...(/naive/.test(stated) ? { 'parallel.variableSplit': 'naive' as const } : {}),
    ...(groups === undefined ? {} : { 'parallel.variableGroups': groups }),
  };
}
