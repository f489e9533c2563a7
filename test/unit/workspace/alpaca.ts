/** A run of Axolotl as it stands in a config: samples of many lengths, padded to the longest of a batch. */
export const ALPACA = `base_model: NousResearch/Llama-3.2-1B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: 4096
micro_batch_size: 4
gradient_accumulation_steps: 1
optimizer: adamw_torch
bf16: true
`;
