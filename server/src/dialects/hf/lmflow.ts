import { flagOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { DefaultValue, Section } from '../section';
import { LMFLOW } from './hugging-face-repository';
import type { KnownScript } from './known-script';

const ARGUMENTS = fileIn(LMFLOW, 'src/lmflow/args.py');
const MODEL = fileIn(LMFLOW, 'src/lmflow/models/hf_model_mixin.py');

/** Under its launcher a module is written with dots. */
const module = (script: string) => script.replaceAll('.', '/').replace(/\/py$/, '');

/** Scripts of LMFlow: the Trainer with a model, adapters and a strategy of its own arguments. */
export function lmflow(scripts: RegExp, objective: FieldValue<'method.objective'>): KnownScript {
  return {
    name: 'LMFlow',
    source: ARGUMENTS,
    matches: (script, has) => scripts.test(module(script)) && has('dataset_path') && !has('data_path'),
    // Without names, those that PEFT lists for the type of the model.
    adapter: { switches: ['use_lora', 'use_dora'], rank: 8, alpha: 32, dropout: 0.1, targets: [] },
    length: { key: 'block_size', tokens: 1024 },
    read(section, _draft, context, own) {
      if (objective !== 'lm') section.assume('method.objective', own(objective));
      section.takeElse('block_size', own(Math.min(1024, context.model?.maxPositions ?? 1024)));
      const dora = section.find('use_dora');
      if (dora && flagOf(dora.node) === true) section.state('lora.dora', true, dora);
      readQuantization(section, own);
      readLisa(section, own);
      const joined = section.find('disable_group_texts');
      if (joined && flagOf(joined.node) === false)
        section.state('batch.packed', true, joined, say('texts are joined and cut into blocks'));
    },
  };
}

/** `__prepare_quant_config` and `__prepare_model_for_training`: quantized weights get adapters as they were loaded. */
function readQuantization(section: Section, own: <V>(value: V) => DefaultValue<V>): void {
  section.assume('quantization.prepared', {
    value: false,
    note: say('adapters are added to the model as it was loaded'),
    source: MODEL,
  });
  const asked = section.find('use_qlora');
  if (!asked || flagOf(asked.node) !== true) return;
  const eight = section.integer('quant_bit') === 8;
  const four = textOf(section.find('quant_type')?.node) === 'fp4' ? 'fp4' : 'nf4';
  section.state('quantization.kind', eight ? 'int8' : four, asked);
  if (eight) return;
  section.takeElse('double_quant', own(true));
  section.assume('quantization.storage', { value: 'bf16', note: own('bf16').note, source: MODEL });
}

/** A few layers at a time, drawn anew every interval, with embedding and head always (`pipeline/utils/lisa_trainer.py`). */
function readLisa(section: Section, own: <V>(value: V) => DefaultValue<V>): void {
  const asked = section.find('use_lisa');
  if (!asked || flagOf(asked.node) !== true) return;
  section.state('method.kind', 'lisa', asked);
  section.takeElse('lisa_activated_layers', own(2));
  section.takeElse('lisa_interval_steps', own(20));
}
