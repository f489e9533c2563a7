import { nodeAt } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import { flagOf, isAuto, textOf } from '../config/scalar';
import type { DType } from '../run/fields';
import { say } from '../wording/say';
import type { Draft } from './draft';

const DOCS = 'https://www.deepspeed.ai/docs/config-json/';

/** Spellings of types in DeepSpeed's `DtypeEnum`. */
const DTYPE_NAMES: Readonly<Record<string, DType>> = {
  fp32: 'fp32',
  float32: 'fp32',
  float: 'fp32',
  fp16: 'fp16',
  float16: 'fp16',
  half: 'fp16',
  bf16: 'bf16',
  bfloat16: 'bf16',
};

export function dtypeOf(node: ConfigNode | undefined): DType | undefined {
  const text = textOf(node)
    ?.toLowerCase()
    .replace(/^torch\./, '');
  return text === undefined ? undefined : DTYPE_NAMES[text];
}

/** The bf16 block; its old name counts only where the new one is absent. */
export function bf16Block(root: ConfigNode): { readonly key: string; readonly node: ConfigNode } | undefined {
  for (const key of ['bf16', 'bfloat16']) {
    const node = nodeAt(root, [key]);
    if (node) return { key, node };
  }
  return undefined;
}

export function readPrecision(root: ConfigNode, draft: Draft): void {
  const bf16 = bf16Block(root);
  const half = switchOf(nodeAt(root, 'fp16'), 'fp16');
  const brain = switchOf(bf16?.node, bf16?.key ?? 'bf16');
  const on = brain?.on
    ? ({ ...brain, dtype: 'bf16' } as const)
    : half?.on
      ? ({ ...half, dtype: 'fp16' } as const)
      : undefined;
  if (on) {
    draft.state('precision.scheme', 'deepspeed', on.node, on.key);
    draft.state('precision.weights', on.dtype, on.node, on.key);
    draft.state('precision.compute', on.dtype, on.node, on.key);
  } else if (autocast(root, draft)) {
    // fp32 weights under autocast: stated there.
  } else if (brain?.auto || half?.auto) {
    const dtype = brain?.auto ? 'bf16' : 'fp16';
    const node = (brain?.auto ? brain : half)?.node;
    const key = (brain?.auto ? brain : half)?.key;
    const note = say("auto: the caller's precision decides, {0} is assumed", dtype);
    draft.infer('precision.scheme', 'deepspeed', note, node, key);
    draft.infer('precision.weights', dtype, note, node, key);
    draft.infer('precision.compute', dtype, note, node, key);
  } else {
    const note = say('DeepSpeed default: neither bf16 nor fp16 is enabled');
    const source = `${DOCS}#bfloat16-training-options`;
    draft.assume('precision.scheme', 'native', note, source);
    draft.assume('precision.weights', 'fp32', note, source);
    draft.assume('precision.compute', 'fp32', note, source);
  }
  readStates(root, bf16, draft);
}

interface Switch {
  readonly on: boolean;
  readonly auto: boolean;
  readonly node: ConfigNode;
  readonly key: string;
}

function switchOf(block: ConfigNode | undefined, key: string): Switch | undefined {
  const node = nodeAt(block, 'enabled');
  if (!node) return undefined;
  return { on: flagOf(node) === true, auto: isAuto(node), node, key: `${key}.enabled` };
}

function autocast(root: ConfigNode, draft: Draft): boolean {
  const enabled = nodeAt(root, 'torch_autocast.enabled');
  if (!enabled || flagOf(enabled) !== true) return apex(root, draft);
  const source = 'https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/torch_autocast.py';
  draft.state('precision.scheme', 'autocast', enabled, 'torch_autocast.enabled');
  draft.assume('precision.weights', 'fp32', say('autocast keeps the weights as they are'), source);
  const node = nodeAt(root, 'torch_autocast.dtype');
  const dtype = dtypeOf(node);
  if (node && dtype) draft.state('precision.compute', dtype, node, 'torch_autocast.dtype');
  else draft.assume('precision.compute', 'fp16', say('default of torch.autocast on CUDA'), source);
  return true;
}

/** Apex levels O0 and O1 leave the weights in fp32; O1 computes in fp16 like autocast. */
function apex(root: ConfigNode, draft: Draft): boolean {
  const enabled = nodeAt(root, 'amp.enabled');
  const level = textOf(nodeAt(root, 'amp.opt_level')) ?? 'O1';
  if (!enabled || flagOf(enabled) !== true || level !== 'O1') return false;
  draft.state('precision.scheme', 'autocast', enabled, 'amp.enabled');
  draft.state('precision.compute', 'fp16', enabled, 'amp.enabled');
  draft.assume(
    'precision.weights',
    'fp32',
    say('Apex level O1 keeps the weights as they are'),
    `${DOCS}#automatic-mixed-precision-amp-training-options`,
  );
  return true;
}

/** Types of what stands beside the weights: gradients, masters, states. */
function readStates(
  root: ConfigNode,
  bf16: { key: string; node: ConfigNode } | undefined,
  draft: Draft,
): void {
  const accumulation = nodeAt(root, 'data_types.grad_accum_dtype');
  const accumulated = dtypeOf(accumulation);
  if (accumulation && accumulated) {
    draft.state('precision.gradientAccumulation', accumulated, accumulation, 'data_types.grad_accum_dtype');
  }
  const communication = nodeAt(root, 'communication_data_type');
  const reduced = dtypeOf(communication);
  if (communication && reduced) {
    draft.state('precision.reduce', reduced, communication, 'communication_data_type');
  }
  if (bf16) {
    const masters = nodeAt(bf16.node, 'bf16_master_weights_and_grads');
    if (masters && flagOf(masters)) {
      draft.state('precision.masterWeights', 'bf16', masters, `${bf16.key}.bf16_master_weights_and_grads`);
    }
    const states = nodeAt(bf16.node, 'bf16_optimizer_states');
    if (states && flagOf(states)) {
      draft.state('precision.optimizerStates', 'bf16', states, `${bf16.key}.bf16_optimizer_states`);
    }
  }
  const masters = nodeAt(root, 'fp16.fp16_master_weights_and_grads');
  if (masters && flagOf(masters)) {
    draft.state('precision.masterWeights', 'fp16', masters, 'fp16.fp16_master_weights_and_grads');
  }
}
