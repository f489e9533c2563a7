import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import type { PyValue } from '../../config/python/value';
import { isBlank } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { typeOf } from './built-type';

/** Hooks that hold nothing on the GPU beside the step: of mmengine and of XTuner at their releases of 2025. */
const HOOKS =
  /^(?:DatasetInfoHook|EvaluateChatHook|VarlenAttnArgsToMessageHubHook|ThroughputHook|HFCheckpointHook|IterTimerHook|LoggerHook|ParamSchedulerHook|CheckpointHook|DistSamplerSeedHook|RuntimeInfoHook|SyncBuffersHook|EarlyStoppingHook|EmptyCacheHook)$/;

/** What a runner is given beside, and the fields that it decides. */
const RUNNER: readonly (readonly [key: string, ...fields: FieldPath[]])[] = [
  ['_base_', 'model.id', 'batch.micro', 'batch.sequence', 'quantization.kind', 'method.kind'],
  ['strategy', 'parallel.data', 'precision.weights'],
  ['runner_type', 'parallel.data'],
  ['model_wrapper_cfg', 'parallel.data'],
  ['activation_checkpointing', 'activations.checkpointing'],
  ['compile', 'kernels.compile'],
  ['val_dataloader', 'evaluation.enabled'],
];

/** What a dictionary is not known to hold may be any of these. */
const ANY: readonly FieldPath[] = [
  'model.id',
  'quantization.kind',
  'method.kind',
  'activations.checkpointing',
  'batch.micro',
  'batch.accumulation',
  'batch.sequence',
];

/** What of a config decides the run and is not read. */
export function leaveUnreadSettings({ program }: ConfigDocument, root: MapNode, draft: Draft): void {
  for (const [key, ...fields] of RUNNER) {
    const node = entryOf(root, key)?.value;
    if (!node || isOff(node)) continue;
    draft.leaveUncounted(node, key, fields);
    draft.forget(...fields);
  }
  const tokenizer = entryOf(entryOf(root, 'model')?.value, 'tokenizer')?.value;
  if (tokenizer && !isBlank(tokenizer)) draft.leaveUncounted(tokenizer, 'tokenizer');
  for (const key of ['custom_hooks', 'default_hooks']) leaveHooks(entryOf(root, key)?.value, draft);
  for (const key of ['model', 'train_dataloader', 'optim_wrapper']) {
    const value = program?.bound.get(key);
    if (value && isOpen(value)) {
      const words = say('What `{0}` passes here is not known: it may be any argument.', '**');
      draft.leave('value', { range: value.range }, '**', words, ANY);
      draft.withdraw(ANY);
    }
  }
}

const isOff = (node: ConfigNode): boolean =>
  isBlank(node) || (node.kind === 'scalar' && node.value === false);

function leaveHooks(node: ConfigNode | undefined, draft: Draft): void {
  if (!node || isBlank(node)) return;
  const items =
    node.kind === 'list' ? node.items : node.kind === 'map' ? node.entries.map(({ value }) => value) : [node];
  for (const item of items) {
    const type = typeOf(item);
    if (isOff(item) || (type !== undefined && HOOKS.test(type))) continue;
    draft.leaveUncounted(item, type ?? 'custom_hooks');
  }
}

/** Whether something was put into a dictionary, or into one inside of it, that is not known. */
function isOpen(value: PyValue): boolean {
  if (value.kind === 'dict') return value.open === true || value.entries.some((entry) => isOpen(entry.value));
  return value.kind === 'list' && value.items.some(isOpen);
}
