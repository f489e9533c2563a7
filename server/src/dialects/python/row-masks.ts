import { isTrue } from '../../config/python/node-of-value';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { assumePadding, oneSize, unpaddedBy } from '../hf/padding';
import type { Section } from '../section';
import { argumentOf, type Calls } from './call-block';
import type { ModelChain } from './model-chain';

/** Classes whose samples are images or videos that their processors bring to one size. */
const OF_IMAGES =
  /For(?:ImageClassification|VideoClassification|SemanticSegmentation|MaskedImageModeling)(?:\.\w+)?$/;

/** Classes whose samples are numbers over time, as many of each: nothing fills them up. */
const OF_SERIES =
  /(?:^|\.)(?:TimeSeriesTransformer|PatchTST|PatchTSMixer|Informer|Autoformer|TinyTimeMixer|TimesFm)\w*(?:\.\w+)?$/;

/**
 * States whether a mask of padding reaches the attention, of rows so many in a micro batch.
 * - Images that their processors bring to one size have none, nor have waves whose extractor makes none, unless the code asks for one.
 * - DETR's processor fills images up to the largest of a batch, with a mask of the pixels that are there (`DetrImageProcessor.pad`); code may take that away.
 * - Rows that the code draws at random are of one length, and nothing makes a mask of them.
 * - All other samples are texts, which differ in length, or are filled up to one.
 */
export function inferMask(
  calls: Calls,
  { load }: ModelChain,
  { model }: ReadContext,
  section: Section,
  micro: number,
): void {
  const { draft } = calls;
  // Where it is not seen which model is trained, those that the text makes tell what samples are.
  const made = load ? [load] : calls.program.calls;
  const isOf = (samples: RegExp) => made.some(({ callee }) => samples.test(callee));
  if (isOf(OF_SERIES)) return;
  const detects = draft.valueOf('method.objective') === 'detection';
  const unpadded = isOf(OF_IMAGES) ? oneSize() : (unpaddedBy(model?.config) ?? drawnRows(calls));
  if (!detects) {
    assumePadding(section, draft, micro, asksForMask(calls) ? undefined : unpadded, fillsRows(calls));
    return;
  }
  if (micro <= 1 || draft.knows('attention.mask')) return;
  if (dropsPixelMask(calls))
    draft.infer('attention.mask', false, say('the code takes the mask of pixels away'));
  else
    draft.infer(
      'attention.mask',
      true,
      say('images of a batch may differ in size: a mask of what fills them up reaches the kernel'),
    );
}

/** Whether the tokenizer fills all rows up to one length. */
const fillsRows = ({ program }: Calls): boolean =>
  program.calls.some((call) => {
    const padding = argumentOf(call, 'padding');
    return padding?.kind === 'scalar' && padding.value === 'max_length';
  });

/** What makes rows of texts, of waves or of images. */
const READS = /(?:Tokenizer\w*|Processor|FeatureExtractor)(?:\.\w+)?$/;

/** Why rows of random numbers have no mask, where nothing in the text makes any other rows. */
function drawnRows({ program }: Calls): string | undefined {
  const draws = program.calls.some(({ callee }) => /^(?:torch|numpy\.random)\.randint$/.test(callee));
  const reads = program.calls.some(({ callee }) => READS.test(callee));
  return draws && !reads ? say('rows of random tokens are of one length: no mask is made') : undefined;
}

const asksForMask = ({ program }: Calls): boolean =>
  program.calls.some((call) => {
    const asked = argumentOf(call, 'return_attention_mask');
    return isTrue(asked);
  });

const dropsPixelMask = ({ program }: Calls): boolean =>
  program.calls.some(({ callee, positional: [key] }) => {
    return /(^|\.)pop$/.test(callee) && key?.kind === 'scalar' && key.value === 'pixel_mask';
  });
