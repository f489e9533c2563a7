import type { PyCall, PyValue } from '../../config/python/value';
import { HARMLESS, SIZES } from '../config-overrides';
import { argumentOf, argumentsOf, type Calls, leaveValue, withhold } from './call-block';

/**
 * Config classes of transformers that a model is made of from scratch, and the model type of each (`models/<type>/configuration_<type>.py`;
 * what a call leaves out has the default of the class, `server/data/model-defaults.json`).
 */
const TYPES: Readonly<Record<string, string>> = {
  LlamaConfig: 'llama',
  MistralConfig: 'mistral',
  MixtralConfig: 'mixtral',
  Qwen2Config: 'qwen2',
  Qwen2MoeConfig: 'qwen2_moe',
  Qwen3Config: 'qwen3',
  Qwen3MoeConfig: 'qwen3_moe',
  GPT2Config: 'gpt2',
  GPTNeoXConfig: 'gpt_neox',
  GPTJConfig: 'gptj',
  OPTConfig: 'opt',
  BloomConfig: 'bloom',
  FalconConfig: 'falcon',
  GemmaConfig: 'gemma',
  Gemma2Config: 'gemma2',
  PhiConfig: 'phi',
  Phi3Config: 'phi3',
  OlmoConfig: 'olmo',
  Olmo2Config: 'olmo2',
  StableLmConfig: 'stablelm',
  GraniteConfig: 'granite',
};

/** Kept positions have weights of their own in these. */
const LEARNED_POSITIONS = /^(?:gpt2|opt)$/;
const POSITIONS = /^(?:max_position_embeddings|n_positions|n_ctx)$/;
/** Whether a call makes a model of a config: `LlamaForCausalLM(config)`, `AutoModelForCausalLM.from_config(config)`. */
export const makesModel = ({ callee, of }: PyCall): boolean =>
  of === undefined &&
  /^transformers\.(?:\w+\.)*(?:\w+(?:ForCausalLM|LMHeadModel)|AutoModelForCausalLM\.from_config)$/.test(
    callee,
  );

/** The config that a model is made of; undefined where nobody sees it. */
export interface MadeOf {
  readonly call: PyCall;
  /** It is that of a model that is named, with other sizes or none: its weights are new. */
  readonly isNamed: boolean;
}

/** The config that a call makes a model of. */
export function configOfMade({ program }: Calls, made: PyCall): MadeOf | undefined {
  const given = argumentOf(made, 'config', 0);
  const call = given?.kind === 'object' && given.item === undefined ? program.calls[given.id] : undefined;
  if (!call || call.open) return undefined;
  const [, kind = '', method] = /(\w+?)(?:\.(from_pretrained))?$/.exec(call.callee) ?? [];
  if (method === undefined)
    return Object.hasOwn(TYPES, kind) && call.positional.length === 0 ? { call, isNamed: false } : undefined;
  const isChanged = argumentsOf(program, call).some(({ key }) => !HARMLESS.test(key) && !SIZES.test(key));
  return /Config$/.test(kind) && !isChanged ? { call, isNamed: true } : undefined;
}

/** States the architecture that a config spells out; what of it is known only when the script runs leaves it open. */
export function stateArchitecture({ program, draft }: Calls, config: PyCall): void {
  const kind = config.callee.split('.').at(-1) ?? '';
  const type = TYPES[kind] ?? '';
  const read = argumentsOf(program, config).filter(
    ({ key }) => !HARMLESS.test(key) || (LEARNED_POSITIONS.test(type) && POSITIONS.test(key)),
  );
  const unknown = read.filter(({ value }) => plainOf(value) === undefined);
  for (const setting of unknown) leaveValue(draft, setting, ['model.config']);
  if (unknown.length > 0) {
    withhold(draft, ['model.config']);
    return;
  }
  const values = Object.fromEntries(read.map(({ key, value }) => [key, plainOf(value)]));
  draft.state('model.config', { ...values, model_type: type }, { range: config.calleeRange }, kind);
}

/** A value of a config as JSON has it; undefined where it is not known. */
function plainOf(value: PyValue): unknown {
  if (value.kind === 'scalar') return value.value;
  if (value.kind === 'name' && value.name.startsWith('torch.')) return value.name;
  if (value.kind === 'list') {
    const items = value.items.map(plainOf);
    return items.every((item) => item !== undefined) ? items : undefined;
  }
  if (value.kind !== 'dict' || value.open) return undefined;
  const entries = value.entries.map(({ key, value: inner }) => [key, plainOf(inner)] as const);
  return entries.every(([, inner]) => inner !== undefined) ? Object.fromEntries(entries) : undefined;
}
