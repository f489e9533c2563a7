import { DataLengthsReader } from './data-lengths';
import { InUseReader } from './kernels-in-use';
import type { LogLine } from './log-line';
import {
  type MeasuredFacts,
  type MeasuredKind,
  type Measurement,
  type Series,
  SeriesCollector,
} from './measurement';
import { addedUp, exactly, FIGURE, figureAt, type PlainUnit, type Quantity, quantityOf } from './quantity';

type Figure = Pick<Measurement, 'kind' | 'peak' | 'quantity'> & {
  readonly moment?: string;
  readonly source?: string;
};

interface LineReader {
  readonly source: string;
  /** A text that every such line has. */
  readonly worth: string;
  readonly read: (text: string, before: string) => readonly (Figure | undefined)[];
}

function figure(
  kind: MeasuredKind,
  peak: boolean,
  quantity: Quantity | undefined,
  moment?: string,
): Figure | undefined {
  return quantity && { kind, peak, quantity, ...(moment ? { moment } : {}) };
}

/** What a pattern with `#` for the figure finds. */
function found(
  text: string,
  pattern: string,
  kind: MeasuredKind,
  peak: boolean,
  plain?: PlainUnit,
  moment?: string,
) {
  return figure(kind, peak, figureAt(text, pattern, plain), moment);
}

/** A number without a unit, in units of so many bytes. */
function numberAt(
  text: string,
  pattern: RegExp,
  unit: string,
  plain: PlainUnit = 1024,
): Quantity | undefined {
  const [, number = ''] = pattern.exec(text) ?? [];
  return number === '' ? undefined : quantityOf(number, unit, plain);
}

/** Lines by who prints them. Units and resets as each source has them. */
const READERS: readonly LineReader[] = [
  {
    // `torchtitan/components/metrics.py`: the reserved peak since the line before.
    source: 'torchtitan',
    worth: 'memory:',
    read: (text) => [
      /\btps:|\bstep:/.test(text) ? found(text, 'memory: {1,3}#\\(', 'reserved', true) : undefined,
    ],
  },
  {
    // `axolotl/utils/bench.py`: `usage (+cache, +misc)`, in GiB.
    source: 'Axolotl',
    worth: 'memory usage',
    read: (text) => {
      const whole = new RegExp(`memory usage ([\\w ]{1,40}): ${FIGURE} \\(([^)]{1,80})\\)`).exec(text);
      if (!whole) return [];
      const [, moment = '', number = '', unit = '', rest = ''] = whole;
      const usage = quantityOf(number, unit);
      const cache = figureAt(rest, '\\+# cache') ?? exactly(0);
      const misc = figureAt(rest, '\\+# misc');
      return [
        figure('allocated', false, usage, moment),
        figure('reserved', false, usage && addedUp(usage, cache), moment),
        figure('process', false, usage && misc && addedUp(usage, cache, misc), moment),
      ];
    },
  },
  {
    // `deepspeed/runtime/utils.py`, `see_memory_usage`: peaks begin anew with each line, `Max_CA` is rounded to whole GiB.
    source: 'DeepSpeed',
    worth: 'Max_MA',
    read: (text, before) => {
      const moment = /\] {1,4}(?:\[[^\]]{1,80}\] )?([A-Za-z][\w .,:/-]{2,80})$/.exec(before)?.[1];
      return [
        found(text, '\\bMA #', 'allocated', false, 1024, moment),
        found(text, 'Max_MA #', 'allocated', true, 1024, moment),
        found(text, '\\bCA #', 'reserved', false, 1024, moment),
        found(text, 'Max_CA #', 'reserved', true, 1024, moment),
      ];
    },
  },
  {
    source: 'DeepSpeed',
    worth: 'CPU Virtual Memory',
    read: (text) => [found(text, 'used = #', 'host', false)],
  },
  {
    source: 'DeepSpeed',
    worth: 'MaxMemAllocated=',
    read: (text) => [
      found(text, '\\bMemAllocated=#', 'allocated', false),
      found(text, 'MaxMemAllocated=#', 'allocated', true),
    ],
  },
  {
    // `megatron/training/utils.py`, `report_memory`: MB are MiB.
    source: 'Megatron-LM',
    worth: 'memory (MB)',
    read: (text) => {
      const of = (name: string) =>
        numberAt(text, new RegExp(`\\| ${name}: (\\d{1,12}(?:\\.\\d{1,12})?)`), 'MB');
      return [
        figure('allocated', false, of('allocated')),
        figure('allocated', true, of('max allocated')),
        figure('reserved', false, of('reserved')),
        figure('reserved', true, of('max reserved')),
      ];
    },
  },
  {
    // Megatron-Bridge, `train_utils.py`, `report_memory`: gigabytes of 10^9.
    source: 'Megatron-Bridge',
    worth: 'allocated-gigabytes',
    read: (text) => {
      const of = (name: string) =>
        numberAt(
          text,
          new RegExp(`\\bmem-${name}-gigabytes['"]?: {0,3}(\\d{1,12}(?:\\.\\d{1,12})?)`),
          'GB',
          1000,
        );
      return [
        figure('allocated', false, of('allocated')),
        figure('allocated', true, of('max-allocated')),
        figure('active', true, of('max-active')),
        figure('reserved', false, of('reserved')),
        figure('reserved', true, of('max-reserved')),
      ];
    },
  },
  {
    source: 'Unsloth',
    worth: 'eserved',
    read: (text) => [
      found(text, 'Peak reserved memory = #', 'reserved', true),
      found(text, '^# of memory reserved', 'reserved', false),
    ],
  },
  {
    source: 'torchtune',
    worth: 'GPU peak memory',
    read: (text) => [
      found(text, 'GPU peak memory allocation: #', 'allocated', true),
      found(text, 'GPU peak memory reserved: #', 'reserved', true),
      found(text, 'GPU peak memory active: #', 'active', true),
    ],
  },
  {
    // `verl/utils/profiler/performance.py`, `log_gpu_memory_usage`: GB are GiB; the device's figure is of all processes.
    source: 'verl',
    worth: 'memory allocated (GB)',
    read: (text) => {
      const moment = /((?:Before|After)[\w .,/-]{1,80}), memory allocated/.exec(text)?.[1];
      const of = (pattern: RegExp) => numberAt(text, pattern, 'GB');
      return [
        figure('allocated', false, of(/memory allocated \(GB\): (\d{1,9}(?:\.\d{1,12})?)/), moment),
        figure('reserved', false, of(/memory reserved \(GB\): (\d{1,9}(?:\.\d{1,12})?)/), moment),
        figure('process', false, of(/used\/total \(GB\): (\d{1,9}(?:\.\d{1,12})?)\//), moment),
      ];
    },
  },
  {
    // `litgpt/finetune/*.py`: `max_memory_allocated() / 1e9`.
    source: 'litgpt',
    worth: 'Memory used:',
    read: (text) => [found(text, '^\\s*Memory used: #', 'allocated', true, 1000)],
  },
  {
    // `mlx_lm/tuner/trainer.py`: `mx.get_peak_memory() / 1e9`, of the memory that CPU and GPU share.
    source: 'MLX',
    worth: 'Peak mem ',
    read: (text) => [found(text, '\\bPeak mem #', 'allocated', true, 1000)],
  },
  {
    source: 'nanotron',
    worth: 'Peak allocated:',
    read: (text) => {
      const moment = /\[([A-Z][\w ]{2,60})\]\s*Memory usage/.exec(text)?.[1];
      return [
        found(text, 'Memory usage: #', 'allocated', false, 1024, moment),
        found(text, 'Peak allocated: #', 'allocated', true, 1024, moment),
        found(text, 'Peak reserved: #', 'reserved', true, 1024, moment),
      ];
    },
  },
  {
    // The trainer of samples printed what is allocated, later what is reserved; that of rewards always the latter.
    source: 'prime-rl',
    worth: 'Peak Mem.:',
    read: (text) => {
      const [, number = ''] = /Peak Mem\.: (\d{1,6}(?:\.\d{1,6})?)(?:\/| GiB)/.exec(text) ?? [];
      return [figure('torch', true, number === '' ? undefined : quantityOf(number, 'GiB'))];
    },
  },
  {
    // `torch.cuda.memory_summary()`: now, at most, and sums over time. MB up to 2.0 are MiB.
    source: 'torch.cuda.memory_summary',
    worth: '|',
    read: (text) => {
      const row = new RegExp(
        `^\\|\\s{0,4}(Allocated memory|Active memory|GPU reserved memory)\\s{1,20}\\|\\s*${FIGURE}\\s*\\|\\s*${FIGURE}\\s*\\|`,
      ).exec(text);
      if (!row) return [];
      const [, name = '', now = '', unit = '', most = '', mostUnit = ''] = row;
      const kind: MeasuredKind = name.startsWith('Alloc')
        ? 'allocated'
        : name.startsWith('Active')
          ? 'active'
          : 'reserved';
      return [figure(kind, false, quantityOf(now, unit)), figure(kind, true, quantityOf(most, mostUnit))];
    },
  },
  {
    // The table of `nvidia-smi`: of the whole card, whoever uses it.
    source: 'nvidia-smi',
    worth: 'MiB /',
    read: (text) => [found(text, '\\|\\s*# / {1,8}\\d{1,9}MiB \\|', 'process', false)],
  },
  {
    // `nvidia-smi -q -x`
    source: 'nvidia-smi',
    worth: '<used>',
    read: (text, before) => [
      /<(?:total|reserved)>/.test(before) ? found(text, '<used># ?</used>', 'process', false) : undefined,
    ],
  },
];

/** Keys of metrics, in whatever a framework writes them: a dict, JSON, `key:value`. */
const KEYS: readonly (readonly [
  key: RegExp,
  source: string,
  kind: MeasuredKind,
  unit: string,
  plain?: PlainUnit,
])[] = [
  [/memory\/max_(?:mem_)?active ?\(gib\)/i, 'metrics', 'active', 'GiB'],
  [/memory\/max_(?:mem_)?allocated ?\(gib\)/i, 'metrics', 'allocated', 'GiB'],
  [/memory\/(?:device_(?:mem_)?|max_)reserved ?\(gib\)/i, 'metrics', 'reserved', 'GiB'],
  [/\bmemory\(GiB\)/, 'ms-swift', 'reserved', 'GiB'],
  [/\bvram_allocated\b/, 'LLaMA-Factory', 'allocated', 'GiB'],
  [/\bvram_reserved\b/, 'LLaMA-Factory', 'reserved', 'GiB'],
  [/\bpeak_memory_alloc\b/, 'torchtune', 'allocated', 'GiB'],
  [/\bpeak_memory_active\b/, 'torchtune', 'active', 'GiB'],
  [/\bpeak_memory_reserved\b/, 'torchtune', 'reserved', 'GiB'],
  [/\bperf\/max_memory_allocated_gb\b/, 'verl', 'allocated', 'GiB'],
  [/\bperf\/max_memory_reserved_gb\b/, 'verl', 'reserved', 'GiB'],
  // `composer/callbacks/memory_monitor.py`: gigabytes of 10^9.
  [/\bmemory\/peak_allocated_mem\b/, 'Composer', 'allocated', 'GB', 1000],
  [/\bmemory\/peak_active_mem\b/, 'Composer', 'active', 'GB', 1000],
  [/\bmemory\/peak_reserved_mem\b/, 'Composer', 'reserved', 'GB', 1000],
];
const ANY_KEY = /memory[/(_]|vram_|peak_memory_/i;
const VALUE = String.raw`['"]?\s{0,4}[:=]\s{0,4}['"]?(\d{1,15}(?:\.\d{1,20})?)`;
const KEY_VALUES = KEYS.map(
  ([key, ...rest]) => [new RegExp(key.source + VALUE, key.flags), ...rest] as const,
);

const STEPS: readonly RegExp[] = [
  /\bglobal_step(?:\/max_steps)?['"]?\s?[:=]\s?['"]?(\d{1,12})/,
  /\bcurrent_steps['"]?: ?(\d{1,12})/,
  /\bafter (\d{1,12}) iterations/,
  /\biteration\s{1,12}(\d{1,12})\//,
  /\bstep['"]?[:= ]\s{0,4}(\d{1,12})\b/i,
];

/** The Trainer's own metrics are changes: the highest is the level before, what came to stay, and the highest above that. */
const DELTAS =
  /\b(before_init_mem_gpu|init_mem_gpu_alloc_delta|train_mem_gpu_alloc_delta|train_mem_gpu_peaked_delta|init_mem_gpu_peaked_delta)['"]?\s{0,40}[:=]\s{0,20}(-?\d{1,18}(?:\.\d{1,3})?)\s?(MB|GB|KB)?/;

const CARD: readonly RegExp[] = [
  new RegExp(`\\bGPU = ([\\w .-]{2,60})\\. Max memory = ${FIGURE}`),
  new RegExp(
    `^\\W{0,12}(?:NVIDIA |AMD )?((?:Tesla|A|H|L|B|RTX|GeForce|Instinct)[\\w .-]{0,60}?)\\. Num GPUs = \\d{1,4}\\. Max memory: ${FIGURE}`,
  ),
];
const VERSIONS =
  /\b(transformers|torch|trl|peft|accelerate|deepspeed|unsloth|vllm)(?:['"]?\s?[:=]{1,2}\s?['"]?v?| )(\d{1,4}\.\d{1,3}(?:\.\d{1,3})?(?:[+.\w]{0,16})?)/gi;

/** What a log measured. */
export interface LogFigures {
  readonly series: readonly Series[];
  readonly facts: MeasuredFacts;
  /** Times that the allocator ran out, gave its cache back and tried again. */
  readonly retries: number;
}

/** Reads figures line by line; what it keeps does not grow with the log. */
export class LogFiguresReader {
  readonly #collector = new SeriesCollector();
  readonly #deltas = new Map<string, Quantity & { readonly sign: 1 | -1 }>();
  readonly #versions = new Map<string, string>();
  readonly #lengths = new DataLengthsReader();
  readonly #inUse = new InUseReader();
  #gpu: string | undefined;
  #capacity: number | undefined;
  #retries = 0;
  #before = '';
  #columns: string[] | undefined;

  add(line: LogLine): void {
    const { text } = line;
    this.#lengths.add(line);
    this.#inUse.add(line);
    const before = this.#before;
    if (text.trim() !== '') this.#before = text.slice(0, 400);
    if (!/mem|vram|peak|CA |MiB|used|Max |retries/i.test(text)) {
      this.#versionsOf(text);
      return;
    }
    const step = stepOf(text);
    const keep = (source: string, one: Figure | undefined) => {
      if (!one) return;
      const { rank, number } = line;
      this.#collector.add({
        source,
        ...one,
        line: number,
        ...(rank === undefined ? {} : { rank }),
        ...(step === undefined ? {} : { step }),
      });
    };
    for (const { source, worth, read } of READERS)
      if (text.includes(worth)) for (const one of read(text, before)) keep(source, one);
    if (ANY_KEY.test(text)) {
      for (const [pattern, source, kind, unit, plain] of KEY_VALUES) {
        const [, number] = pattern.exec(text) ?? [];
        if (number !== undefined) keep(source, figure(kind, true, quantityOf(number, unit, plain)));
      }
    }
    this.#table(line, keep);
    this.#delta(text);
    this.#card(text);
    if (text.includes('ret')) this.#retried(text);
  }

  #retried(text: string): void {
    const retries =
      /(\d{1,9}) CUDA memory allocation retries|cudaMalloc retries: {0,4}(\d{1,9})|mem-alloc-retires: (\d{1,9})/.exec(
        text,
      );
    if (retries) this.#retries = Math.max(this.#retries, Number(retries[1] ?? retries[2] ?? retries[3]));
  }

  finish(): LogFigures {
    const inUse = this.#inUse.finish();
    const total = this.#trainerPeak();
    const source = 'Trainer';
    if (total) this.#collector.add({ source, kind: 'allocated', peak: true, quantity: total, line: 0 });
    return {
      series: this.#collector.finish(),
      facts: {
        ...(this.#gpu ? { gpu: this.#gpu } : {}),
        ...(this.#capacity ? { capacityBytes: this.#capacity } : {}),
        ...(this.#versions.size > 0 ? { versions: Object.fromEntries(this.#versions) } : {}),
        ...this.#lengths.finish(),
        ...(inUse.attention || inUse.packed ? { inUse } : {}),
      },
      retries: this.#retries,
    };
  }

  /** `nvidia-smi --format=csv`: the header names which column is which; `[N/A]` is no figure. */
  #table({ text }: LogLine, keep: (source: string, one: Figure | undefined) => void): void {
    if (/memory\.(?:used|total)/.test(text) && text.includes(',')) {
      this.#columns = text.split(',').map((name) => name.trim());
      return;
    }
    if (!this.#columns || !text.includes(',')) return;
    const cells = text.split(',').map((cell) => cell.trim());
    if (cells.length !== this.#columns.length) return;
    this.#columns.forEach((name, index) => {
      const cell = cells[index] ?? '';
      const bare = /^\d{1,9}$/.test(cell) ? `${cell} MiB` : cell;
      const quantity = figureAt(bare, '^#$');
      if (name.startsWith('memory.used')) keep('nvidia-smi', figure('process', false, quantity));
      if (name.startsWith('memory.total') && quantity) this.#capacity = quantity.bytes;
      if (name === 'name') this.#gpu = cell;
    });
  }

  #delta(text: string): void {
    if (!text.includes('_mem_gpu')) return;
    const [, name = '', number = '', unit] = DELTAS.exec(text) ?? [];
    const quantity = quantityOf(number.replace('-', ''), unit ?? 'bytes');
    if (quantity && !this.#deltas.has(name))
      this.#deltas.set(name, { ...quantity, sign: number.startsWith('-') ? -1 : 1 });
  }

  /** `transformers/trainer_utils.py`, `TrainerMemoryTracker`. */
  #trainerPeak(): Quantity | undefined {
    const peaked = this.#deltas.get('train_mem_gpu_peaked_delta');
    const kept = this.#deltas.get('train_mem_gpu_alloc_delta');
    const before = this.#deltas.get('before_init_mem_gpu');
    if (!peaked || !kept || !before) return undefined;
    let [bytes, lowerBytes, upperBytes] = [0, 0, 0];
    for (const part of [before, this.#deltas.get('init_mem_gpu_alloc_delta'), kept, peaked]) {
      if (!part) continue;
      bytes += part.sign * part.bytes;
      lowerBytes += part.sign === 1 ? part.lowerBytes : -part.upperBytes;
      upperBytes += part.sign === 1 ? part.upperBytes : -part.lowerBytes;
    }
    return { bytes, lowerBytes, upperBytes };
  }

  #card(text: string): void {
    for (const pattern of CARD) {
      const [, name = '', number = '', unit = ''] = pattern.exec(text) ?? [];
      const total = quantityOf(number, unit);
      if (!total || name === '') continue;
      this.#gpu = name.trim();
      this.#capacity = total.bytes;
    }
    this.#versionsOf(text);
  }

  #versionsOf(text: string): void {
    if (this.#versions.size > 8 || !/torch|transformers|trl|unsloth/i.test(text)) return;
    for (const [, name = '', version = ''] of text.matchAll(VERSIONS)) {
      const key = name.toLowerCase();
      if (!this.#versions.has(key)) this.#versions.set(key, version.replace(/\.$/, ''));
    }
  }
}

function stepOf(text: string): number | undefined {
  for (const pattern of STEPS) {
    const found = pattern.exec(text);
    if (found) return Number(found[1]);
  }
  return undefined;
}
