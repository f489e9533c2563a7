import { knownNode } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { integerOf } from '../../config/scalar';
import { fileIn, UNSLOTH } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import { argumentOf, type Calls, leaveArgument } from './call-block';
import { callsOnModel, type ModelChain } from './model-chain';

const LLAMA = fileIn(UNSLOTH, 'unsloth/models/llama.py');
const KEY = 'use_gradient_checkpointing';

interface Checkpointed {
  readonly load: PyCall;
  readonly chain: ModelChain;
  readonly trainer: PyCall;
  /** Of Unsloth; undefined where nothing names one. */
  readonly release: string | undefined;
  /** Whether Unsloth's own layers take the place of the model's. */
  readonly kernels: boolean;
}

/** Since this release `get_peft_model` offloads where nothing else is asked for; before, its default was `True` (`llama.py`; 2025.7.3 has that). */
const OFFLOADS = '2025.7.4';
/** Since this release `FastLanguageModel.from_pretrained` arms the offloading, too (`loader.py`; 2025.2.15 arms it in `FastVisionModel` alone). */
const LOADER_ARMS = '2025.3.1';
/** Since this release the last call decides, and short sequences stay on the GPU (`_utils.py`, `apply_unsloth_gradient_checkpointing`). */
const LAST_DECIDES = '2026.2.1';
/** Tokens: shorter sequences are checkpointed on the GPU (the same function). */
const LEAST_OFFLOADED = 512;

/** What a call asks for: its argument, or what it does where that is left out. Undefined of an argument that is not known. */
function wordOf(argument: PyValue | undefined, otherwise: 'unsloth' | boolean): unknown {
  return argument === undefined ? otherwise : argument.kind === 'scalar' ? argument.value : undefined;
}

/**
 * `use_gradient_checkpointing`: on where nothing else is asked for. With "unsloth" inputs of layers wait in host memory, which the loader and
 * `get_peft_model` each turn on, by a default that differs between releases.
 */
export function readUnslothCheckpointing(calls: Calls, checkpointed: Checkpointed): void {
  const { draft, program } = calls;
  const { load, chain, trainer, release } = checkpointed;
  const later = [...chain.steps, ...callsOnModel(program, chain, trainer.id)];
  const put = chain.steps.findLast(({ callee }) => /(^|\.)get_peft_model$/.test(callee));
  // What `get_peft_model` leaves out it does not take over from the loader.
  const argument =
    later.flatMap((call) => argumentOf(call, KEY) ?? []).at(-1) ?? (put ? undefined : argumentOf(load, KEY));
  const loaded = wordOf(argumentOf(load, KEY), 'unsloth');
  const otherwise = isAtLeast(release, OFFLOADS) === false && put ? true : 'unsloth';
  const word = wordOf(argument, otherwise);
  if (argument && word === undefined) {
    leaveArgument(draft, KEY, argument, ['activations.checkpointing']);
    return;
  }
  const kind = word === 'unsloth' || word === true ? ('full' as const) : ('none' as const);
  if (argument) draft.state('activations.checkpointing', kind, argument, KEY);
  else draft.assume('activations.checkpointing', kind, defaultNote(put && argumentOf(load, KEY)), LLAMA, KEY);
  readReentry(calls, trainer, release);
  if (kind === 'full' && offloads(checkpointed, { loaded, put: put !== undefined, last: word }))
    draft.assume(
      'activations.offload',
      true,
      say('Unsloth moves inputs of checkpointed layers to the host'),
      LLAMA,
    );
}

/** `loaded`: what the loader is asked for, which `get_peft_model` does not take over. */
const defaultNote = (loaded: PyValue | undefined): string =>
  loaded
    ? say('`{0}` of Unsloth has a default of its own, whatever the loader is asked for', 'get_peft_model')
    : say('{0} default', 'Unsloth');

/** Whether inputs of layers wait in host memory. `loaded`, `last`: what the loader is asked for, and the last call. */
function offloads(
  { load, release, kernels }: Checkpointed,
  { loaded, put, last }: { readonly loaded: unknown; readonly put: boolean; readonly last: unknown },
): boolean {
  const length = integerOf(knownNode(argumentOf(load, 'max_seq_length', 1))) ?? 2048;
  if (isAtLeast(release, LAST_DECIDES) !== false) {
    // Layers that are the model's own are armed by the loader alone (`vision.py`, `get_peft_model`).
    return (kernels || !put ? last : loaded) === 'unsloth' && length >= LEAST_OFFLOADED;
  }
  if (!kernels) return loaded === 'unsloth';
  return last === 'unsloth' || (loaded === 'unsloth' && isAtLeast(release, LOADER_ARMS) !== false);
}

/** Since this release reentry is not up to what is asked for (`unsloth_zoo/gradient_checkpointing.py`, `unsloth_checkpoint`). */
const REENTERS = '2026.3.3';

/** Its checkpoints go back into the forward pass, also where the arguments of the trainer ask for others. */
function readReentry({ program, draft }: Calls, trainer: PyCall, release: string | undefined): void {
  const args = argumentOf(trainer, 'args');
  const config = args?.kind === 'object' ? program.calls[args.id] : undefined;
  const words = config && argumentOf(config, 'gradient_checkpointing_kwargs');
  const asked =
    words?.kind === 'dict' ? words.entries.find(({ key }) => key === 'use_reentrant')?.value : undefined;
  if (asked && isAtLeast(release, REENTERS) !== false) {
    const note = say('Unsloth checkpoints with reentry, whatever `{0}` states', 'use_reentrant');
    draft.infer('activations.reentrant', true, note, knownNode(asked), 'use_reentrant');
  } else draft.assume('activations.reentrant', true, say('{0} default', 'Unsloth'), LLAMA);
}
