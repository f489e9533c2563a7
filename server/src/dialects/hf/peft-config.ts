import { textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Section, Silence } from '../section';

const SOURCE = 'https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig';

function peft<V>(value: V): Silence<V> {
  return { value, note: say('{0} default', 'PEFT'), source: SOURCE };
}

/** `peft_config` as the fields of `LoraConfig`. Other kinds of adapters state nothing: they are not LoRA. */
export function readPeftConfig(section: Section, draft: Draft): void {
  if (!section.root) return;
  const type = section.find('peft_type');
  const name = textOf(type?.node)?.toUpperCase();
  if (name !== undefined && name !== 'LORA' && name !== 'PEFTTYPE.LORA') {
    draft.report(
      'adapter-not-modelled',
      'information',
      say(
        'Adapters of the kind {0} are not modelled: the estimate takes full fine-tuning, which needs more.',
        name,
      ),
      type?.node.range ?? section.root.range,
    );
    return;
  }
  section.state('method.kind', 'lora', type ?? { key: 'peft_config', node: section.root });
  section.stateInteger('lora.rank', 'r', peft(8));
  section.stateNumber('lora.alpha', 'lora_alpha', peft(8));
  section.stateNumber('lora.dropout', 'lora_dropout', peft(0));
  section.stateTexts('lora.targets', 'target_modules');
  section.stateTexts('lora.modulesToSave', 'modules_to_save');
  section.stateFlag('lora.dora', 'use_dora', peft(false));
}
