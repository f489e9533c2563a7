import { isNone } from '../../config/python/node-of-value';
import type { PyCall, PyProgram } from '../../config/python/value';
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

/**
 * How many labels a pixel may have: scores of all of them are made for every pixel, so nothing stands in for a number that is not known. Where
 * neither argument is passed it is the checkpoint's own.
 */
export function readLabels({ program, draft }: Calls, load: PyCall): void {
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
  const words = say('How many labels the pixels have is known only when the script runs.');
  draft.leave('value', { range: first.range }, 'id2label', words, ['model.labels']);
}
