/** What a run of ms-swift does: `swift sft`, or the same over Megatron. */
export interface SwiftCommand {
  readonly megatron: boolean;
  /** Sub-command where it is known. */
  readonly name?: 'pt' | 'sft' | 'rlhf';
}
