/** Other names of tasks (transformers 5.0.0, `pipelines/__init__.py`, `TASK_ALIASES`). */
const ALIASES: Readonly<Record<string, string>> = {
  'sentiment-analysis': 'text-classification',
  ner: 'token-classification',
  vqa: 'visual-question-answering',
  'text-to-speech': 'text-to-audio',
};

/** The model of a pipeline that is given a task alone (`SUPPORTED_TASKS`; the same from 4.47.0 to 4.57.3, and in 5 where it has the task). */
const DEFAULTS: Readonly<Record<string, string>> = {
  'audio-classification': 'superb/wav2vec2-base-superb-ks',
  'automatic-speech-recognition': 'facebook/wav2vec2-base-960h',
  'text-to-audio': 'suno/bark-small',
  'feature-extraction': 'distilbert/distilbert-base-cased',
  'text-classification': 'distilbert/distilbert-base-uncased-finetuned-sst-2-english',
  'token-classification': 'dbmdz/bert-large-cased-finetuned-conll03-english',
  'question-answering': 'distilbert/distilbert-base-cased-distilled-squad',
  'table-question-answering': 'google/tapas-base-finetuned-wtq',
  'visual-question-answering': 'dandelin/vilt-b32-finetuned-vqa',
  'document-question-answering': 'impira/layoutlm-document-qa',
  'fill-mask': 'distilbert/distilroberta-base',
  summarization: 'sshleifer/distilbart-cnn-12-6',
  translation: 'google-t5/t5-base',
  'text2text-generation': 'google-t5/t5-base',
  'text-generation': 'openai-community/gpt2',
  'zero-shot-classification': 'facebook/bart-large-mnli',
  'zero-shot-image-classification': 'openai/clip-vit-base-patch32',
  'zero-shot-audio-classification': 'laion/clap-htsat-fused',
  'image-classification': 'google/vit-base-patch16-224',
  'image-feature-extraction': 'google/vit-base-patch16-224',
  'image-segmentation': 'facebook/detr-resnet-50-panoptic',
  'object-detection': 'facebook/detr-resnet-50',
  'zero-shot-object-detection': 'google/owlvit-base-patch32',
  'depth-estimation': 'Intel/dpt-large',
  'video-classification': 'MCG-NJU/videomae-base-finetuned-kinetics',
  'mask-generation': 'facebook/sam-vit-huge',
  'image-to-image': 'caidas/swin2SR-classical-sr-x2-64',
};

/** A task by its own name; those of a pair of languages are translations. */
export const taskOf = (name: string): string =>
  /^translation_\w+_to_\w+$/.test(name) ? 'translation' : (ALIASES[name] ?? name);

/** The model of a pipeline that is given a task alone. */
export const defaultModelOf = (task: string): string | undefined => DEFAULTS[taskOf(task)];
