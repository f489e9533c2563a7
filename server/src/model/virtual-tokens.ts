import type { ProductTracer } from './product-tracer';
import type { Tape, Tensor } from './tape';
import type { AdapterSettings } from './trace-settings';

const PROMPT = 'prompt_encoder';
const JOIN = '.prefix_join';

/** Adapters that are virtual tokens: before the sequence, or before the keys and values of each layer. */
export function addsVirtualTokens(kind: AdapterSettings['kind']): boolean {
  return kind === 'prompt-tuning' || kind === 'prefix-tuning' || kind === 'p-tuning';
}

/**
 * Prompt tuning, p-tuning and prefix tuning at the token embedding (peft 0.21, `peft_model.py`, `get_prompt`): the first two
 * encode one sample's virtual tokens, repeat them for the batch and join them to the embedded ones, whose settings count them
 * already. Of several sets, which is what a model with a decoder has, the first is joined. Prefixes go to the keys and values of every layer instead (`withPrefix`). `[b, s, width]` in and out.
 */
export function withVirtualTokens(
  t: ProductTracer,
  embedded: Tensor,
  adapter: AdapterSettings,
  { columns, promptSets = 1 }: { readonly columns: number; readonly promptSets?: number },
): Tensor {
  const { virtualTokens = 20, kind, prompt } = adapter;
  if (kind === 'prefix-tuning') {
    encodedPrefix(t, adapter, columns);
    return embedded;
  }
  const width = prompt?.width ?? columns;
  const all = promptSets * virtualTokens;
  const table = lookedUp(t, [all, width], [1, all], 'virtual');
  const encoded = kind === 'p-tuning' ? encodedPrompt(t, table, adapter, width) : table;
  const { batch } = t.settings;
  const repeated = t.copy(encoded, [batch, all, width], `${PROMPT}.repeat`);
  const lowered = t.cast(repeated, embedded.dtype, `${PROMPT}.cast`);
  const joined = t.fused({
    name: `${PROMPT}.join`,
    inputs: [lowered, embedded],
    outputs: [{ shape: embedded.shape, dtype: embedded.dtype }],
  });
  // PEFT's forward calls it `inputs_embeds` while the model runs.
  return t.holdInModel(joined);
}

function lookedUp(t: ProductTracer, table: readonly number[], rows: readonly number[], name: string): Tensor {
  const weight = t.adapterWeight(`${PROMPT}.embedding.weight`, table);
  return t.fused({
    name: `${PROMPT}.${name}`,
    inputs: [],
    outputs: [{ shape: [...rows, table[1] ?? 1], dtype: weight.dtype }],
    weights: [weight],
  });
}

/** A linear layer of the encoder, with its bias. */
function layer(t: ProductTracer, x: Tensor, name: string, out: number): Tensor {
  const from = x.shape.at(-1) ?? 0;
  const path = `${PROMPT}.${name}`;
  const weight = t.adapterWeight(`${path}.weight`, [out, from]);
  const bias = t.adapterWeight(`${path}.bias`, [out]);
  return t.linearWith(x, weight, { name: path, out, bias });
}

/** The MLP of p-tuning (`p_tuning/model.py`, `PromptEncoder`); its LSTM is of fairseq's days and not offered by default. */
function encodedPrompt(
  t: ProductTracer,
  table: Tensor,
  { encoderSize }: AdapterSettings,
  width: number,
): Tensor {
  const inner = encoderSize ?? width;
  const first = t.keepOutput(layer(t, table, 'mlp_head.0', inner), `${PROMPT}.relu_1`);
  const second = t.keepOutput(layer(t, first, 'mlp_head.2', inner), `${PROMPT}.relu_2`);
  return layer(t, second, 'mlp_head.4', width);
}

/** Keys and values of every layer, from a table or an encoder (`prefix_tuning/model.py`, `PrefixEncoder`). */
function encodedPrefix(t: ProductTracer, adapter: AdapterSettings, width: number): void {
  const { virtualTokens = 20, prompt = { keyWidth: width, layers: 1 } } = adapter;
  const prefixToken = prompt.keyWidth;
  // As wide as the prefixes unless it is given (`utils/other.py`, `_prepare_prompt_learning_config`).
  const { encoderSize = prefixToken } = adapter;
  const prefixWidth = 2 * prompt.layers * prefixToken;
  const rows = [t.settings.batch, virtualTokens];
  if (!adapter.projectsPrefix) {
    lookedUp(t, [virtualTokens, prefixWidth], rows, 'prefix');
    return;
  }
  const table = lookedUp(t, [virtualTokens, prefixToken], rows, 'prefix');
  const inner = t.keepOutput(layer(t, table, 'transform.0', encoderSize), `${PROMPT}.tanh`);
  layer(t, inner, 'transform.2', prefixWidth);
}

/**
 * Keys or values of so many tokens, `[b, tokens, width]`, behind those of the prefix. The cache holds the joined ones until the model returns
 * (`cache_utils.py`, `DynamicLayer.update`).
 */
export function withPrefix(
  t: ProductTracer,
  x: Tensor,
  { batch, tokens, name }: { readonly batch: number; readonly tokens: number; readonly name: string },
): Tensor {
  const { adapter, weightDtype } = t.settings;
  const { virtualTokens = 20 } = adapter ?? {};
  const width = x.elements / (batch * tokens);
  const prefix = t.input([batch, virtualTokens, width], weightDtype, true, `${name}.prefix`);
  return t.holdInModel(t.concat([prefix, x], [batch, virtualTokens + tokens, width], `${name}${JOIN}`));
}

/** Elements of a token's keys, and of its values, that come behind a prefix, in order of the tape. */
export function prefixedWidths({ operations }: Tape): readonly number[] {
  return operations.flatMap(({ name, outputs }) =>
    name.endsWith(JOIN) ? (outputs[0]?.shape.at(-1) ?? []) : [],
  );
}
