import type { KnownVersion, Versions } from '../run/versions';
import { isAtLeast } from '../terms/version';
import { say } from '../wording/say';

/** Releases of a framework that refuse something: from the first on, up to the first that does not. */
export interface Releases {
  readonly from?: string;
  readonly until?: string;
}

/** Product and package of the repositories whose rules are reported. */
const PRODUCTS: Readonly<Record<string, readonly [product: string, name: string]>> = {
  'deepspeedai/DeepSpeed': ['DeepSpeed', 'deepspeed'],
  'huggingface/accelerate': ['Accelerate', 'accelerate'],
  'huggingface/transformers': ['transformers', 'transformers'],
  'huggingface/trl': ['TRL', 'trl'],
  'huggingface/peft': ['PEFT', 'peft'],
  'bitsandbytes-foundation/bitsandbytes': ['bitsandbytes', 'bitsandbytes'],
  'pytorch/pytorch': ['PyTorch', 'torch'],
  'axolotl-ai-cloud/axolotl': ['Axolotl', 'axolotl'],
  'hiyouga/LLaMA-Factory': ['LLaMA-Factory', 'llamafactory'],
  'modelscope/ms-swift': ['ms-swift', 'ms-swift'],
  'mosaicml/llm-foundry': ['llm-foundry', 'llm-foundry'],
  'Lightning-AI/litgpt': ['LitGPT', 'litgpt'],
  'OpenRLHF/OpenRLHF': ['OpenRLHF', 'openrlhf'],
  'volcengine/verl': ['verl', 'verl'],
  'NVIDIA/Megatron-LM': ['Megatron-LM', 'megatron-core'],
  'NVIDIA/NeMo': ['NeMo', 'nemo-toolkit'],
  'NVIDIA-NeMo/RL': ['NeMo-RL', 'nemo-rl'],
  'NVIDIA-NeMo/Automodel': ['Automodel', 'nemo-automodel'],
  'huggingface/nanotron': ['nanotron', 'nanotron'],
  'pytorch/torchtune': ['torchtune', 'torchtune'],
  'pytorch/torchtitan': ['torchtitan', 'torchtitan'],
};

/** How surely a framework refuses something. */
export interface Standing {
  readonly severity: 'error' | 'warning';
  /** Which version is meant and why it is not certain; empty where it is. */
  readonly doubt: string;
}

/**
 * How surely a rule holds that hangs on a release; `source` is the address of the rule at the release that it was read of.
 * Undefined where the version is known and does not have the rule. A version that nobody names is certain of nothing.
 */
export function standingOf(source: string, releases: Releases, versions: Versions): Standing | undefined {
  const [, repository = '', tag = ''] =
    /^https:\/\/github\.com\/([^/]+\/[^/]+)\/blob\/([^/]+)\//.exec(source) ?? [];
  const found = PRODUCTS[repository];
  if (!found) return { severity: 'error', doubt: '' };
  const [product, name] = found;
  const known = versions[name] ?? { version: tag.replace(/^\D+/, ''), source: 'assumed' as const };
  const assumed = known.source === 'assumed';
  const ends = known.oldest === undefined ? [known.version] : [known.version, known.oldest];
  // The release that a rule was read at may be behind that which is there; one that is assumed of a text may be the last that it is for.
  const rule = versions[name] === undefined ? { until: releases.until } : releases;
  const answers = ends.map((version) => holdsAt(version, rule));
  if (answers.every((answer) => answer === false)) return undefined;
  const sure = !assumed && answers.every((answer) => answer === true);
  return sure ? { severity: 'error', doubt: '' } : { severity: 'warning', doubt: doubtOf(product, known) };
}

function holdsAt(version: string, { from, until }: Releases): boolean | undefined {
  if (from === undefined && until === undefined) return true;
  const begun = from === undefined ? true : isAtLeast(version, from);
  const over = until === undefined ? false : isAtLeast(version, until);
  if (begun === false || over === true) return false;
  return begun === undefined || over === undefined ? undefined : true;
}

function doubtOf(product: string, { version, oldest, source }: KnownVersion): string {
  if (source === 'assumed') return say('{0} {1} is assumed: no file names the version.', product, version);
  return oldest === undefined
    ? say('The version is {0} {1}.', product, version)
    : say('The version is anything from {0} {1} to {2}.', product, oldest, version);
}
