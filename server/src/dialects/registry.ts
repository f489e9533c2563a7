import type { ConfigDocument, ConfigFormat } from '../config/node';
import { formatOf } from '../config/parse';
import { accelerate } from './accelerate';
import { axolotl } from './axolotl/axolotl';
import { deepspeed } from './deepspeed';
import type { Dialect } from './dialect';
import { gptNeox } from './gpt-neox/gpt-neox';
import { fsdpFile } from './hf/fsdp-file';
import { hfTrainingArguments } from './hf-training-arguments';
import { launchScript } from './launch-script';
import { litgpt } from './litgpt/litgpt';
import { llamaFactory } from './llama-factory/llama-factory';
import { llamaFactoryV1 } from './llama-factory-v1/llama-factory-v1';
import { llmFoundry } from './llm-foundry/llm-foundry';
import { megatronYaml } from './megatron/megatron';
import { msSwift } from './ms-swift/ms-swift';
import { nanotron } from './nanotron/nanotron';
import { nemoAutomodel } from './nemo/automodel';
import { megatronBridge } from './nemo/megatron-bridge';
import { nemo } from './nemo/nemo';
import { nemoRl } from './nemo/nemo-rl';
import { oomlintRun } from './oomlint-run';
import { openInstruct } from './open-instruct';
import { torchtitan } from './torchtitan/torchtitan';
import { torchtune } from './torchtune/torchtune';
import { trlRecipe } from './trl';
import { trlxConfig } from './trlx/trlx';
import { verl } from './verl/verl';
import { inHouse } from './vocabulary/in-house';

/** Every config family that is read. */
export const DIALECTS: readonly Dialect[] = [
  deepspeed,
  accelerate,
  axolotl,
  llamaFactory,
  llamaFactoryV1,
  torchtune,
  torchtitan,
  litgpt,
  nanotron,
  megatronYaml,
  gptNeox,
  nemo,
  nemoRl,
  nemoAutomodel,
  megatronBridge,
  llmFoundry,
  msSwift,
  openInstruct,
  verl,
  trlxConfig,
  trlRecipe,
  hfTrainingArguments,
  fsdpFile,
  launchScript,
  inHouse,
  oomlintRun,
];

/** Below this, a file is somebody else's. */
const THRESHOLD = 0.5;

/** Oomlint's project file says things about other files; it is no run itself. */
const PROJECT_FILE = /(^|[\\/])\.?oomlint\.(ya?ml|jsonc?)$/i;

/** Files that teach Oomlint the flags of a team. */
const VOCABULARY_FILE = /^(oomlint-flags|(.*\.)?oomlint-vocabulary)\.ya?ml$/i;

/** Whether a file is a vocabulary by its name. */
export function isVocabularyFile(fileName: string): boolean {
  return VOCABULARY_FILE.test(fileName);
}

/** The family that a document belongs to, by its content; `more` are families that the workspace teaches. */
export function detectDialect(document: ConfigDocument, more: readonly Dialect[] = []): Dialect | undefined {
  const { root } = document;
  const name = fileNameOf(document.uri);
  if (!root || PROJECT_FILE.test(name) || isVocabularyFile(name)) return undefined;
  let best: Dialect | undefined;
  let bestScore = THRESHOLD;
  for (const dialect of [...more, ...DIALECTS]) {
    const score = dialect.detect(root, name);
    if (score > bestScore) {
      best = dialect;
      bestScore = score;
    }
  }
  return best;
}

/** Last segment of a URI or path, decoded. */
function fileNameOf(uri: string): string {
  const name =
    uri
      .replace(/[?#].*$/, '')
      .split(/[\\/]/)
      .at(-1) ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * Looks at the raw text only: false is certain, true is worth parsing. Searching for a few words costs next to nothing
 * beside a parse, and most JSON and YAML files of a workspace end here.
 */
export function mightBeTrainingConfig(
  text: string,
  fileName: string,
  more: readonly Dialect[] = [],
): boolean {
  if (PROJECT_FILE.test(fileName) || isVocabularyFile(fileName)) return false;
  if (/\.flags$/i.test(fileName)) return true;
  let format: ConfigFormat | undefined;
  return [...more, ...DIALECTS].some((dialect) => {
    if (!dialect.markers.test(text)) return false;
    if (dialect.format === undefined) return true;
    format ??= formatOf(fileName, text);
    return dialect.format === format;
  });
}
