import type { Model } from '../model/model';
import type { DType } from '../terms/dtypes';
import { parentUri } from '../text/uri';
import type { Files } from './files';

/** Types of a header that a model can be made in; whole models are not in 8 bits (transformers 5.24, `get_state_dict_dtype`). */
const TYPES: Readonly<Record<string, DType>> = { F32: 'fp32', BF16: 'bf16', F16: 'fp16' };

/** How far the files may be from what the weights take: buffers that are saved with them. */
const TOLERANCE = 0.02;

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The type that transformers finds in a file of weights: that of the first tensor with a fraction, by name. */
function typeOfHeader(text: string | undefined): DType | undefined {
  const header = parsed(text);
  const names = Object.keys(header ?? {}).sort();
  for (const name of names) {
    const tensor = header?.[name];
    const type = isMap(tensor) && typeof tensor.dtype === 'string' ? TYPES[tensor.dtype] : undefined;
    if (type) return type;
  }
  return undefined;
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The type of a checkpoint's weights by the files beside its `config.json`, for one that does not name it: the header of its first file, as
 * transformers looks (5.24, `modeling_utils.py`, `_get_dtype`); where the files themselves are not here, how many bytes their index has for
 * each weight. Two bytes are taken as bf16: fp16 needs as many.
 */
export async function storedType(
  config: string,
  { parameters }: Pick<Model, 'parameters'>,
  files: Pick<Files, 'readText'>,
): Promise<DType | undefined> {
  const folder = parentUri(config);
  if (folder === undefined) return undefined;
  const whole = await files.readText(`${folder}/model.safetensors`);
  if (whole !== undefined) return typeOfHeader(whole);
  const index = parsed(await files.readText(`${folder}/model.safetensors.index.json`));
  if (!index) return undefined;
  const parts = isMap(index.weight_map) ? Object.values(index.weight_map) : [];
  const [first = ''] = parts.filter((part) => typeof part === 'string').sort();
  // A shard lies in the folder of its index.
  const isShard = /^[\w.-]+\.safetensors$/.test(first);
  const type = isShard ? typeOfHeader(await files.readText(`${folder}/${first}`)) : undefined;
  if (type) return type;
  const total = isMap(index.metadata) ? Number(index.metadata.total_size) : Number.NaN;
  const each = total / parameters.total;
  if (Math.abs(each / 4 - 1) < TOLERANCE) return 'fp32';
  return Math.abs(each / 2 - 1) < TOLERANCE ? 'bf16' : undefined;
}
