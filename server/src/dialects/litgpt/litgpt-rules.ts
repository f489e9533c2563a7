import type { MapNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { KeyTable } from '../key-table';
import { forbid } from '../refusal';
import type { Section } from '../section';
import type { LitgptCommand } from './litgpt';
import { LITGPT_KEYS } from './litgpt-keys';

const SOURCE = 'https://github.com/Lightning-AI/litgpt/blob/main/litgpt/finetune/lora.py';
const table = new KeyTable(LITGPT_KEYS);
const policy = scriptPolicy('litgpt');

/** What litgpt refuses. */
export function checkLitgpt(root: MapNode, section: Section, command: LitgptCommand, draft: Draft): void {
  checkKeys(root, table, policy, draft);
  const quantize = section.find('quantize');
  if (!quantize) return;
  const mixed = textOf(section.find('precision')?.node)?.includes('mixed') ?? true;
  const devices = (section.integer('devices') ?? 1) * (section.integer('num_nodes') ?? 1);
  forbid(mixed, quantize.node, draft, {
    code: 'quantized-mixed',
    message: 'Quantization does not work with mixed precision: use `precision: bf16-true`.',
    source: SOURCE,
  });
  forbid(devices > 1, quantize.node, draft, {
    code: 'quantized-devices',
    message: 'litgpt trains quantized models on one device only.',
    source: SOURCE,
  });
  forbid(command !== 'lora', quantize.node, draft, {
    code: 'quantized-without-adapter',
    message: 'Quantized weights cannot be trained themselves: only LoRA takes `quantize`.',
    source: SOURCE,
  });
}
