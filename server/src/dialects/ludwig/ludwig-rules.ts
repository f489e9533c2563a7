import { nodeAt } from '../../config/lookup';
import type { ConfigNode, MapNode } from '../../config/node';
import { flagOf, isBlank, textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { LUDWIG_TABLE } from './ludwig-keys';
import { LUDWIG_CHECKS, LUDWIG_TRAINER } from './ludwig-source';

const policy = scriptPolicy('Ludwig', true);

/** What Ludwig refuses of a config that fine-tunes. */
export function checkLudwig(root: MapNode, section: Section, draft: Draft): void {
  checkKeys(root, LUDWIG_TABLE, policy, draft);
  const adapter = section.find('adapter');
  const quantization = section.find('quantization');
  const finetunes = section.text('trainer.type') === 'finetune';
  forbid(!finetunes && adapter !== undefined, adapter?.node, draft, {
    code: 'adapter-without-finetune',
    message: say('An adapter is trained with `trainer.type: finetune` only.'),
    source: LUDWIG_CHECKS,
  });
  if (!finetunes) return;
  forbid(section.text('adapter.type') !== 'lora', quantization?.node, draft, {
    code: 'quantized-without-lora',
    message: say('Ludwig fine-tunes quantized models with `adapter.type: lora` only.'),
    source: LUDWIG_CHECKS,
  });
  const merge = section.find('adapter.postprocessor.merge_adapter_into_base_model');
  const four = quantization !== undefined && section.integerOrDefault('quantization.bits') < 8;
  forbid(four && flagOf(merge?.node) === true, merge?.node, draft, {
    code: 'merge-into-4bit',
    message: say('An adapter cannot be merged into a 4-bit model: quantize to 8 bits, or do not merge.'),
    source: LUDWIG_CHECKS,
  });
  checkBatch(section, draft);
  checkFeatures(root, draft);
}

/** The effective batch is a multiple of what makes it up (`ECDTrainerConfig.__post_init__`). */
function checkBatch(section: Section, draft: Draft): void {
  const effective = section.find('trainer.effective_batch_size');
  const samples = section.integer('trainer.effective_batch_size');
  if (samples === undefined) return;
  for (const key of ['batch_size', 'gradient_accumulation_steps']) {
    const part = section.integer(`trainer.${key}`);
    forbid(part !== undefined && part > 0 && samples % part !== 0, effective?.node, draft, {
      code: 'effective-batch',
      message: say('`effective_batch_size` must be a multiple of `{0}`.', key),
      source: LUDWIG_TRAINER,
    });
  }
}

/** One text goes in, and a text comes out. */
function checkFeatures(root: MapNode, draft: Draft): void {
  const inputs = nodeAt(root, 'input_features');
  const first = itemsOf(inputs)[0];
  const several = itemsOf(inputs).length > 1;
  forbid(several || isOther(first), inputs, draft, {
    code: 'input-feature',
    message: say('A language model takes one input feature, of type `text`.'),
    source: LUDWIG_CHECKS,
  });
  const output = itemsOf(nodeAt(root, 'output_features'))[0];
  forbid(isOther(output), output && nodeAt(output, 'type'), draft, {
    code: 'output-feature',
    message: say('Fine-tuning a language model takes an output feature of type `text`.'),
    source: LUDWIG_CHECKS,
  });
}

function itemsOf(node: ConfigNode | undefined): readonly ConfigNode[] {
  return node?.kind === 'list' ? node.items : [];
}

/** A feature whose type is written, and is another one. */
function isOther(feature: ConfigNode | undefined): boolean {
  const type = feature && nodeAt(feature, 'type');
  return type !== undefined && !isBlank(type) && textOf(type) !== 'text';
}
