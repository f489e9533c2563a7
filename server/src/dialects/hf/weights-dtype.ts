import { textOf } from '../../config/scalar';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section } from '../section';

const NAMES: Readonly<Record<string, 'fp32' | 'bf16' | 'fp16'>> = {
  float32: 'fp32',
  float: 'fp32',
  fp32: 'fp32',
  bfloat16: 'bf16',
  bf16: 'bf16',
  float16: 'fp16',
  half: 'fp16',
  fp16: 'fp16',
};

/** Type by its PyTorch name, with or without `torch.`; undefined for anything else, `auto` included. */
export function weightsDtypeOf(name: string | undefined): 'fp32' | 'bf16' | 'fp16' | undefined {
  return name === undefined ? undefined : NAMES[name.replace(/^torch\./, '').toLowerCase()];
}

/**
 * Weights in the type of a checkpoint whose `config.json` names none: that of its first floating weight (`modeling_utils.py`,
 * `_get_dtype`, `get_state_dict_dtype`). Configs were written without it before 2021, when weights were fp32.
 */
export function inferUnnamed(draft: Draft, node?: { range: Range }, key?: string): void {
  const note = say('type of the checkpoint, which its config does not name');
  draft.inferEither('precision.weights', ['bf16', 'fp32'], note, node, key);
}

/**
 * Type that `from_pretrained` loads the weights in: as stated; `auto`, or byDefault in transformers 5, is the type of the
 * checkpoint; the default of transformers 4 is fp32.
 */
export function readWeightsDtype(
  section: Section,
  spelling: string | readonly string[],
  context: ReadContext,
  draft: Draft,
): void {
  const found = section.find(spelling);
  const stated = weightsDtypeOf(textOf(found?.node));
  if (found && stated) {
    section.state('precision.weights', stated, found);
    return;
  }
  if (found && textOf(found.node) !== 'auto') {
    section.leave(found, ['precision.weights']);
    if (draft.hasLeft(found.node.range)) return;
  }
  const source =
    'https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.from_pretrained';
  // Branches of a repository that hold its weights in another type have the name of it: `revision="float16"`.
  const revision = section.find('revision');
  const branch = weightsDtypeOf(textOf(revision?.node));
  const published = branch ?? context.model?.publishedDtype;
  const automatic = found !== undefined || isAtLeast(context.known['version.transformers'], '5.0') === true;
  if (!automatic) {
    draft.assume(
      'precision.weights',
      'fp32',
      say('transformers 4 loads weights in fp32 unless told otherwise'),
      source,
    );
  } else if (published === undefined) {
    // Of a model that nobody knows it is not known what it is published in either.
    if (context.model === undefined) return;
    inferUnnamed(draft, found?.node, found?.key);
  } else {
    draft.infer(
      'precision.weights',
      published,
      branch ? say('type of the revision') : say('type that the model is published in'),
      branch ? revision?.node : found?.node,
      branch ? revision?.key : found?.key,
    );
  }
}
