import { say } from '../../wording/say';
import { ConfigError, type ConfigReader, type JsonObject } from '../config';
import type { Stage } from '../model';
import type { Architecture, ModelFamily } from './family';
import { audioSound, voxtralSound } from './sound-towers';
import { textArchitecture } from './vision-language';

/** A language model behind a tower for sound alone. */
interface Hearing {
  /** Model types of text and tower where the config names none. */
  readonly text: string;
  readonly audio: string;
  /** What the class fills in where the text's config leaves it out. */
  readonly filled?: JsonObject;
  readonly stages: (audio: ConfigReader, width: number) => Stage[];
}

const HEARING: Readonly<Record<string, Hearing>> = {
  qwen2_audio: { text: 'qwen2', audio: 'qwen2_audio_encoder', stages: audioSound },
  // The text config of `configuration_voxtral.py`.
  voxtral: { text: 'llama', audio: 'voxtral_encoder', filled: { head_dim: 128 }, stages: voxtralSound },
};

function build(config: ConfigReader): Architecture {
  const hearing = HEARING[config.modelType];
  if (!hearing) throw new ConfigError(say('"{0}" has no tower for sound', config.modelType));
  const { text, audio, filled = {}, stages } = hearing;
  const read = config.textModel(text);
  const missing = Object.entries(filled).filter(([name]) => read.stated(name) === undefined);
  const language = textArchitecture(read.fixed(Object.fromEntries(missing)));
  const tower = config.nested(audio, 'audio_config').as(audio);
  return {
    ...language,
    stages: [...stages(tower, language.figures.hiddenSize), ...language.stages],
    notes: [
      ...(language.notes ?? []),
      say('samples are taken to hold no sound; its tower is loaded'),
      say('the sequence length counts tokens of sound'),
    ],
  };
}

export const soundLanguage: ModelFamily = { modelTypes: Object.keys(HEARING), build };
