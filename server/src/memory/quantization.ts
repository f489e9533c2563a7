import type { Weight } from '../model/tape';
import type { RunValues, TrainingRun } from '../run/fields';
import {
  AQLM,
  AUTO_AWQ,
  BITSANDBYTES,
  fileIn,
  GPTQ_MODEL,
  HQQ,
  QUANTO,
  TORCHAO,
  TRANSFORMERS,
} from '../sources/repositories';

type Kind = Exclude<TrainingRun['quantization.kind'], 'none'>;

/** How a kind lays out a weight of `[out, in]`: bits of an element, elements per group, bytes that a group adds. */
interface Layout {
  readonly bits: number;
  /** Elements along the input that share a scale; -1 a whole row of inputs. */
  readonly group: number;
  /** Bytes per group and bits: scales and zero points. */
  readonly groupBytes: (bits: number) => number;
  /** Bytes of a whole weight beside its groups. */
  readonly weightBytes?: number;
  /** Bytes per input feature. */
  readonly columnBytes?: number;
  readonly source: string;
}

const BNB = fileIn(BITSANDBYTES, 'bitsandbytes/functional.py');
const AO = fileIn(TORCHAO, 'torchao/quantization');

/**
 * Layouts of stored weights. GPTQ packs zero points with as many bits as weights, fp16 scales, and one int32 group index
 * per input; AWQ has no index. EETQ and LLM.int8 have one scale per output row.
 */
export const LAYOUTS: Readonly<Record<Kind, Layout>> = {
  // Half a byte and an fp32 scale per block of 64 (`quantize_4bit`).
  nf4: { bits: 4, group: 64, groupBytes: () => 4, source: BNB },
  fp4: { bits: 4, group: 64, groupBytes: () => 4, source: BNB },
  // A byte, and the fp32 maximum of each output row (`Int8Params`, `SCB`).
  int8: { bits: 8, group: -1, groupBytes: () => 4, source: BNB },
  gptq: {
    bits: 4,
    group: 128,
    groupBytes: (bits) => 2 + bits / 8,
    columnBytes: 4,
    source: fileIn(GPTQ_MODEL, 'gptqmodel/nn_modules/qlinear/__init__.py'),
  },
  awq: {
    bits: 4,
    group: 128,
    groupBytes: (bits) => 2 + bits / 8,
    source: fileIn(AUTO_AWQ, 'awq/modules/linear/gemm.py'),
  },
  // Groups of 8 inputs by one 16-bit code, an fp16 scale per row, and a codebook of 2^16 such groups (1x16).
  aqlm: {
    bits: 2,
    group: -1,
    groupBytes: () => 2,
    weightBytes: 2 ** 16 * 8 * 2,
    source: fileIn(AQLM, 'inference_lib/src/aqlm/inference.py'),
  },
  // Scale and zero point in the compute type, 2 bytes each.
  hqq: {
    bits: 4,
    group: 64,
    groupBytes: () => 4,
    source: fileIn(HQQ, 'hqq/core/quantize.py'),
  },
  eetq: { bits: 8, group: -1, groupBytes: () => 2, source: 'https://github.com/NetEase-FuXi/EETQ' },
  quanto: {
    bits: 8,
    group: -1,
    // Below 8 bits groups have a shift beside their scale.
    groupBytes: (bits) => (bits < 8 ? 4 : 2),
    source: fileIn(QUANTO, 'optimum/quanto/tensor/weights'),
  },
  // Scale and zero point, bf16, per group of 128.
  'ao-int4': { bits: 4, group: 128, groupBytes: () => 4, source: AO },
  'ao-int8': { bits: 8, group: -1, groupBytes: () => 2, source: AO },
  // Blocks of 128 x 128 with an fp32 scale (DeepSeek); a scale per row or tensor is less.
  fp8: {
    bits: 8,
    group: 128,
    groupBytes: () => 4,
    source: fileIn(TRANSFORMERS, 'src/transformers/integrations/finegrained_fp8.py'),
  },
  // Two codes a byte, and a byte of exponent per 32 (OCP MX).
  mxfp4: {
    bits: 4,
    group: 32,
    groupBytes: () => 1,
    source: fileIn(TRANSFORMERS, 'src/transformers/integrations/mxfp4.py'),
  },
};

/** What of a run the layout of its weights depends on, beside their kind. */
type Choices = Pick<
  RunValues,
  'quantization.double' | 'quantization.bits' | 'quantization.groupSize' | 'quantization.plainShare'
>;

/** Kinds whose bits people choose. */
const CHOSEN: ReadonlySet<Kind> = new Set(['gptq', 'hqq', 'quanto', 'aqlm']);

/** Bits of a code of this kind. */
function bitsOf(kind: Kind, run: Choices): number {
  const { bits } = LAYOUTS[kind];
  return CHOSEN.has(kind) ? (run['quantization.bits'] ?? bits) : bits;
}

/** Bytes of an element that a checkpoint keeps unquantized. */
const PLAIN = 2;

/**
 * Bytes of a quantized weight's codes on this GPU: the parameter itself, without scales and zero points. Of layers some of which are kept
 * in 16 bits each has the share of them all.
 */
export function packedBytes(weight: Weight, run: Choices): number {
  const kind = weight.quantization;
  if (kind === 'none') throw new Error(`${weight.name} is not quantized`);
  return weight.localElements * elementBytes(kind, run);
}

/** Bytes of the codes of an element: in the mean, where some of the layers are kept in 16 bits. */
export function elementBytes(kind: Kind, run: Choices): number {
  const plain = run['quantization.plainShare'] ?? 0;
  return plain * PLAIN + ((1 - plain) * bitsOf(kind, run)) / 8;
}

/**
 * Bytes of one quantized weight on this GPU, with scales and zero points. With double quantization, bitsandbytes keeps a
 * byte per block of 64, an fp32 scale per 256 of them (`quantize_4bit`, `compress_statistics`).
 */
export function storedBytes(weight: Weight, run: Choices): number {
  const plain = run['quantization.plainShare'] ?? 0;
  return packedBytes(weight, run) + (1 - plain) * scaleBytes(weight, run);
}

/** Bytes of the scales and zero points of a weight that is quantized. */
function scaleBytes(weight: Weight, run: Choices): number {
  const kind = weight.quantization;
  if (kind === 'none') throw new Error(`${weight.name} is not quantized`);
  const layout = LAYOUTS[kind];
  const elements = weight.localElements;
  const columns = weight.shape.at(-1) ?? 1;
  const bits = bitsOf(kind, run);
  if (run['quantization.double'] && (kind === 'nf4' || kind === 'fp4')) {
    const blocks = Math.ceil(elements / 64);
    return blocks + 4 * Math.ceil(blocks / 256);
  }
  const chosen = run['quantization.groupSize'] ?? defaultGroup(kind, bits, layout);
  const groups = groupsOf(kind, elements, columns, chosen) * layout.groupBytes(bits);
  return groups + columns * (layout.columnBytes ?? 0) + (layout.weightBytes ?? 0);
}

/** Blocks of bitsandbytes run over the whole weight, those of fp8 are square, groups of others run along the inputs. */
function groupsOf(kind: Kind, elements: number, columns: number, size: number): number {
  const rows = elements / columns;
  if (kind === 'nf4' || kind === 'fp4') return Math.ceil(elements / size);
  const along = size === -1 ? 1 : Math.ceil(columns / size);
  return kind === 'fp8' && size !== -1 ? Math.ceil(rows / size) * along : rows * along;
}

/** Quanto groups weights of fewer than 8 bits by 128 (`QModuleMixin`), with scale and shift. */
function defaultGroup(kind: Kind, bits: number, layout: Layout): number {
  return kind === 'quanto' && bits < 8 ? 128 : layout.group;
}

/** Kinds whose other weights `prepare_model_for_kbit_training` leaves as they are (`peft/utils/other.py`). */
const NOT_UPCAST: ReadonlySet<TrainingRun['quantization.kind']> = new Set([
  'none',
  'gptq',
  'aqlm',
  'eetq',
  'hqq',
  'ao-int4',
  'ao-int8',
]);

/** Whether what is not quantized was cast to fp32 before training. */
export function upcastsRest(run: TrainingRun): boolean {
  return run['quantization.prepared'] && !NOT_UPCAST.has(run['quantization.kind']);
}
