import type { Objective } from '../terms/objectives';

/** Models whose heads for single tokens are read; their kin for images and documents have the same names behind others. */
const ENCODERS = '^(?:AutoModel|Bert|Camembert|DebertaV2|DistilBert|Electra|ModernBert|(?:XLM)?Roberta)';

/** Heads beside those that guess tokens, by the class's name. */
const TASKS: readonly (readonly [RegExp, Objective])[] = [
  [/ForSequenceClassification$|^ViltForQuestionAnswering$/, 'classification'],
  [/^(?:ViT|Swin|ConvNext)ForImageClassification$|^VideoMAEForVideoClassification$/, 'classification'],
  [/^Wav2Vec2ForCTC$/, 'ctc'],
  [/^SpeechT5ForTextToSpeech$/, 'text-to-speech'],
  [/^SegformerForSemanticSegmentation$/, 'segmentation'],
  [/^DetrForObjectDetection$/, 'detection'],
  [
    new RegExp(`${ENCODERS}ForTokenClassification$|^LayoutLMv2ForTokenClassification$`),
    'token-classification',
  ],
  [new RegExp(`${ENCODERS}ForQuestionAnswering$|^LayoutLMv2ForQuestionAnswering$`), 'question-answering'],
  [new RegExp(`${ENCODERS}ForMultipleChoice$`), 'multiple-choice'],
];

/** What a class of transformers trains its model for, where its head does not guess tokens. */
export function taskOfClass(name: string): Objective | undefined {
  return TASKS.find(([pattern]) => pattern.test(name))?.[1];
}
