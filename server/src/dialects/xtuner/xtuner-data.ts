import { nodeAt } from '../../config/lookup';
import type { ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf } from '../../config/scalar';
import { fileIn, XTUNER } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { assumePadding } from '../hf/padding';
import { assumeLength } from '../length-cap';
import type { Section } from '../section';
import { typeOf } from './built-type';

const DATA = fileIn(XTUNER, 'xtuner/dataset/huggingface.py');
const INTERN = fileIn(XTUNER, 'xtuner/dataset/intern_repo.py');
const MOSS = fileIn(XTUNER, 'xtuner/dataset/moss_sft.py');

/** Loaders that cut samples at `max_length`, and pack them unless a switch stops them. */
const PACKS = /^process_(?:hf|ms)_dataset$/;

/** Rows of a micro batch: how many there are, how long they may be, and whether they are full. */
export function readXtunerData(section: Section, draft: Draft): void {
  const loader = section.section('train_dataloader');
  loader.take('batch_size');
  section.section('optim_wrapper').take('accumulative_counts');
  const found = loader.find('dataset');
  if (!found) return;
  const { node } = found;
  const data = loader.section('dataset');
  const type = typeOf(node);
  if (isCut(node)) {
    data.take('pack_to_max_length');
    if (!data.take('max_length') && !data.has('max_length'))
      assumeLength(draft, 'train_dataloader.dataset.max_length', node, DATA);
  } else if (type === 'build_packed_dataset') {
    data.takeElse('packed_length', { value: 8192, note: say('{0} default', 'XTuner'), source: INTERN });
    draft.assume('batch.packed', true, say('samples are packed'), INTERN);
  } else if (type === 'MOSSSFTDataset') {
    data.takeElse('max_length', { value: 2048, note: say('{0} default', 'XTuner'), source: MOSS });
    draft.assume('batch.packed', false, say('samples are padded to the longest of a batch'), MOSS);
  } else if (type !== 'ConcatDataset' || !readJoined(data, node, draft)) {
    const words = say(
      'How long the samples of `{0}` are is not known: that code is not read.',
      type ?? 'dataset',
    );
    draft.leave('value', node, type ?? 'dataset', words, ['batch.sequence']);
    return;
  }
  if (draft.valueOf('batch.packed') === false)
    assumePadding(section, draft, loader.integer('batch_size') ?? 1);
}

/** Whether rows of a loader end at `max_length`: those that are tokens already do where they are packed (`process`). */
function isCut(node: ConfigNode): boolean {
  const isOff = (key: string) => flagOf(nodeAt(node, [key])) === false;
  return PACKS.test(typeOf(node) ?? '') && !(isOff('do_dataset_tokenization') && isOff('pack_to_max_length'));
}

/** Several data sets of one kind, one behind the other: the longest row is that of any. False where that is not known. */
function readJoined(data: Section, node: ConfigNode, draft: Draft): boolean {
  const list = nodeAt(node, ['datasets']);
  const items = list?.kind === 'list' ? list.items : [];
  const parts = items.filter((item): item is MapNode => item.kind === 'map');
  const known = parts.every((part) => isCut(part) || typeOf(part) === 'MOSSSFTDataset');
  const lengths = parts.map((part) => nodeAt(part, ['max_length']));
  const most = Math.max(...lengths.map((length) => integerOf(length) ?? Number.NaN));
  const longest = lengths.find((length) => integerOf(length) === most);
  if (parts.length === 0 || parts.length < items.length || !known || !longest) return false;
  data.state('batch.sequence', most, { key: 'train_dataloader.dataset.datasets', node: longest });
  const packs = parts.every(
    (part) => PACKS.test(typeOf(part) ?? '') && flagOf(nodeAt(part, ['pack_to_max_length'])) !== false,
  );
  draft.assume(
    'batch.packed',
    packs,
    packs ? say('samples are packed') : say('samples are padded to the longest of a batch'),
    DATA,
  );
  return true;
}
