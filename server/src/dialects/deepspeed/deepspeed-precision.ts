import { flagOf, isAuto } from '../../config/scalar';
import { DEEPSPEED, fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { FoundKey, Section } from '../section';
import { dtypeOf } from './deepspeed-dtype';

const DOCS = 'https://www.deepspeed.ai/docs/config-json/';

/** What the settings decide of the types that a run computes in, where nobody else does. */
export const OF_PRECISION = ['precision.scheme', 'precision.weights', 'precision.compute'] as const;

export function readPrecision(section: Section, draft: Draft): void {
  // The old name counts only where the new one is absent.
  const bf16 = section.find(['bf16', 'bfloat16']);
  const half = switchOf(section, 'fp16');
  const brain = bf16 && switchOf(section, bf16.key);
  const on = brain?.on
    ? ({ ...brain, dtype: 'bf16' } as const)
    : half?.on
      ? ({ ...half, dtype: 'fp16' } as const)
      : undefined;
  if (on) {
    section.state('precision.scheme', 'deepspeed', on.found);
    section.state('precision.weights', on.dtype, on.found);
    section.state('precision.compute', on.dtype, on.found);
  } else if (autocast(section, draft)) {
    // fp32 weights under autocast: stated there.
  } else if (brain?.auto || half?.auto) {
    const dtype = brain?.auto ? 'bf16' : 'fp16';
    const found = (brain?.auto ? brain : half)?.found;
    const note = say("auto: the caller's precision decides, {0} is assumed", dtype);
    draft.infer('precision.scheme', 'deepspeed', note, found?.node, found?.key);
    draft.infer('precision.weights', dtype, note, found?.node, found?.key);
    draft.infer('precision.compute', dtype, note, found?.node, found?.key);
  } else {
    const note = say('DeepSpeed default: neither bf16 nor fp16 is enabled');
    const source = `${DOCS}#bfloat16-training-options`;
    draft.assume('precision.scheme', 'native', note, source);
    draft.assume('precision.weights', 'fp32', note, source);
    draft.assume('precision.compute', 'fp32', note, source);
  }
  readStates(section, bf16);
}

interface Switch {
  readonly on: boolean;
  readonly auto: boolean;
  readonly found: FoundKey;
}

function switchOf(section: Section, block: string): Switch | undefined {
  const found = section.find(`${block}.enabled`);
  return found && { on: flagOf(found.node) === true, auto: isAuto(found.node), found };
}

function autocast(section: Section, draft: Draft): boolean {
  const enabled = section.find('torch_autocast.enabled');
  if (!enabled || flagOf(enabled.node) !== true) return apex(section, draft);
  const source = fileIn(DEEPSPEED, 'deepspeed/runtime/torch_autocast.py');
  section.state('precision.scheme', 'autocast', enabled);
  draft.assume('precision.weights', 'fp32', say('autocast keeps the weights as they are'), source);
  const stated = section.find('torch_autocast.dtype');
  const dtype = dtypeOf(stated?.node);
  if (stated && dtype) section.state('precision.compute', dtype, stated);
  else draft.assume('precision.compute', 'fp16', say('default of torch.autocast on CUDA'), source);
  return true;
}

/** Apex levels O0 and O1 leave the weights in fp32; O1 computes in fp16 like autocast. */
function apex(section: Section, draft: Draft): boolean {
  const enabled = section.find('amp.enabled');
  const level = section.text('amp.opt_level') ?? 'O1';
  if (!enabled || flagOf(enabled.node) !== true || level !== 'O1') return false;
  section.state('precision.scheme', 'autocast', enabled);
  section.state('precision.compute', 'fp16', enabled);
  draft.assume(
    'precision.weights',
    'fp32',
    say('Apex level O1 keeps the weights as they are'),
    `${DOCS}#automatic-mixed-precision-amp-training-options`,
  );
  return true;
}

/** Types of what stands beside the weights: gradients, masters, states. */
function readStates(section: Section, bf16: FoundKey | undefined): void {
  section.take(
    'data_types.grad_accum_dtype',
    'communication_data_type',
    'seq_parallel_communication_data_type',
  );
  if (bf16) section.section(bf16.key).take('bf16_master_weights_and_grads', 'bf16_optimizer_states');
  section.take('fp16.fp16_master_weights_and_grads');
}
