import { isNone } from '../../config/python/node-of-value';
import type { PyCall, PyProgram } from '../../config/python/value';
import type { FieldValue } from '../../run/fields';
import { say } from '../../wording/say';
import { argumentOf, type Calls } from './call-block';

/**
 * Files of `huggingface/label-files`, and how many labels each has (transformers 4.57.3,
 * `convert_segformer_original_to_pytorch.py`, `config.num_labels` beside each name).
 */
const LABEL_FILES: Readonly<Record<string, number>> = {
  'ade20k-id2label.json': 150,
  'cityscapes-id2label.json': 19,
  'imagenet-1k-id2label.json': 1000,
};

/** The label files that are downloaded before a call, each once. */
function labelFiles(
  { calls }: PyProgram,
  before: PyCall,
): { readonly name: string; readonly call: PyCall }[] {
  const found = new Map<string, PyCall>();
  for (const call of calls) {
    if (call.id > before.id || !/(^|\.)(?:hf_hub_download|cached_download|hf_hub_url)$/.test(call.callee))
      continue;
    for (const value of [...call.positional, ...call.named.map((argument) => argument.value)])
      if (value.kind === 'scalar' && Object.hasOwn(LABEL_FILES, String(value.value)))
        found.set(String(value.value), call);
  }
  return [...found].map(([name, call]) => ({ name, call }));
}

/** What tells labels apart: of other heads the number is fixed, or is that of the tokens. */
const LABELS: ReadonlySet<FieldValue<'method.objective'>> = new Set([
  'classification',
  'token-classification',
  'segmentation',
  'detection',
]);

/** The call that states labels: the one that loads the model, or the one that makes the config that it is given. */
function labelling({ calls }: PyProgram, load: PyCall): PyCall {
  const config = argumentOf(load, 'config');
  const made = config?.kind === 'object' && config.item === undefined ? calls[config.id] : undefined;
  return made?.named.some(({ key }) => key === 'num_labels' || key === 'id2label') ? made : load;
}

/**
 * How many labels a head tells apart, as the call that loads the model or its config states them. Where neither argument is passed they are the
 * checkpoint's own. Of pixels scores of all labels are made for each one, so nothing stands in for a number that is not known; of other heads
 * the two stand in that transformers has.
 */
export function readLabels(
  { program, draft }: Calls,
  loading: PyCall,
  task: FieldValue<'method.objective'>,
): void {
  if (!LABELS.has(task)) return;
  const load = labelling(program, loading);
  const [count, names] = ['num_labels', 'id2label'].map((key) => argumentOf(load, key));
  const passed = [count, names].filter((value) => value !== undefined && !isNone(value));
  const [first] = passed;
  if (first === undefined) return;
  if (count?.kind === 'scalar' && typeof count.value === 'number') {
    draft.state('model.labels', count.value, count, 'num_labels');
    return;
  }
  if (names?.kind === 'dict' && !names.open) {
    draft.state('model.labels', names.entries.length, { range: names.range }, 'id2label');
    return;
  }
  const files = labelFiles(program, load);
  const [file] = files;
  if (files.length === 1 && file) {
    const labels = LABEL_FILES[file.name] ?? 1;
    const note = say('`{0}` has {1} labels', file.name, String(labels));
    draft.infer('model.labels', labels, note, { range: file.call.calleeRange });
    return;
  }
  if (task !== 'segmentation') {
    const note = say('how many labels there are is known only when the script runs');
    draft.infer('model.labels', 2, note, { range: first.range });
    return;
  }
  const words = say('How many labels the pixels have is known only when the script runs.');
  draft.leave('value', { range: first.range }, 'id2label', words, ['model.labels']);
}
