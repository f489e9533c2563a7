import type { PyCall, PyValue } from './value';

/** What makes a model of transformers: all of them inherit from `PreTrainedModel`. */
const MAKES_MODEL =
  /^transformers\.(?:\w+\.)*(?:Auto\w*Model\w*|(?!Auto)\w+For[A-Z]\w*|(?!Auto)\w+Model)\.from_(?:pretrained|config)$/;
/** Calls that give back such a model, or one of PEFT's, which has what the model in it has (`peft_model.py`, `__getattr__`). */
const KEEPS = /^(?:peft\.(?:\w+\.)*(?:get_peft_model|prepare_model_for_kbit_training))$/;
/** The same as methods of the model. */
const GIVES_BACK = /^(?:to|cuda|cpu|half|float|bfloat16|train|eval|requires_grad_)$/;

/** What every model of transformers has, in each release since 4.11 (`modeling_utils.py`, `PreTrainedModel`), or as a module of PyTorch. */
const OF_MODELS: ReadonlySet<string> = new Set([
  'config',
  'get_input_embeddings',
  'get_output_embeddings',
  'resize_token_embeddings',
  'tie_weights',
  'save_pretrained',
  'gradient_checkpointing_enable',
  'gradient_checkpointing_disable',
  'parameters',
  'named_parameters',
  'modules',
  'named_modules',
  'state_dict',
  'forward',
  'to',
  'train',
  'eval',
]);

/** How many calls are followed back. */
const DEEPEST = 12;

/** Whether what `hasattr` is asked for is there; undefined where the text does not settle it. */
export function hasAttribute(
  calls: readonly PyCall[],
  owner: PyValue | undefined,
  name: PyValue | undefined,
): boolean | undefined {
  if (!owner || name?.kind !== 'scalar' || typeof name.value !== 'string') return undefined;
  const attribute = name.value;
  // What an object of settings has beside its entries, such as methods of its class, is not seen.
  if (owner.kind === 'dict')
    return owner.attributes && owner.entries.some(({ key }) => key === attribute) ? true : undefined;
  return OF_MODELS.has(attribute) && isModel(calls, owner, DEEPEST) ? true : undefined;
}

function isModel(calls: readonly PyCall[], value: PyValue | undefined, depth: number): boolean {
  if (value?.kind !== 'object' || value.item !== undefined || depth === 0) return false;
  const call = calls[value.id];
  if (!call) return false;
  if (call.of) return GIVES_BACK.test(call.callee) && isModel(calls, call.of, depth - 1);
  if (!KEEPS.test(call.callee)) return MAKES_MODEL.test(call.callee);
  return isModel(calls, call.positional[0], depth - 1);
}
