import type { PyCall } from './value';

/** Values of a second of sound (`sampling_rate` of `feature_extraction_wav2vec2.py` and `feature_extraction_whisper.py`). */
const RATE = 16_000;
/** Models that hear by one of these, as their checkpoints are named. */
const HEARS = /(?:^|\/)(?:wav2vec2|hubert|wavlm|whisper|distil-whisper|unispeech|data2vec-audio|sew)\b/;

/** How many values a second of sound has for the extractor that a call has loaded; undefined where that is not known. */
export function samplingRate(load: PyCall | undefined): number | undefined {
  const [name] = load?.positional ?? [];
  if (!load || !/(?:FeatureExtractor|Processor)\.from_pretrained$/.test(load.callee)) return undefined;
  if (load.named.some(({ key }) => key === 'sampling_rate') || load.open) return undefined;
  return name?.kind === 'scalar' && HEARS.test(String(name.value)) ? RATE : undefined;
}
