import type { FixCard, Planned } from '../../server/src/features/advice-protocol';
import type { MeasuredBeside } from '../../server/src/features/measured-protocol';
import type {
  Breakdown,
  ChoiceKnob,
  Comparison,
  KnobId,
  Opened,
  RankFigures,
  Tried,
} from '../../server/src/features/protocol';
import type { Category, Moment, Part, Sample } from '../../server/src/results/estimate';
import { CATEGORY_LABELS } from '../../server/src/results/labels';

const GIB = 2 ** 30;

function parts(...entries: (readonly [Category, number, string?])[]): Part[] {
  return entries.map(([category, gib, formula]) => ({ category, bytes: Math.round(gib * GIB), formula }));
}

const PARTS = parts(
  ['weights', 1.87, '2 B × 8.03B parameters / 8'],
  ['master-weights', 3.74, '4 B × 8.03B parameters / 8'],
  ['gradients', 3.74, '4 B × 8.03B parameters / 8'],
  ['optimizer-states', 7.48, '2 × 4 B × 8.03B parameters / 8'],
  ['activations', 4.31, '34 B × 4,096 tokens × 4,096 × 2 sequences'],
  ['checkpoints', 2, '2 B × 4,096 tokens × 4,096 × 2 sequences × 32 layers'],
  ['logits-and-loss', 15.66, '(4 + 4 + 2) B × 8,192 tokens × 128,256'],
  ['gathered-parameters', 0.81, '2 B × 218M parameters × 2 layers'],
  ['communication-buffers', 1.2],
  ['allocator-overhead', 2.9, '7 % of what is allocated'],
  ['cuda-context', 0.5],
);

function timeline(): Sample[] {
  const rest = parts(
    ['weights', 1.87],
    ['master-weights', 3.74],
    ['gradients', 3.74],
    ['optimizer-states', 7.48],
  );
  const sample = (moment: Moment, label: string, ...extra: Part[]): Sample => {
    const all = [...rest, ...extra];
    return { moment, label, parts: all, bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  };
  const layer = parts(['activations', 4.31], ['gathered-parameters', 0.81]);
  const kept = (layers: number): Part[] => parts(['checkpoints', layers * 0.0625]);
  const samples: Sample[] = [];
  for (let index = 0; index < 32; index++) {
    samples.push(sample('forward', `layer ${index} forward`, ...kept(index + 1), ...layer));
  }
  samples.push(
    sample('loss', 'cross-entropy', ...kept(32), ...parts(['logits-and-loss', 15.66], ['activations', 4.31])),
  );
  for (let index = 31; index >= 0; index--) {
    samples.push(sample('backward', `layer ${index} backward`, ...kept(index + 1), ...layer));
  }
  samples.push(sample('gradient-reduction', 'gradient reduction', ...parts(['communication-buffers', 1.2])));
  samples.push(sample('optimizer-step', 'optimizer step', ...parts(['optimizer-transients', 3.74])));
  return samples;
}

function choice(id: KnobId, value: string, ...options: string[]): ChoiceKnob {
  return { id, kind: 'choice', value, options: options.map((name) => ({ id: name, label: name })) };
}

const PROCESS = PARTS.reduce((sum, { bytes }) => sum + bytes, 0);

/** A run that fits: Llama 3.1 8B in full on eight GPUs. */
export const FITS: Breakdown = {
  version: 3,
  file: '/project/ds_config.json',
  files: ['/project/ds_config.json', '/project/oomlint.yaml'],
  dialect: { id: 'deepspeed', name: 'DeepSpeed' },
  model: {
    id: 'meta-llama/Llama-3.1-8B',
    modelType: 'llama',
    totalParameters: 8_030_261_248,
    trainableParameters: 8_030_261_248,
    activeParameters: 8_030_261_248,
  },
  hardware: { gpu: 'H100-SXM5-80GB', gpus: 8, nodes: 1, capacityBytes: Math.round(79.2 * GIB) },
  verdict: 'fits',
  peak: {
    allocatedBytes: PROCESS - Math.round(3.4 * GIB),
    reservedBytes: PROCESS - Math.round(0.5 * GIB),
    processBytes: PROCESS,
    lowerBytes: PROCESS - Math.round(1.4 * GIB),
    upperBytes: PROCESS + Math.round(2.1 * GIB),
    moment: 'loss',
    label: 'cross-entropy',
    rank: 0,
  },
  parts: PARTS,
  timeline: timeline(),
  host: {
    bytesPerNode: Math.round(12.5 * GIB),
    parts: [{ label: 'pinned buffers', bytes: Math.round(12.5 * GIB) }],
    moment: 'training',
    verdict: 'unknown',
  },
  compute: {
    flopsPerStep: 4.21e15,
    modelFlopsPerStep: 3.16e15,
    hfuFlopsPerStep: 3.16e15,
    forwardFlopsPerStep: 1.05e15,
    profiledFlopsPerStep: 3.16e15,
    recomputedFlopsPerStep: 0,
    referenceFlopsPerStep: 0,
    tokensPerStep: 65_536,
    pflopDaysPerStep: 4.87e-5,
    pflopDaysTotal: 0.487,
  },
  assumptions: [
    {
      field: 'hardware.gpu',
      value: 'H100-SXM5-80GB',
      source: 'oomlint.yaml',
      kind: 'project',
    },
    {
      field: 'zero.reduceBucket',
      value: 500_000_000,
      source: 'DeepSpeed 0.19 default',
      kind: 'default',
      link: 'https://www.deepspeed.ai/docs/config-json/',
    },
    {
      field: 'attention.implementation',
      value: 'sdpa',
      source: 'transformers 4.57 default',
      kind: 'default',
    },
    {
      field: 'model.path',
      value: './model',
      source: 'guessed',
      link: 'javascript:alert(1)',
      kind: 'inferred',
    },
  ],
  unknown: [],
  notes: ['Fragmentation is taken as 7 %, the middle of what was measured.'],
  diagnostics: [],
  keys: [
    {
      field: 'zero.stage',
      key: 'zero_optimization.stage',
      uri: 'file:///project/ds_config.json',
      range: { start: { line: 4, character: 13 }, end: { line: 4, character: 14 } },
      categories: ['weights', 'master-weights', 'gradients', 'optimizer-states'],
      places: {},
    },
    {
      field: 'batch.micro',
      key: 'train_micro_batch_size_per_gpu',
      uri: 'file:///project/ds_config.json',
      range: { start: { line: 1, character: 36 }, end: { line: 1, character: 37 } },
      categories: ['activations', 'checkpoints', 'logits-and-loss'],
      places: {},
    },
  ],
  knobs: [
    { id: 'micro-batch', kind: 'number', value: 2, steps: [1, 2, 4, 8, 16] },
    { id: 'accumulation', kind: 'number', value: 4, steps: [1, 2, 4, 8] },
    { id: 'sequence', kind: 'number', value: 4096, steps: [1024, 2048, 4096, 8192] },
    {
      id: 'rank',
      kind: 'number',
      value: 8,
      steps: [4, 8, 16],
      needs: { knob: 'method', values: ['lora', 'qlora'] },
    },
    { id: 'gpus', kind: 'number', value: 8, steps: [1, 2, 4, 8, 16] },
    choice('checkpointing', 'full', 'none', 'selective', 'full'),
    choice('optimizer', 'adamw', 'adamw', 'adamw-8bit', 'sgd'),
    choice('method', 'full', 'full', 'lora', 'qlora'),
    choice('precision', 'bf16', 'fp32', 'bf16', 'fp16'),
    choice('sharding', 'zero-3', 'zero-0', 'zero-1', 'zero-2', 'zero-3'),
    choice('offload', 'none', 'none', 'optimizer', 'all'),
    choice('gpu', 'H100-SXM5-80GB', 'H100-SXM5-80GB', 'A100-SXM4-40GB'),
  ],
};

/** The same run on a smaller card. */
export const EXCEEDS: Breakdown = {
  ...FITS,
  version: 4,
  verdict: 'exceeds',
  hardware: { gpu: 'RTX-3090', gpus: 8, nodes: 1, capacityBytes: Math.round(23.5 * GIB) },
};

/** A DeepSpeed file alone: it names no model and no batch. */
export const UNKNOWN: Breakdown = {
  file: '/project/ds_config.json',
  files: ['/project/ds_config.json'],
  dialect: { id: 'deepspeed', name: 'DeepSpeed' },
  verdict: 'unknown',
  parts: [],
  timeline: [],
  assumptions: [],
  unknown: [
    { field: 'model.id', reason: 'A DeepSpeed config names no model.' },
    { field: 'hardware.gpu', reason: 'Nothing names the GPU.' },
  ],
  notes: [],
  diagnostics: [],
};

/** What the server answers about `FITS`: one part goes down to a tensor. */
export const OPENED: Opened = {
  version: 3,
  file: FITS.file,
  memory: {
    name: 'cross-entropy',
    value: PROCESS,
    unit: 'bytes',
    children: PARTS.map(({ category, bytes, formula }) => ({
      id: category,
      name: CATEGORY_LABELS[category],
      value: bytes,
      unit: 'bytes',
      formula,
      source: { label: 'derivatives.yaml', url: 'https://github.com/pytorch/pytorch' },
      children:
        category === 'activations'
          ? [
              {
                name: 'layers 0-31',
                value: bytes - 1024,
                unit: 'bytes',
                children: [
                  {
                    name: 'act_fn',
                    value: bytes - 1024,
                    unit: 'bytes',
                    why: 'kept for backward of gated_product',
                    formula: '2 B × 1 sample × 4096 tokens × 14336 = 112 MiB × 32',
                    source: {
                      label: 'derivatives.yaml, mul',
                      url: 'https://github.com/pytorch/pytorch/blob/v2.8.0/tools/autograd/derivatives.yaml#L1217',
                    },
                    tensor: {
                      shape: [1, 4096, 14336],
                      dtype: 'bf16',
                      bytesEach: 117_440_512,
                      count: 32,
                    },
                  },
                ],
              },
              { name: 'head', value: 1024, unit: 'bytes', formula: '1 KiB' },
            ]
          : undefined,
    })),
  },
  figures: [
    { id: 'upper bound', name: 'upper bound', value: PROCESS, unit: 'bytes', formula: 'allocated + 8 %' },
    {
      id: 'parameters',
      name: 'parameters',
      value: 8_030_261_248,
      unit: 'parameters',
      formula: 'embedding + layers + head',
    },
  ],
};

/** `FITS` with the micro batch turned to 4: what grows with it is doubled. */
export const TRIED: Tried = {
  version: 3,
  turned: { 'micro-batch': 4 },
  values: { 'batch.micro': 4 },
  breakdown: {
    ...FITS,
    keys: undefined,
    knobs: undefined,
    parts: PARTS.map((part) =>
      part.category === 'logits-and-loss' ? { ...part, bytes: 2 * part.bytes } : part,
    ),
    peak: FITS.peak && {
      ...FITS.peak,
      processBytes: PROCESS + Math.round(15.66 * GIB),
      upperBytes: PROCESS + Math.round(18 * GIB),
    },
  },
};

/** What `TRIED` would write. */
export const PLANNED: Planned = {
  values: { 'batch.micro': 4 },
  files: [
    {
      name: 'ds_config.json',
      uri: 'file:///project/ds_config.json',
      removed: ['  "train_micro_batch_size_per_gpu": 2,'],
      added: ['  "train_micro_batch_size_per_gpu": 4,'],
    },
  ],
  byHand: [],
  left: [],
  peakBytes: PROCESS + Math.round(15.66 * GIB),
  verdict: 'fits',
};

const fix = (name: string, gib: number, more: Partial<FixCard> = {}): FixCard => ({
  id: `${name}: 44.2 → ${gib} GiB, fits`,
  name,
  beforeBytes: PROCESS,
  afterBytes: Math.round(gib * GIB),
  verdict: 'fits',
  files: PLANNED.files,
  byHand: [],
  values: { 'batch.micro': 1 },
  ...more,
});

/** What makes `EXCEEDS` fit. */
export const FIXES: readonly FixCard[] = [
  fix('Micro batch 1, 8 accumulation steps', 21.4, { speed: '1.13× slower' }),
  fix('Activation checkpointing', 20.9, {
    speed: '1.3× slower',
    files: [
      {
        name: 'oomlint.yaml',
        uri: 'file:///project/oomlint.yaml',
        removed: [],
        added: ['files:', '  - match: ds_config.json', '    checkpointing: full'],
        note: true,
      },
    ],
    byHand: [
      'Pass `--gradient_checkpointing True`, or set `TrainingArguments(gradient_checkpointing=True)`.',
    ],
    values: { 'activations.checkpointing': 'full' },
  }),
  fix('8-bit AdamW', 22.8, { speed: 'same speed', costs: 'rounded values' }),
  fix('Optimizer offload to the host', 19.1, { speed: 'up to 2.1× slower' }),
];

/** Two pipeline stages that hold different layers. */
export const RANKS: readonly RankFigures[] = [
  { first: 0, last: 3, processBytes: PROCESS, label: 'layer 0 backward', parts: PARTS },
  {
    first: 4,
    last: 7,
    processBytes: PROCESS - Math.round(4.31 * GIB),
    label: 'cross-entropy',
    parts: PARTS.filter(({ category }) => category !== 'activations'),
  },
];

/** `TRIED` with its stages: the first is fuller by what the logits gained. */
export const TRIED_RANKS: Tried = {
  ...TRIED,
  breakdown: TRIED.breakdown && {
    ...TRIED.breakdown,
    ranks: RANKS.map((rank) =>
      rank.first === 0 ? { ...rank, processBytes: rank.processBytes + Math.round(15.66 * GIB) } : rank,
    ),
  },
};

export const COMPARED: Comparison = {
  before: { ...FITS, verdict: 'exceeds' },
  after: FITS,
  differences: [
    { fields: ['zero.stage'], before: '2', after: '3', bytes: -Math.round(13.1 * GIB), seconds: 0.4 },
    { fields: ['zero.overlapCommunication'], before: 'false', after: 'true', bytes: 0, seconds: 0 },
  ],
};

/** The same with a pipeline before, and none after. */
export const COMPARED_RANKS: Comparison = { ...COMPARED, before: { ...COMPARED.before, ranks: RANKS } };

/** A step: forward fills, backward turns it into gradients, the optimizer has a temporary. */
function snapshotTimeline() {
  const none = { older: 10 * GIB, forward: 0, backward: 0, optimizer: 0, other: 0, uncalled: 0 };
  const points = Array.from({ length: 30 }, (_, i) => {
    const forward = i < 10 ? i : i < 20 ? 19 - i : 0;
    const backward = i < 10 ? 0 : i < 20 ? (i - 9) / 2 : 5;
    const phases = {
      ...none,
      forward: forward * GIB,
      backward: backward * GIB,
      optimizer: i > 24 ? 2 * GIB : 0,
    };
    return { bytes: Object.values(phases).reduce((sum, bytes) => sum + bytes, 0), phases };
  });
  const call = { phase: 'forward' as const, blocks: 8, blockBytes: GIB / 2, bytes: 4 * GIB };
  return {
    device: 0,
    points,
    alive: [
      {
        ...call,
        call: 'llama/modeling_llama.py:155 forward',
        tensors: ['result of mlp.gate proj', 'result of mlp.up proj'],
      },
      { ...call, call: 'repo/train.py:40 collate', phase: 'other' as const, tensors: [] },
    ],
    olderBytes: 10 * GIB,
  };
}

/** A run that was measured: what was allocated is met, what was reserved is not. */
export function measuredBeside(peak: NonNullable<Breakdown['peak']>): MeasuredBeside {
  const one = (kind: 'allocated' | 'reserved', estimatedBytes: number, share: number, within: boolean) => {
    const measuredBytes = Math.round(estimatedBytes * (1 + share));
    const [measuredLowerBytes, measuredUpperBytes] = [measuredBytes, measuredBytes];
    const figures = { measuredBytes, measuredLowerBytes, measuredUpperBytes, estimatedBytes };
    return { source: 'torchtitan', kind, line: 4, step: 10, ...figures, difference: share, within };
  };
  return {
    run: 'train.log',
    changedSince: false,
    compared: [
      one('allocated', peak.allocatedBytes, -0.02, true),
      one('reserved', peak.reservedBytes, 0.35, false),
    ],
    timeline: snapshotTimeline(),
  };
}
