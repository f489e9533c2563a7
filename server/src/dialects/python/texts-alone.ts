import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';

/** How a text names images, as types of parts, columns, and arguments of processors and models. */
const SIGHT = /image|pixel|video|photo|picture/i;
/** Classes of models that see, which texts alone may be given to. */
const MODEL = /^AutoModelFor(?:ImageTextToText|Vision2Seq|VisualQuestionAnswering)$/;
/** What prepares or reads images. */
const SEES =
  /(?:Processor(?:Fast)?\.from_pretrained|FeatureExtractor\.from_pretrained|(?:^|\.)Image\.open|(?:^|\.)process_vision_info|(?:^|\.)cv2\.\w+)$/;
const TOKENIZER = /Tokenizer(?:Fast)?\.from_pretrained$/;
/** Collators that fill up what a tokenizer made (`transformers/data/data_collator.py`; TRL). */
const COLLATES_TEXT =
  /(?:^|\.)(?:DataCollatorForSeq2Seq|DataCollatorForLanguageModeling|DataCollatorWithPadding|DataCollatorForCompletionOnlyLM)$/;
/** What a model takes of texts alone. */
const OF_TEXT = /^(?:input_ids|attention_mask|labels|position_ids|use_cache|return_dict|output_\w+)$/;

const makerOf = ({ calls }: PyProgram, value: PyValue | undefined): PyCall | undefined =>
  value?.kind === 'object' && value.item === undefined ? calls[value.id] : undefined;

const isTokenizer = (program: PyProgram, value: PyValue | undefined): boolean =>
  TOKENIZER.test(makerOf(program, value)?.callee ?? '');

/** A collator of texts, which is given a tokenizer. */
function collatesTexts(program: PyProgram, value: PyValue | undefined): boolean {
  const made = makerOf(program, value);
  return (
    made !== undefined &&
    COLLATES_TEXT.test(made.callee) &&
    [...made.positional, ...made.named.map((argument) => argument.value)].some((given) =>
      isTokenizer(program, given),
    )
  );
}

/** Whether a trainer gets a tokenizer and nothing that puts images into batches (TRL: `The dataset appears to be vision-related`, an error). */
function tokenizesAlone(program: PyProgram, trainer: PyCall): boolean {
  const collator = argumentOf(trainer, 'data_collator');
  if (collator) return collatesTexts(program, collator);
  return ['processing_class', 'tokenizer'].some((key) => isTokenizer(program, argumentOf(trainer, key)));
}

/** Whether a loop gives its model what texts are made into, each by its name, or gets its batches of a collator of texts. */
function looksAtTexts(program: PyProgram, backward: PyCall): boolean {
  const before = program.calls.filter(({ id }) => id < backward.id);
  const named = before.findLast(
    ({ callee, named: all }) => callee === '()' && all.some(({ key }) => key === 'input_ids'),
  );
  if (named && !named.open && named.named.every(({ key }) => OF_TEXT.test(key))) return true;
  const collators = before.flatMap((call) => argumentOf(call, 'collate_fn') ?? []);
  return collators.length > 0 && collators.every((value) => collatesTexts(program, value));
}

/**
 * Samples of texts alone of a model that could see: the text names images nowhere, prepares none, and batches are of what a tokenizer made.
 */
export function readTextsAlone(
  { program, draft }: Calls,
  trains: PyCall,
  { model }: ReadContext,
  isLoop: boolean,
): void {
  if (typeof model?.config?.vision_config !== 'object' || draft.knows('batch.images')) return;
  if ([...program.words()].some((word) => SIGHT.test(word) && !MODEL.test(word))) return;
  if (program.calls.some(({ callee, id }) => id < trains.id && SEES.test(callee))) return;
  if (!(isLoop ? looksAtTexts(program, trains) : tokenizesAlone(program, trains))) return;
  const note = say('a tokenizer makes the samples, and nothing names images');
  draft.infer('batch.images', 0, note, { range: trains.calleeRange });
}
