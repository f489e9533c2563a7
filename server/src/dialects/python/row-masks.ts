import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { assumePadding, oneSize, unpaddedBy } from '../hf/padding';
import type { Section } from '../section';
import { argumentOf, type Calls } from './call-block';
import type { ModelChain } from './model-chain';

/** Classes whose samples are images or videos that their processors bring to one size. */
const OF_IMAGES =
  /For(?:ImageClassification|VideoClassification|SemanticSegmentation|MaskedImageModeling)\.\w+$/;

/** Classes whose samples are numbers over time, as many of each: nothing fills them up. */
const OF_SERIES =
  /(?:^|\.)(?:TimeSeriesTransformer|PatchTST|PatchTSMixer|Informer|Autoformer|TinyTimeMixer|TimesFm)\w*\.\w+$/;

/**
 * States whether a mask of padding reaches the attention, of rows so many in a micro batch.
 * - Images that their processors bring to one size have none, nor have waves whose extractor makes none, unless the code asks for one.
 * - DETR's processor fills images up to the largest of a batch, with a mask of the pixels that are there (`DetrImageProcessor.pad`); code may take that away.
 * - All other samples are texts, which differ in length.
 */
export function inferMask(
  calls: Calls,
  { load }: ModelChain,
  { model }: ReadContext,
  section: Section,
  micro: number,
): void {
  const { draft } = calls;
  if (load && OF_SERIES.test(load.callee)) return;
  const detects = draft.valueOf('method.objective') === 'detection';
  const unpadded = load && OF_IMAGES.test(load.callee) ? oneSize() : unpaddedBy(model?.config);
  if (!detects) {
    assumePadding(section, draft, micro, asksForMask(calls) ? undefined : unpadded);
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

const asksForMask = ({ program }: Calls): boolean =>
  program.calls.some((call) => {
    const asked = argumentOf(call, 'return_attention_mask');
    return asked?.kind === 'scalar' && asked.value === true;
  });

const dropsPixelMask = ({ program }: Calls): boolean =>
  program.calls.some(({ callee, positional: [key] }) => {
    return /(^|\.)pop$/.test(callee) && key?.kind === 'scalar' && key.value === 'pixel_mask';
  });
