import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';

/** Most letters that a layout may stand for: far above any model's layers. */
const LONGEST = 10_000;

/** A stage of `--pipeline-model-parallel-layout`, or one of its chunks. */
interface StageOfLayout {
  /** Layers of the decoder. */
  readonly layers: number;
  /** Layers that predict further tokens. */
  readonly predicting: number;
}

/**
 * Stages of a layout in the order of the model, such as `Et*3|(tt|)*29m|L`: embedding, decoder layers, layers that predict further tokens
 * and loss. Undefined where it cannot be read (`core/transformer/pipeline_parallel_layer_layout.py`, `parse_str_to_list`).
 */
export function stagesOfLayout(text: string): readonly StageOfLayout[] | undefined {
  let letters = text.replaceAll(',', '');
  for (const repetition of [/\(([^)]+)\)\*(\d{1,4})/g, /(.)\*(\d{1,4})/g]) {
    let length = letters.length;
    for (const [, body = '', times] of letters.matchAll(repetition)) length += body.length * Number(times);
    if (length > LONGEST) return undefined;
    letters = letters.replace(repetition, (_, body: string, times: string) => body.repeat(Number(times)));
  }
  if (!/^E[Etm|]*L$/.test(letters)) return undefined;
  return letters.split('|').map((stage) => ({
    layers: stage.split('t').length - 1,
    predicting: stage.split('m').length - 1,
  }));
}

/** Stages as a key states them: `none` where it states no layout, undefined where it is written otherwise (a list of lists) or later. */
export function layoutAt(node: ConfigNode): readonly StageOfLayout[] | 'none' | undefined {
  if (node.kind === 'scalar' && /^(none|null)?$/i.test(String(node.value ?? '').trim())) return 'none';
  return stagesOfLayout(textOf(node) ?? '');
}
