import type { EstimateInput } from '../../server/src/estimate';
import { findAccelerator } from '../../server/src/hardware/catalog';
import { findModel, modelFromConfig } from '../../server/src/model/catalog';
import type { Model } from '../../server/src/model/model';
import { FIELDS, type RunValues, type TrainingRun } from '../../server/src/run/fields';

/** A published throughput: what ran, and tokens per second and GPU. */
export interface ThroughputRow {
  readonly source: string;
  readonly name: string;
  readonly input: EstimateInput;
  readonly tokensPerSecondPerGpu: number;
}

type Cells = readonly string[];

/** Sections of a Markdown text by their number, each with the rows of its tables (header and rule left out). */
function sections(text: string): Map<number, Cells[]> {
  const found = new Map<number, Cells[]>();
  let rows: Cells[] = [];
  for (const line of text.split('\n')) {
    const heading = /^## (\d+)\./.exec(line);
    if (heading) {
      rows = [];
      found.set(Number(heading[1]), rows);
    } else if (line.startsWith('## ')) rows = [];
    else if (line.startsWith('|')) {
      const cells = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      if (!/^-+$/.test(cells[0] ?? '')) rows.push(cells);
    }
  }
  return found;
}

const LLAMA: readonly (readonly [RegExp, string])[] = [
  [/llama-2[ -]7b|^7b$/i, 'meta-llama/Llama-2-7b-hf'],
  [/llama-2[ -]13b/i, 'meta-llama/Llama-2-13b-hf'],
  [/llama-2[ -]70b/i, 'meta-llama/Llama-2-70b-hf'],
  [/llama-3\.2[ -]3b/i, 'meta-llama/Llama-3.2-3B'],
  [/llama-3\.1[ -]405b/i, 'meta-llama/Llama-3.1-405B'],
  [/llama-3(\.1)?[ -]70b|^70\.[56]/i, 'meta-llama/Llama-3.1-70B'],
  [/llama-3(\.1)?[ -]8b|^8\.03b/i, 'meta-llama/Llama-3.1-8B'],
];

function named(text: string): Model | undefined {
  const id = LLAMA.find(([pattern]) => pattern.test(text))?.[1];
  return id === undefined ? undefined : findModel(id);
}

/** MPT of llm-foundry: width, heads and layers of each size (scripts/train/benchmarking/README.md of the repository). */
const MPT: Readonly<Record<string, readonly [width: number, heads: number, layers: number]>> = {
  'mpt-125m': [768, 12, 12],
  'mpt-350m': [1024, 16, 24],
  'mpt-760m': [1536, 12, 24],
  'mpt-1b': [2048, 16, 24],
  'mpt-3b': [2560, 20, 32],
  'mpt-7b': [4096, 32, 32],
  'mpt-13b': [5120, 40, 40],
  'mpt-30b': [7168, 56, 48],
  'mpt-70b': [8192, 64, 80],
};

/** MPT has the shapes of GPT-2: learned positions, four times the width inside, a tied head. */
function mpt(name: string, positions: number): Model | undefined {
  const [width, heads, layers] = MPT[name] ?? [];
  if (width === undefined) return undefined;
  const config = {
    model_type: 'gpt2',
    n_embd: width,
    n_head: heads,
    n_layer: layers,
    n_positions: positions,
    vocab_size: 50368,
    activation_function: 'gelu',
    resid_pdrop: 0,
    embd_pdrop: 0,
    attn_pdrop: 0,
  };
  const model = modelFromConfig(config, name, 'inline');
  return 'error' in model ? undefined : model;
}

function complete(values: RunValues): TrainingRun {
  const defaults = Object.fromEntries(
    Object.entries(FIELDS).flatMap(([path, spec]) => ('default' in spec ? [[path, spec.default]] : [])),
  );
  return { ...defaults, ...values } as TrainingRun;
}

const BF16: RunValues = {
  'precision.weights': 'fp32',
  'precision.compute': 'bf16',
  'precision.scheme': 'fsdp',
  'attention.implementation': 'flash2',
  'optimizer.implementation': 'fused',
};

function row(
  source: string,
  name: string,
  model: Model | undefined,
  gpu: string,
  values: RunValues,
  rate: number,
): ThroughputRow[] {
  const accelerator = findAccelerator(gpu);
  if (!model || !accelerator || !(rate > 0)) return [];
  const run = complete({ 'hardware.gpu': accelerator.name, 'batch.micro': 1, ...values });
  return [{ source, name, input: { run, model, accelerator }, tokensPerSecondPerGpu: rate }];
}

function llmFoundry(cells: Cells): ThroughputRow[] {
  const [, name = '', , sequence, gpus, gpu = '', precision = '', , checkpointed, micro, accumulation] =
    cells;
  const count = Number(gpus);
  const values: RunValues = {
    ...BF16,
    'precision.fp8': precision.includes('fp8') ? 'transformer-engine' : 'none',
    'hardware.gpus': count,
    'hardware.nodes': Math.max(1, count / 8),
    'parallel.data': 'fsdp1',
    'batch.micro': Number(micro),
    'batch.accumulation': Number(accumulation),
    'batch.sequence': Number(sequence),
    'activations.checkpointing': checkpointed === 'True' ? 'full' : 'none',
  };
  const card = gpu.startsWith('h100') ? 'H100-SXM5-80GB' : `A100-SXM4-${gpu.includes('40') ? 40 : 80}GB`;
  return row('llm-foundry', cells.join(' '), mpt(name, Number(sequence)), card, values, Number(cells.at(-1)));
}

const TITAN_GPUS: readonly (readonly [RegExp, string])[] = [
  [/a100/i, 'A100-SXM4-80GB'],
  [/h200/i, 'H200-SXM-141GB'],
  [/h100/i, 'H100-SXM5-80GB'],
  [/mi300x/i, 'MI300X'],
  [/b200/i, 'B200-SXM'],
];

function card(text: string): string {
  return TITAN_GPUS.find(([pattern]) => pattern.test(text))?.[1] ?? text;
}

function titan(cells: Cells): ThroughputRow[] {
  const [name = '', gpus, gpu = '', batch, sequence, checkpointing = '', rate = ''] = cells;
  // Every second layer checkpointed has no word in the vocabulary.
  if (/selective layer/.test(checkpointing)) return [];
  const count = Number(gpus);
  const tensor = /TP8/i.test(name) || /405B/.test(name) || /70B \+ async/.test(name) ? 8 : 1;
  const pipelined = /3D/.test(name);
  const values: RunValues = {
    ...BF16,
    // A line that only adds asynchronous tensor parallelism goes on from the one above it.
    'precision.fp8': /fp8|float8|\+ async/i.test(name) ? 'torchao' : 'none',
    'model.code': 'torchtitan',
    'kernels.compile': /compile|fp8|float8/i.test(`${name} ${checkpointing}`),
    'hardware.gpus': count,
    'hardware.nodes': Math.max(1, count / 8),
    'parallel.data': 'fsdp2',
    'parallel.tensor': tensor,
    'parallel.pipeline': pipelined ? 8 : 1,
    'parallel.pipelineSchedule': /interleaved/.test(name) ? 'interleaved' : '1f1b',
    'batch.micro': pipelined ? 1 : Number(batch),
    'batch.accumulation': pipelined ? Number(batch) : 1,
    'batch.sequence': Number(sequence),
    'activations.checkpointing': /full/.test(checkpointing)
      ? 'full'
      : /none/.test(checkpointing)
        ? 'none'
        : 'selective',
    'activations.reentrant': false,
    'activations.checkpointEvery': 1,
  };
  return row('torchtitan', cells.join(' '), named(name), card(gpu), values, Number.parseFloat(rate));
}

function fmsFsdp(cells: Cells): ThroughputRow[] {
  const [name = '', , checkpointing, batch, a100, h100] = cells;
  // "Selective" checkpoints a share of the layers there, which is not stated.
  if (checkpointing !== 'none') return [];
  const values = (gpus: number): RunValues => ({
    ...BF16,
    'kernels.compile': true,
    'hardware.gpus': gpus,
    'hardware.nodes': gpus / 8,
    'parallel.data': 'fsdp1',
    'fsdp.strategy': 'hybrid',
    'batch.micro': Number(batch),
    'batch.sequence': 4096,
  });
  return [
    ...row('fms-fsdp', `${name} A100`, named(name), 'A100-SXM4-80GB', values(128), Number(a100)),
    ...row('fms-fsdp', `${name} H100`, named(name), 'H100-SXM5-80GB', values(96), Number(h100)),
  ];
}

function kempner(cells: Cells): ThroughputRow[] {
  const [, gpus, name = '', parallel = '', batch, rate = ''] = cells;
  const size = (of: string) => Number(new RegExp(`${of}(\\d+)`).exec(parallel)?.[1] ?? 1);
  const count = Number(gpus);
  const pipeline = size('PP');
  const values: RunValues = {
    ...BF16,
    'kernels.compile': !/no compile/.test(parallel),
    'hardware.gpus': count,
    'hardware.nodes': Math.max(1, count / 4),
    'parallel.data': 'fsdp2',
    'parallel.tensor': size('TP'),
    'parallel.pipeline': pipeline,
    'batch.micro': Number(batch),
    'batch.sequence': 4096,
    'activations.checkpointing': 'full',
    'activations.reentrant': false,
  };
  // How many micro batches fill the pipeline is not stated.
  if (pipeline > 1) return [];
  const total = Number(rate.replace(/,/g, ''));
  return row('KempnerForge', cells.join(' '), named(name), 'H200-SXM-141GB', values, total / count);
}

function megatronBridge(cells: Cells): ThroughputRow[] {
  const [, name = '', system = '', gpus, precision, global, micro, sequence, tp, pp, cp, vp, rate] = cells;
  const note = cells.at(-1) ?? '';
  const count = Number(gpus);
  const pipeline = Number(pp);
  const context = Number(cp);
  const tensor = Number.parseInt(tp ?? '', 10);
  const data = count / (tensor * pipeline * context);
  const values: RunValues = {
    ...BF16,
    'precision.scheme': 'megatron',
    'precision.fp8': precision === 'BF16' ? 'none' : 'transformer-engine',
    'model.code': 'megatron',
    'hardware.gpus': count,
    'hardware.nodes': Math.max(1, count / 8),
    'parallel.data': 'ddp',
    'parallel.distributedOptimizer': true,
    'parallel.tensor': tensor,
    'parallel.sequence': tensor > 1,
    'parallel.pipeline': pipeline,
    'parallel.context': context,
    ...(Number(vp) > 1
      ? ({ 'parallel.pipelineSchedule': 'interleaved', 'parallel.virtualStages': Number(vp) } as const)
      : {}),
    'batch.micro': Number(micro),
    'batch.accumulation': Math.max(1, Math.round(Number(global) / (Number(micro) * data))),
    'batch.sequence': Number(sequence),
    ...(note === 'LoRA' ? ({ 'method.kind': 'lora', 'lora.targets': ['all-linear'] } as const) : {}),
  };
  // NVFP4 has no word in the vocabulary.
  if (precision === 'NVFP4') return [];
  const gpu = system.replace('DGX-', '').replace(/^H100$/, 'H100-SXM5-80GB');
  return row('Megatron-Bridge', cells.join(' '), named(name), gpu, values, Number(rate));
}

function torchtune(cells: Cells): ThroughputRow[] {
  const [source = '', name = '', method = '', gpus = '', shape = '', settings = '', rate = ''] = cells;
  // A rate of several GPUs together or each is not stated, nor what ran where two cards or settings share a line.
  if (!/torchtune/.test(source) || /^\d+x/.test(gpus) || gpus.includes('/')) return [];
  const [batch, sequence] = shape.split(/[x ]/);
  const rank = /r(\d+)/.exec(method)?.[1];
  const adapters = /lora/i.test(method);
  const values: RunValues = {
    'model.code': 'torchtune',
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'attention.implementation': 'flex',
    'kernels.compile': /compile/.test(settings),
    'hardware.gpus': 1,
    'batch.micro': Number(batch),
    'batch.sequence': Number(sequence),
    'batch.packed': true,
    'activations.checkpointing': /AC/.test(settings) ? 'full' : 'none',
    'activations.reentrant': false,
    ...(adapters
      ? ({ 'method.kind': 'lora', 'lora.rank': Number(rank ?? 64), 'lora.targets': ['all-linear'] } as const)
      : {}),
    ...(/qlora/i.test(method) ? ({ 'quantization.kind': 'nf4' } as const) : {}),
    ...(/8bit/.test(settings) ? ({ 'optimizer.name': 'paged-adamw-8bit' } as const) : {}),
  };
  const gpu = gpus === 'A100' ? 'A100-SXM4-80GB' : gpus === 'A6000' ? 'RTX A6000' : `RTX ${gpus}`;
  return row(
    'torchtune',
    cells.join(' '),
    named(name),
    gpu,
    values,
    Number.parseFloat(rate.replace(/,/g, '')),
  );
}

const READERS: Readonly<Record<number, (cells: Cells) => ThroughputRow[]>> = {
  1: llmFoundry,
  2: titan,
  3: fmsFsdp,
  4: kempner,
  5: megatronBridge,
  6: torchtune,
};

/** Rows of a facts file that state enough to be run; the others are left out. */
export function throughputRows(text: string): ThroughputRow[] {
  const found: ThroughputRow[] = [];
  for (const [number, rows] of sections(text)) {
    const read = READERS[number];
    if (read) for (const cells of rows) found.push(...read(cells));
  }
  return found;
}
