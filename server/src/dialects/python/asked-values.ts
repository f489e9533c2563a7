import type { PyProgram } from '../../config/python/value';
import type { FieldPath } from '../../run/fields';
import type { Asking } from '../dialect';

/** A second of a waveform has 16,000 values (`feature_extraction_wav2vec2.py`, `sampling_rate`): ten seconds of it. */
const WAVEFORM = String(10 * 16_000);

/** Models of many kinds: what a sample of theirs is, and how long, nobody knows beside the model. */
const UNLIKE: Asking = { examples: { 'model.id': '...' }, fixedByModel: ['batch.sequence'] };

/** Models by which a person can answer what a class is given, and what these fix themselves. The first that goes with a class counts. */
const BY_CLASS: readonly (readonly [RegExp, Asking])[] = [
  [/ForObjectDetection$/, ofImages('facebook/detr-resnet-50')],
  [/ForSemanticSegmentation$/, ofImages('nvidia/mit-b0')],
  [/ForImageClassification$/, ofImages('google/vit-base-patch16-224')],
  [/ForVideoClassification$/, ofImages('MCG-NJU/videomae-base')],
  [
    /For(?:CTC|AudioClassification|AudioFrameClassification)$/,
    { examples: { 'model.id': 'facebook/wav2vec2-base', 'batch.sequence': WAVEFORM } },
  ],
  [/ForSpeechSeq2Seq$/, { ...UNLIKE, examples: { 'model.id': 'openai/whisper-small' } }],
  // Most classes of this name see or hear beside reading: T5 stands for those of its own kind alone.
  [
    /ForSeq2SeqLM$|^(?:T5|MT5|UMT5|LongT5|Bart|MBart|Pegasus|M2M100)ForConditionalGeneration$/,
    { examples: { 'model.id': 'google-t5/t5-base', 'batch.sequence': '512' } },
  ],
  [
    /For(?:MaskedLM|SequenceClassification|TokenClassification|QuestionAnswering|MultipleChoice)$/,
    { examples: { 'model.id': 'google-bert/bert-base-uncased', 'batch.sequence': '512' } },
  ],
  [/ForConditionalGeneration$|ForVision2Seq$|ForImageTextToText$|^AutoModel$/, UNLIKE],
];

/** A sample is an image, or some: how many patches it has the model fixes. */
function ofImages(model: string): Asking {
  const examples: Partial<Record<FieldPath, string>> = { 'model.id': model };
  return { examples, fixedByModel: ['batch.sequence'] };
}

/** How what is missing of a run of a class is asked for; undefined where nothing of it is of its own kind. */
export const askingOf = (kind: string): Asking | undefined => BY_CLASS.find(([name]) => name.test(kind))?.[1];

/** A class of models in what a text calls: `MobileNetV2ForImageClassification(config)`, `AutoModelForCTC.from_pretrained`. */
const CLASS = /(?:^|\.)([A-Z]\w*For[A-Z]\w*?)(?:\.from_(?:pretrained|config))?$/;

/** Libraries without which hardly a language model is trained. */
const OF_LANGUAGE =
  /^(?:transformers|trl|peft|unsloth\w*|tokenizers|sentencepiece|tiktoken|litgpt|auto_gptq|adapters)(?:\.|$)/;
/** Nothing shows that a language model is trained: no example is one of what is. */
const ANYTHING: Asking = { examples: { 'model.id': '...', 'batch.sequence': '...' } };

/**
 * How the model is asked for that a text trains where nothing leads to it: as its classes of models are, if all of one kind are. Of several kinds
 * no example is one of any.
 */
export function askingOfClasses({
  calls,
  imports,
}: Pick<PyProgram, 'calls' | 'imports'>): Asking | undefined {
  const kinds = calls.flatMap(({ callee }) => CLASS.exec(callee)?.[1] ?? []);
  const [first, ...others] = new Set(kinds.map(askingOf));
  if (kinds.length === 0 && !imports.some(({ module }) => OF_LANGUAGE.test(module))) return ANYTHING;
  return others.length === 0 ? first : UNLIKE;
}
