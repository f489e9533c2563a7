import known from '../../../data/unsloth-checkpoints.json';
import { isPartlyQuantized, isQuantizedBefore } from '../../model/quantized-checkpoints';
import { isAtLeast } from '../../terms/version';

interface Row {
  readonly checkpoint: string;
  /** In lower case. */
  readonly names: readonly string[];
  /** The first release that was read and loads the checkpoint for these names. */
  readonly since: string;
  /** The first after it that no longer does. */
  readonly before?: string;
}

const rows: readonly Row[] = known.rows;
const byName = new Map<string, Row[]>();
for (const row of rows) for (const name of row.names) byName.set(name, [...(byName.get(name) ?? []), row]);

/**
 * The partly quantized checkpoint that a release of Unsloth loads for a name in 4 bits (`loader_utils.py`, `get_model_name`); undefined where
 * it loads the name itself, or one that is quantized as a whole. An unknown release is the newest.
 */
export function mappedCheckpoint(name: string, release: string | undefined): string | undefined {
  const found = byName.get(name.toLowerCase())?.find(({ since, before }) => {
    const begun = isAtLeast(release, since) !== false;
    return begun && (before === undefined || isAtLeast(release, before) === false);
  });
  return found?.checkpoint;
}

/**
 * Whether vLLM inside of Unsloth takes a checkpoint: not where parts of a layer alone are in 16 bits, which the config of the checkpoint
 * has (`vllm_utils.py`, `vllm_dynamic_quant_supported`). As saved outputs of https://github.com/unslothai/notebooks print it ("vLLM loading").
 */
const BY_VLLM: ReadonlyMap<string, boolean> = new Map([
  ['unsloth/phi-4-unsloth-bnb-4bit', false],
  ['unsloth/meta-llama-3.1-8b-instruct-unsloth-bnb-4bit', true],
  ['unsloth/qwen2.5-3b-instruct-unsloth-bnb-4bit', true],
  ['unsloth/qwen2.5-vl-7b-instruct-unsloth-bnb-4bit', true],
]);

/** Undefined where nobody is known to have tried. */
export const vllmTakes = (checkpoint: string): boolean | undefined => BY_VLLM.get(checkpoint.toLowerCase());

/** Checkpoints that Unsloth does not load although they are named (`BAD_MAPPINGS`). */
export function isReplaced(name: string): boolean {
  return known.replaced.includes(name.toLowerCase());
}

/** Models with towers for which Unsloth loads, in 4 bits, a copy that is quantized as a whole (`mapper.py`), by their own names. */
const WHOLE_WITH_TOWERS: ReadonlySet<string> = new Set([
  'qwen2-vl-2b',
  'qwen2-vl-7b',
  'qwen2-vl-72b',
  'qwen2-vl-72b-instruct',
  'llama-3.2-90b-vision',
  'llama-3.2-90b-vision-instruct',
  'pixtral-12b-base-2409',
  'llava-1.5-7b-hf',
  'llava-v1.6-mistral-7b-hf',
]);

/**
 * Whether what Unsloth loads for a name in 4 bits is quantized as a whole already: its own list of parts in 16 bits does nothing there
 * (`vision.py`, `_with_architecture_skip_modules`: the checkpoint's own config wins). The files of Qwen2.5-VL-7B-Instruct-bnb-4bit hold 5.97
 * GB, 6.9 with its tower in 16 bits.
 */
export function loadsWhole(name: string): boolean {
  const own = name.split('/').at(-1)?.toLowerCase() ?? '';
  return WHOLE_WITH_TOWERS.has(own) || (isQuantizedBefore(name) && !isPartlyQuantized(name));
}
