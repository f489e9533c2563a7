import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { flagOf, textOf, textsOf } from '../../config/scalar';
import { hasOwnDecoder } from '../../model/own-decoder';
import { routedExperts } from '../../model/routed-experts';
import { literalPattern } from '../../run/literal-pattern';
import { fileIn, UNSLOTH } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import { argumentOf, type Calls } from './call-block';

type ModelConfig = Readonly<Record<string, unknown>>;

const LLAMA = fileIn(UNSLOTH, 'unsloth/models/llama.py');
const UTILITIES = fileIn(UNSLOTH, 'unsloth/models/_utils.py');
const VISION = fileIn(UNSLOTH, 'unsloth/models/vision.py');

/** What `get_peft_model` adapts where it is given nothing (`llama.py`). */
const TARGETS = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

/** Parts of the path of a module that tell where it is, and what (`get_peft_regex`). */
const TAGS = {
  vision: ['vision', 'image', 'visual', 'patch'],
  attention: ['self_attn', 'attention', 'attn', 'mixer'],
  mlp: ['mlp', 'feed_forward', 'ffn', 'dense', 'mixer'],
} as const;
const SOUND_LEAVES = {
  attention: ['q_proj', 'k_proj', 'v_proj', 'relative_k_proj', 'pos_proj', 'post'],
  mlp: ['ffw_layer_1', 'ffw_layer_2', 'linear_start', 'linear_end', 'input_proj_linear', 'output_proj'],
} as const;
type Part = keyof typeof TAGS | 'language';
const PARTS: readonly Part[] = ['vision', 'language', 'attention', 'mlp'];

/** Since this release names that are given are taken only where the switches let them (`vision.py`, `_scoping`). */
const SCOPED = '2026.6.8';
/** Since this release sound has a switch, which `all-linear` turns on, and ends of Gemma's towers get adapters (`get_peft_regex`). */
const HEARS = '2026.7.1';
/** Since this release experts that are stacked are adapted, too (`_utils.py`, `get_moe_target_parameters`). */
const ADAPTS_EXPERTS = '2026.4.4';
/** Since this release embedding and head among the targets are trained in full, and as one where they are tied (`_redirect_embedding_targets`). */
const REDIRECTS = '2026.8.20';
/** Since this release of PEFT copies can be tied (`ensure_weight_tying`); Unsloth leaves the argument out before. */
const TIES = '0.18';
const ENDS: ReadonlySet<string> = new Set(['lm_head', 'embed_tokens']);
/** Since this release those of linear layers, too, whose names are others than those of a dense MLP (`_utils.py`, `get_moe_target_modules`). */
const ADAPTS_LINEAR_EXPERTS = '2026.7.2';
/** Names of which one asks for experts (`_MOE_BROAD_MLP_TARGETS`). */
const OF_EXPERTS = /^(gate_proj|up_proj|gate_up_proj)$/;

/** What is known of the model that gets adapters. */
interface AdaptedModel {
  /** Unsloth's own layers, which have no switches. */
  readonly kernels: boolean;
  readonly config: ModelConfig | undefined;
  readonly release: string | undefined;
  /** Of transformers, where experts are stacked since 5. */
  readonly transformers: string | undefined;
  readonly peft: string | undefined;
}

/**
 * Modules that get adapters: by name where Unsloth has layers of its own; else by a pattern of switches, names and paths
 * (`get_peft_regex`). Embedding and head among the names are trained in full (`llama.py`; `vision.py`).
 */
export function readUnslothTargets(draft: Calls['draft'], put: PyCall, model: AdaptedModel): void {
  const targets = argumentOf(put, 'target_modules', 2);
  const names = textsOf(knownNode(targets));
  const isAuto = !targets || textOf(knownNode(targets)) === 'all-linear' || isNone(targets);
  if (!isAuto && names?.length) {
    const whole = trainedInFull(names, model);
    const others = names.filter((name) => !whole.includes(name));
    draft.state('lora.targets', others, targets, 'target_modules');
    readSaved(draft, put, whole, model);
    if (!model.kernels && isAtLeast(model.release, SCOPED) !== false) readScoped(draft, put, model, others);
    if (!model.kernels) readExperts(draft, put, model, others);
    return;
  }
  readSaved(draft, put, [], model);
  if (!targets && (model.kernels || isOfText(put))) {
    draft.assume('lora.targets', TARGETS, say('{0} default', 'Unsloth'), LLAMA, 'target_modules');
    if (model.kernels) return;
    if (isAtLeast(model.release, SCOPED) !== false) readScoped(draft, put, model, TARGETS);
    readExperts(draft, put, model, TARGETS);
    return;
  }
  if (!isAuto) {
    draft.leave('value', targets, 'target_modules', say('Which modules get adapters here is not read.'), [
      'lora.targets',
    ]);
    return;
  }
  if (targets && !isNone(targets)) draft.state('lora.targets', ['all-linear'], targets, 'target_modules');
  else draft.assume('lora.targets', ['all-linear'], say('{0} default', 'Unsloth'), VISION, 'target_modules');
  readScoped(draft, put, model, undefined);
  readExperts(draft, put, model, TARGETS);
}

/** Of the modules that are to get adapters, those that Unsloth trains in full instead; only its own layers' embedding before that release. */
function trainedInFull(names: readonly string[], { kernels, release }: AdaptedModel): readonly string[] {
  if (isAtLeast(release, REDIRECTS) !== false) return names.filter((name) => ENDS.has(leafOf(name)));
  return kernels ? names.filter((name) => name === 'embed_tokens') : [];
}

const leafOf = (name: string) => name.split('.').at(-1) ?? name;

/**
 * What is trained in full: what is named so, and `moved` from the targets. Where that is a tied embedding and its head, both are one copy
 * unless the call states otherwise (`_effective_weight_tying`): PEFT makes the head of the embedding's.
 */
function readSaved(
  draft: Calls['draft'],
  put: PyCall,
  moved: readonly string[],
  { release, peft }: AdaptedModel,
): void {
  const named = argumentOf(put, 'modules_to_save');
  const names = [...new Set([...(textsOf(knownNode(named)) ?? []), ...moved])];
  const at = named ?? argumentOf(put, 'target_modules', 2);
  if (names.length === 0 || !at) return;
  draft.state('lora.modulesToSave', names, at, moved.length > 0 ? 'target_modules' : 'modules_to_save');
  const ties = argumentOf(put, 'ensure_weight_tying');
  const asked = ties && !isNone(ties) ? flagOf(knownNode(ties)) : undefined;
  if (ties && asked !== undefined) draft.state('lora.tiesCopies', asked, ties, 'ensure_weight_tying');
  else if (ties && !isNone(ties)) draft.leaveUncounted(ties, 'ensure_weight_tying', ['lora.modulesToSave']);
  else if (isAtLeast(release, REDIRECTS) !== false && isAtLeast(peft, TIES) !== false)
    draft.assume('lora.tiesCopies', true, say('{0} default', 'Unsloth'), UTILITIES, 'ensure_weight_tying');
}

const isOfText = ({ callee }: PyCall) => /FastLanguageModel\.get_peft_model$/.test(callee);

const isNone = (value: NonNullable<ReturnType<typeof argumentOf>>) =>
  value.kind === 'scalar' && value.value === null;

interface Switches {
  readonly parts: readonly Part[];
  readonly sound: boolean;
}

/** The switches that are on; undefined where one is not known. */
function switchesOf(put: PyCall, all: boolean, release: string | undefined): Switches | undefined {
  const hears = isAtLeast(release, HEARS) !== false;
  if (all) return { parts: PARTS, sound: hears };
  const key = (part: Part) =>
    part === 'attention' || part === 'mlp' ? `finetune_${part}_modules` : `finetune_${part}_layers`;
  const parts: Part[] = [];
  for (const part of PARTS) {
    const given = argumentOf(put, key(part));
    const on = given ? flagOf(knownNode(given)) : !(isOfText(put) && part === 'vision');
    if (on === undefined) return undefined;
    if (on) parts.push(part);
  }
  const sound = argumentOf(put, 'finetune_audio_layers');
  const heard = sound && hears ? flagOf(knownNode(sound)) : false;
  return heard === undefined ? undefined : { parts, sound: heard };
}

/** The pattern that switches make of names, or of all linear layers where `names` is undefined. */
function readScoped(
  draft: Calls['draft'],
  put: PyCall,
  { config, release }: AdaptedModel,
  names: readonly string[] | undefined,
): void {
  const targets = argumentOf(put, 'target_modules', 2);
  const on = switchesOf(put, names === undefined && targets !== undefined && !isNone(targets), release);
  // Names are taken as they stand where every switch but that of sound is on, and that is not.
  if (names && on?.parts.length === PARTS.length && !on.sound) return;
  // Experts of gpt-oss are named otherwise, layers of Nemotron have no tag, and models with two sides lists of their own.
  const type = String(config?.model_type ?? '');
  const isTagged = config !== undefined && !/^(gpt_oss|nemotron_h)$/.test(type) && !hasOwnDecoder(config);
  const isSwitched = put.named.some(
    ({ key, value }) => /^finetune_/.test(key) && flagOf(knownNode(value)) === false,
  );
  if (on === undefined || (!isTagged && isSwitched))
    draft.leave(
      'value',
      { range: put.calleeRange },
      'finetune_vision_layers',
      say('Which modules get adapters here is not read.'),
      ['lora.rank'],
    );
  if (on === undefined || !isTagged) return;
  const note = names
    ? say('names that are given are taken where the switches of Unsloth let them')
    : say('linear layers whose paths the switches of Unsloth take');
  draft.infer(
    'lora.targetPattern',
    patternOf(on, names, /^gemma(4|3n)/.test(type) && isAtLeast(release, HEARS) !== false),
    note,
    knownNode(targets),
  );
}

/**
 * `get_peft_regex`, matched to the whole path of a linear layer. Routers are left out, and what there is one of, as the numbered layers of
 * Qwen-VL's merger.
 */
function patternOf(
  { parts: on, sound }: Switches,
  names: readonly string[] | undefined,
  gemma: boolean,
): string {
  const leaf = names ? `(?:${names.map(literalPattern).join('|')})` : '(?!(?:gate|router|[0-9]+)$)[^.]+';
  const tags = (parts: readonly Part[]) =>
    [
      ...new Set(
        parts.filter((part) => on.includes(part)).flatMap((part) => (part === 'language' ? [] : TAGS[part])),
      ),
    ].join('|');
  const kinds = tags(['attention', 'mlp']);
  const branches: string[] = [];
  if (on.includes('vision')) branches.push(`.*?(?:${tags(['vision'])}).*?(?:${kinds}).*?\\.${leaf}`);
  // Where the decoder has a name of its own, that has a tag of language.
  if (on.includes('language'))
    branches.push(`(?:model\\.)?(?:language_model\\.)?layers\\.[0-9]+\\..*?(?:${kinds}).*?\\.${leaf}`);
  // Ends of Gemma's towers that no tag names (`_linear_aware_branches`).
  if (gemma && on.includes('vision') && on.includes('mlp') && !names)
    branches.push(
      '.*?(?:embed_vision\\.embedding_projection|vision_embedder\\.patch_dense|vision_tower\\.patch_embedder\\.input_proj)',
    );
  if (gemma && sound) branches.push(...soundBranches(on, names));
  return branches.map((branch) => `(?:${branch})`).join('|');
}

/** Linear layers of Gemma's Conformer and of what leads from it to the text (`get_peft_regex`, `audio_leaves`). */
function soundBranches(on: readonly Part[], names: readonly string[] | undefined): string[] {
  const taken = (leaves: readonly string[]) => leaves.filter((leaf) => !names || names.includes(leaf));
  const leaves = [
    ...(on.includes('attention') ? taken(SOUND_LEAVES.attention) : []),
    ...(on.includes('mlp') ? taken(SOUND_LEAVES.mlp) : []),
  ];
  const end = on.includes('mlp') ? taken(['embedding_projection']) : [];
  return [
    ...(leaves.length > 0 ? [`(?:.*\\.)?audio_tower\\.(?:.*\\.)?(?:${leaves.join('|')})(?:\\.linear)?`] : []),
    ...end.map((leaf) => `(?:.*\\.)?embed_audio\\.${leaf}`),
  ];
}

/** Experts get adapters where their layers' names are asked for, and no switch leaves them out. */
function readExperts(
  draft: Calls['draft'],
  put: PyCall,
  { config, release, transformers }: AdaptedModel,
  names: readonly string[],
): void {
  const targets = argumentOf(put, 'target_modules', 2);
  const on = switchesOf(put, textOf(knownNode(targets)) === 'all-linear', release)?.parts;
  if (!on?.includes('language') || !on.includes('mlp')) return;
  const inner = (config?.text_config ?? config) as ModelConfig | undefined;
  if (routedExperts(inner) === 0) return;
  // gpt-oss has stacked experts in any release, and linear layers where it is quantized.
  const isGptOss = inner?.model_type === 'gpt_oss';
  const linear = isGptOss && draft.valueOf('model.linearExperts') === true;
  if (!isGptOss && isAtLeast(transformers, '5') === false) return;
  if (isAtLeast(release, linear ? ADAPTS_LINEAR_EXPERTS : ADAPTS_EXPERTS) === false) return;
  const parameters = [
    ...(names.some((name) => OF_EXPERTS.test(name)) ? ['experts.gate_up_proj'] : []),
    ...(names.includes('down_proj') ? ['experts.down_proj'] : []),
  ];
  if (parameters.length > 0)
    draft.assume(
      'lora.targetParameters',
      parameters,
      linear
        ? say('Unsloth adapts the linear layers of each expert where those of an MLP are named')
        : say('Unsloth adapts the stacked experts whose layers are named'),
      UTILITIES,
    );
}
