export interface HeadSpec {
  /** Module path of the output projection, for example `lm_head`. */
  readonly name: string;
  /** Rows of the logits over all ranks. */
  readonly vocabulary: number;
  readonly bias?: boolean;
  /** Weight of the token embedding where the head is tied to it. */
  readonly tiedTo?: string;
  /** A buffer of zeros is added to the logits, which raises them to the type of the weights (BART). */
  readonly addsBuffer?: boolean;
  /** tanh on the logits. */
  readonly softcap?: boolean;
  /** Logits are multiplied by a constant. */
  readonly scale?: boolean;
  /** The class makes its logits fp32 before the loss, until transformers 5 (Granite with experts, or with layers that keep a state). */
  readonly widened?: boolean;
  /** The model's code takes the cross-entropy of the logits in their own type (BERT, T5, BART, Whisper). */
  readonly ownType?: boolean;
  /** The same of shifted logits, until transformers 4.49 gave all decoders one loss function (GPT-2, GPT-NeoX, Falcon, BLOOM). */
  readonly ownTypeOnce?: boolean;
}
