/** One published measurement. Many fields are free text; all figures are per GPU. */
export interface MeasuredRow {
  readonly id: string;
  readonly source?: string | null;
  readonly framework: string;
  readonly framework_version?: string | null;
  readonly model: string;
  readonly arch?: RowArchitecture | null;
  readonly params?: number | null;
  readonly method: string;
  readonly lora?: RowLora | null;
  readonly quantization?: string | null;
  readonly weights_dtype?: string | null;
  readonly compute_dtype?: string | null;
  readonly master_weights?: boolean | null;
  readonly optimizer?: string | null;
  readonly optimizer_in_backward?: boolean | null;
  readonly micro_batch?: number | null;
  readonly grad_accum?: number | null;
  readonly seq_len?: number | null;
  readonly effective_max_tokens_per_sample?: string | number | null;
  readonly packing?: string | null;
  readonly activation_checkpointing?: string | null;
  readonly attention_impl?: string | null;
  readonly loss_impl?: string | null;
  readonly compile?: boolean | null;
  readonly parallel?: RowParallel | null;
  readonly offload?: string | null;
  readonly device?: string | null;
  readonly num_gpus?: number | null;
  readonly nodes?: number | null;
  readonly what?: string | null;
  readonly measured_bytes?: number | null;
  readonly oom?: boolean | null;
  readonly notes?: string | null;
  readonly use_for_scoring?: boolean | null;
}

/** Sizes of the model, as the row gives them. */
export interface RowArchitecture {
  readonly layers?: number | null;
  readonly hidden?: number | null;
  readonly heads?: number | null;
  readonly kv_heads?: number | null;
  readonly ffn?: number | null;
  readonly vocab?: number | null;
  readonly head_dim?: number | null;
  /** Tokens of an image model's input. */
  readonly seq?: number | null;
  readonly tied?: boolean | null;
  readonly mlp?: string | null;
  readonly parallel_residual?: boolean | null;
}

export interface RowLora {
  readonly r?: number | null;
  readonly alpha?: number | null;
  readonly dropout?: number | null;
  readonly targets?: readonly string[] | string | null;
  readonly modules_to_save?: readonly string[] | null;
  readonly dora?: boolean | null;
  readonly variant?: string | null;
}

export interface RowParallel {
  readonly dp?: number | null;
  readonly fsdp?: string | null;
  readonly zero_stage?: number | null;
  readonly tp?: number | null;
  readonly sp?: boolean | number | null;
  readonly ulysses?: number | null;
  readonly ep?: number | null;
  readonly vpp?: number | null;
  readonly dp_replicate?: number | null;
  readonly pp?: number | null;
  readonly cp?: number | null;
  readonly schedule?: string | null;
  readonly naive_mp?: number | null;
}

/** A row that states too little, or something that the vocabulary has no word for. */
export class NotExpressed extends Error {}

/** The row's text in lower case; empty where there is none. Numbers and flags that stand for text are read as text. */
export function lower(text: unknown): string {
  return text === null || text === undefined ? '' : String(text).toLowerCase();
}
