import type { MapNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { fileIn, LITGPT } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { forbid } from '../refusal';
import type { Section } from '../section';
import type { LitgptCommand } from './litgpt-command';
import { LITGPT_TABLE } from './litgpt-keys';

const SOURCE = fileIn(LITGPT, 'litgpt/finetune/lora.py');
const policy = scriptPolicy('litgpt', true);

/** What litgpt refuses. */
export function checkLitgpt(root: MapNode, section: Section, command: LitgptCommand, draft: Draft): void {
  checkKeys(root, LITGPT_TABLE, policy, draft);
  checkTrain(section, command, draft);
  const quantize = section.find('quantize');
  if (!quantize) return;
  const optimizer = section.find(['optimizer.class_path', 'optimizer']);
  const name = textOf(optimizer?.node);
  forbid(name !== undefined && !name.includes('AdamW'), optimizer?.node, draft, {
    code: 'quantized-optimizer',
    message: say('Quantized models are stepped by AdamW only.'),
    source: fileIn(LITGPT, 'litgpt/utils.py'),
  });
  const mixed = textOf(section.find('precision')?.node)?.includes('mixed') ?? true;
  const devices = section.integerOrDefault('devices') * section.integerOrDefault('num_nodes');
  forbid(mixed, quantize.node, draft, {
    code: 'quantized-mixed',
    message: say('Quantization does not work with mixed precision: use `precision: bf16-true`.'),
    source: SOURCE,
  });
  forbid(devices > 1, quantize.node, draft, {
    code: 'quantized-devices',
    message: say('litgpt trains quantized models on one device only.'),
    source: SOURCE,
  });
  forbid(command === 'full' || command === 'pretrain', quantize.node, draft, {
    code: 'quantized-without-adapter',
    message: say('Quantized weights cannot be trained themselves: only LoRA and adapters take `quantize`.'),
    source: SOURCE,
  });
}

/** Arguments that a sub-command does not take, or cannot do without (`validate_args`). */
function checkTrain(section: Section, command: LitgptCommand, draft: Draft): void {
  const pretrain = command === 'pretrain';
  // Only what is surely for the one or the other: fine-tuning starts from a folder, pre-training from a name.
  if (section.has('checkpoint_dir') === pretrain) return;
  const source = fileIn(LITGPT, `litgpt/${pretrain ? 'pretrain.py' : `finetune/${command}.py`}`);
  const foreign = pretrain
    ? ['train.epochs', 'eval.max_new_tokens']
    : ['train.max_tokens', 'train.max_norm', 'train.tie_embeddings', 'train.lr_warmup_fraction'];
  for (const key of foreign)
    forbid(section.has(key), section.find(key)?.node, draft, {
      code: 'foreign-argument',
      message: pretrain
        ? say('litgpt pre-training does not take `{0}`: leave it out.', key)
        : say('litgpt fine-tuning does not take `{0}`: leave it out.', key),
      source,
    });
}
