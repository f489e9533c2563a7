import { isNone } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { fileIn, PYTORCH } from '../../sources/repositories';
import { DTYPES } from '../../terms/dtypes';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { readAdapter } from '../hf/model-arguments';
import { MODEL_ARGUMENTS_TABLE } from '../hf/model-arguments-keys';
import { readPeftConfig } from '../hf/peft-config';
import { PEFT_TABLE } from '../hf/peft-config-keys';
import type { GivenField } from '../hf/peft-fields';
import { weightsDtypeOf } from '../hf/weights-dtype';
import type { Section } from '../section';
import { adaptersInPlace, configOfPut, isUncertain, putsBare } from './adapters-in-place';
import { askedOf } from './asked-of';
import { argumentOf, argumentsOf, type Calls, sectionOf, standIn } from './call-block';
import { readFrozen } from './frozen-weights';
import { preparationOf } from './kbit-preparation';
import { callsOnModel, type ModelChain } from './model-chain';
import { checkpointingCalls } from './reentry';
import { readResized } from './resized-embeddings';
import { readWeightCasts } from './weight-casts';

const PEFT = 'https://huggingface.co/docs/peft/package_reference/';

const CHECKPOINT_WRAPPER = fileIn(PYTORCH, 'torch/distributed/algorithms/_checkpoint/checkpoint_wrapper.py');

/** Classes of PEFT's configs and the kinds that they make (`peft/utils/peft_types.py`). */
const KINDS: Readonly<Record<string, string>> = {
  LoraConfig: 'LORA',
  AdaLoraConfig: 'ADALORA',
  VeraConfig: 'VERA',
  VBLoRAConfig: 'VBLORA',
  FourierFTConfig: 'FOURIERFT',
  LoHaConfig: 'LOHA',
  LoKrConfig: 'LOKR',
  OFTConfig: 'OFT',
  BOFTConfig: 'BOFT',
  MissConfig: 'MISS',
  BoneConfig: 'BONE',
  IA3Config: 'IA3',
  LNTuningConfig: 'LN_TUNING',
  PromptTuningConfig: 'PROMPT_TUNING',
  PrefixTuningConfig: 'PREFIX_TUNING',
  PromptEncoderConfig: 'P_TUNING',
};

/** What is trained. */
export interface AdapterPlan {
  /** The call that makes the config of the adapters. */
  readonly config?: PyCall;
  /** The trainer is given it, and makes the adapters itself. */
  readonly byTrainer: boolean;
}

/** Reads the adapters that a run trains: those that are put on the model before, or those that the trainer makes. */
export function readAdapters(
  calls: Calls,
  trainer: PyCall,
  chain: ModelChain,
  context: ReadContext,
): AdapterPlan {
  const passed = argumentOf(trainer, 'peft_config');
  // Merged adapters are gone, and what PEFT froze for them stays frozen.
  const merged = chain.steps.findLast(({ callee }) => callee === 'merge_and_unload');
  const steps = merged ? chain.steps.slice(chain.steps.indexOf(merged) + 1) : chain.steps;
  const wrapped = steps.findLast(({ callee }) =>
    /(^|\.)(get_peft_model|inject_adapter_in_model)$/.test(callee),
  );
  const inPlace = passed && !isNone(passed) ? undefined : adaptersInPlace(calls.program, chain, trainer);
  const put = wrapped ?? inPlace;
  const given = put ? configOfPut(put) : passed;
  const loads = /(?:PeftModel\w*\.from_pretrained|^load_adapter)$/;
  const loaded =
    steps.find(({ callee }) => loads.test(callee)) ?? (put && loads.test(put.callee) ? put : undefined);
  if (loaded) {
    // In one arm of a branch they are loaded, in the other they may be made.
    if (loaded.conditions.length > 0) {
      leaveKind(calls, loaded.calleeRange, WHICH());
      return { byTrainer: false };
    }
    const name = loaded.of ? loaded.callee : 'PeftModel.from_pretrained';
    leaveKind(calls, loaded.calleeRange, say('The adapters that `{0}` loads are not read.', name));
    return { byTrainer: false };
  }
  const isOpen =
    (merged && (merged.conditions.length > 0 || !given || isNone(given))) ||
    // Which of two configs a trainer goes by is a matter of its release.
    (wrapped && passed && !isNone(passed) && !(given && isOneObject(passed, given)));
  if (isOpen) {
    leaveKind(calls, (merged ?? wrapped ?? trainer).calleeRange, WHICH());
    return { byTrainer: false };
  }
  if (inPlace && isUnreadInPlace(calls, inPlace, chain, trainer)) {
    leaveKind(calls, inPlace.calleeRange, WHICH());
    return { byTrainer: false };
  }
  if (put && putsBare(put)) readBareType(calls, `${PEFT}functional#peft.inject_adapter_in_model`);
  if (!given || isNone(given)) {
    if (chain.branch && putsInOtherArm(calls, chain)) {
      leaveKind(calls, chain.branch, WHICH());
      return { byTrainer: false };
    }
    readFrozen(calls, chain, trainer, context);
    return { byTrainer: false };
  }
  if (!(put && putsBare(put)) && keepsType(put, context))
    readBareType(calls, `${PEFT}peft_model#peft.get_peft_model`);
  const asked = askedOf(calls, given, 'get_peft_config');
  if (asked) {
    const section = sectionOf(calls, asked, MODEL_ARGUMENTS_TABLE);
    readAdapter(section);
    return { byTrainer: !put, ...(section.flag('use_peft') === true ? { config: asked } : {}) };
  }
  const config = configOf(calls, given);
  if (!config) {
    const other = given.kind === 'object' ? calls.program.calls[given.id]?.callee : undefined;
    const name = other?.split('.').at(-1) ?? '';
    // No value of a run's fields stands for such adapters.
    if (/^peft\.(?:\w+\.)*\w+Config$/.test(other ?? ''))
      calls.draft.leave(
        'refused',
        { range: given.range },
        name,
        say('Adapters of `{0}` are not estimated.', name),
      );
    else leaveKind(calls, given.range, WHICH());
    return { byTrainer: !put };
  }
  const kind = KINDS[config.callee.split('.').at(-1) ?? ''] ?? '';
  const section = sectionOf(calls, config, PEFT_TABLE, [standIn('peft_type', kind, config.calleeRange)]);
  readPeftConfig(section, calls.draft, unreadFields(calls, config, section));
  return { config, byTrainer: !put };
}

const isOneObject = (a: PyValue, b: PyValue): boolean =>
  a.kind === 'object' && b.kind === 'object' && a.id === b.id && a.item === b.item;

/** Whether the model gets adapters where a branch goes otherwise than it is followed. */
const putsInOtherArm = ({ program }: Calls, { instead }: ModelChain): boolean =>
  [...instead].some((id) =>
    /(?:^|\.)(?:get_peft_model|PeftModel\w*\.from_pretrained)$/.test(program.calls[id]?.callee ?? ''),
  );

const WHICH = () => say('Which adapters this makes is known only when the script runs.');

/**
 * Whether a model with adapters that nothing wraps is trained otherwise than PEFT's own: trainers that compare with a reference look for
 * that class (`trl/trainer/dpo_trainer.py`, `is_peft_model`), and prompts that are learned live in the wrapper alone.
 */
function isUnreadInPlace(calls: Calls, put: PyCall, chain: ModelChain, trainer: PyCall): boolean {
  const given = configOfPut(put);
  const config = given && configOf(calls, given);
  const kind = KINDS[config?.callee.split('.').at(-1) ?? ''] ?? '';
  const compares = /^trl\..*Trainer$/.test(trainer.callee) && !/\.(SFT|Reward)Trainer$/.test(trainer.callee);
  return (
    compares ||
    !given ||
    /^(PROMPT_TUNING|PREFIX_TUNING|P_TUNING)$/.test(kind) ||
    isUncertain(calls.program, put, chain, trainer)
  );
}

/**
 * Whether PEFT leaves adapters in the type of the weights, magnitudes of DoRA among them: where a call asks for it, and in releases before
 * 0.12, which cast none to fp32 (`peft_model.py`, `autocast_adapter_dtype`).
 */
function keepsType(put: PyCall | undefined, { known }: ReadContext): boolean {
  const casts = put && argumentOf(put, 'autocast_adapter_dtype', 4);
  if (casts?.kind === 'scalar' && casts.value === false) return true;
  return isAtLeast(known['version.peft'], '0.12') === false;
}

/** Such adapters have the type of the weights (`tuners/lora/layer.py`, `_move_adapter_to_device_of_base_layer`). */
function readBareType({ draft }: Calls, source: string): void {
  const quantized = draft.valueOf('quantization.kind') ?? 'none';
  if (quantized !== 'none') return;
  const type = DTYPES.find((name) => name === draft.valueOf('precision.weights'));
  const note = say('the type of the weight that it adapts');
  if (type) draft.assume('lora.dtype', type, note, source);
}

/** Fields that are given as objects, or as what is known only when the script runs: no entry of the block stands for them. */
function unreadFields({ program }: Calls, config: PyCall, { root }: Section): readonly GivenField[] {
  const inBlock = new Set(root?.entries.map(({ key }) => key));
  return argumentsOf(program, config).flatMap(({ key, value, used }) =>
    inBlock.has(key) || isNone(value)
      ? []
      : [{ key, value: value.kind === 'name' ? value.name : undefined, range: used }],
  );
}

function configOf({ program }: Calls, given: PyValue): PyCall | undefined {
  const options = given.kind === 'either' ? given.options : [given];
  const objects = options.flatMap((option) => (option.kind === 'object' ? [program.calls[option.id]] : []));
  const known = objects.find((call) => call && Object.hasOwn(KINDS, call.callee.split('.').at(-1) ?? ''));
  return options.length === 1 ? known : undefined;
}

function leaveKind({ draft }: Calls, range: PyCall['range'], message: string): void {
  draft.leave('value', { range }, 'peft_config', message, ['method.kind', 'lora.rank']);
}

/**
 * What is called on the model before it is trained: preparation of quantized weights (which turns checkpointing on, too),
 * checkpointing, compilation.
 */
export function readCallsOnModel(
  calls: Calls,
  trainer: PyCall,
  chain: ModelChain,
  adapted: AdapterPlan,
  context: ReadContext,
): void {
  const { draft } = calls;
  const on = callsOnModel(calls.program, chain, trainer.id);
  const prepared = preparationOf(on);
  // Also where nothing is quantized while loading: the name of a model may state that its weights are.
  if (prepared)
    draft.state(
      'quantization.prepared',
      true,
      { range: prepared.calleeRange },
      'prepare_model_for_kbit_training',
    );
  else if (!adapted.byTrainer)
    draft.assume(
      'quantization.prepared',
      false,
      say('`prepare_model_for_kbit_training` is not called'),
      `${PEFT}peft_model#peft.prepare_model_for_kbit_training`,
    );
  const checkpoints = checkpointingCalls(calls, on);
  for (const { callee, calleeRange } of checkpoints.slice(0, 1))
    draft.state('activations.checkpointing', 'full', { range: calleeRange }, callee);
  readResized(calls, chain, on, context);
  readWrappedCheckpoints(calls, on);
  readDevice(calls, on);
  const compiled = on.find(({ callee }) => /^(torch\.)?compile$/.test(callee));
  if (compiled) draft.state('kernels.compile', true, { range: compiled.calleeRange }, 'torch.compile');
  readCasts(calls, chain);
  readWeightCasts(calls, chain, trainer);
}

/** A model that is moved to another kind of device is trained there. */
function readDevice({ draft }: Calls, on: readonly PyCall[]): void {
  const moved = on.find(
    ({ callee, positional: [device], conditions }) =>
      callee === 'to' &&
      conditions.length === 0 &&
      device?.kind === 'scalar' &&
      /^(npu|xpu|hpu|mps|xla|mlu|musa)(:\d+)?$/.test(String(device.value)),
  );
  const [device] = moved?.positional ?? [];
  if (!moved || device?.kind !== 'scalar') return;
  const name = String(device.value);
  draft.leave('refused', { range: moved.range }, name, say('Runs of `{0}` are not estimated.', name));
}

/**
 * PyTorch's own wrapping of modules (`checkpoint_wrapper.py`): without reentry unless it is asked for. Which modules are wrapped a
 * function of the code decides: layers are taken.
 */
function readWrappedCheckpoints({ program, draft }: Calls, on: readonly PyCall[]): void {
  const applied = on.find(({ callee }) => /(^|\.)apply_activation_checkpointing(_wrapper)?$/.test(callee));
  if (applied) {
    const place = { range: applied.calleeRange };
    draft.infer('activations.checkpointing', 'full', say('layers are wrapped'), place, undefined, true);
    const reentrant = program.calls.some(({ named }) =>
      named.some(
        ({ key, value }) =>
          key === 'checkpoint_impl' && value.kind === 'name' && /\.REENTRANT$/.test(value.name),
      ),
    );
    draft.assume('activations.reentrant', reentrant, say('{0} default', 'PyTorch'), CHECKPOINT_WRAPPER);
    return;
  }
  const wrapped = program.calls.find(({ callee }) => /(^|\.)checkpoint_wrapper$/.test(callee));
  if (!wrapped) return;
  const words = say('Which layers are recomputed is decided by the code here.');
  draft.leave('value', { range: wrapped.calleeRange }, 'checkpoint_wrapper', words, [
    'activations.checkpointing',
  ]);
}

/** `model.to(torch.bfloat16)`, `model.half()`: the last one counts. */
function readCasts({ draft }: Calls, chain: ModelChain): void {
  for (const call of [...chain.steps].reverse()) {
    const given = [...call.positional, ...call.named.map(({ value }) => value)].find(
      (value) => value.kind === 'name' && /^torch\.(bfloat16|float16|float32|half)$/.test(value.name),
    );
    const named = given?.kind === 'name' ? given.name.split('.').at(-1) : undefined;
    const word = call.callee === 'to' ? named : call.callee;
    const dtype = weightsDtypeOf(word);
    if (!dtype || !call.of) continue;
    draft.forget('precision.weights');
    draft.state('precision.weights', dtype, { range: call.range }, call.callee);
    return;
  }
}
