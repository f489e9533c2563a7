import type { MapEntry, MapNode, ScalarNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { readYamlValue } from '../../config/yaml-value';
import type { FieldPath, FieldValue } from '../../run/fields';
import { fileIn, XTUNER } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { KeySpec } from '../dialect';
import type { Draft } from '../draft';
import { block } from '../key-rows';
import { KeyTable } from '../key-table';
import type { Launch } from '../launch/launch';
import { nestedArguments } from '../launch/nested-arguments';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { xtuner } from './xtuner';
import { xtunerWords } from './xtuner-words';

const TRAIN = fileIn(XTUNER, 'xtuner/tools/train.py');

const FLAGS: readonly KeySpec[] = block('', TRAIN, [
  [
    'deepspeed',
    'string',
    'Config of DeepSpeed: a path, or the name of one that XTuner brings.',
    { fields: ['parallel.data', 'zero.stage', 'offload.optimizer', 'offload.parameters'] },
  ],
  ['cfg_options', 'any', 'Values that replace those of the config.'],
  ['work_dir', 'string', 'Folder of logs and checkpoints. Costs no memory.'],
  ['resume', 'string', 'Checkpoint that the run goes on from. Costs no memory.'],
  ['seed', 'integer', 'Seed. Costs no memory.'],
  ['launcher', 'string', 'Who starts the processes.'],
  ['local_rank', 'integer', 'Number of the process on its machine.'],
]);
const TABLE = new KeyTable(FLAGS, 'XTuner');

/** `xtuner train CONFIG`, and `torchrun xtuner/tools/train.py CONFIG`; what names the config. Undefined of other launches. */
function configOf(launch: Launch): ScalarNode | 'none' | undefined {
  const { program, programNodes, script, scriptNode, words } = launch;
  const isScript = /(?:^|\/)xtuner\/tools\/train\.py$/.test(script ?? '');
  if (!isScript && (program[0] !== 'xtuner' || program[1] !== 'train')) return undefined;
  const node = isScript ? words[0] : (scriptNode ?? programNodes[2] ?? words[0]);
  return node?.kind === 'scalar' ? node : 'none';
}

/** XTuner's trainer on mmengine. */
export const xtunerProgram: Program = {
  name: 'XTuner',
  refusesOthers: true,
  keys: FLAGS,
  words: xtunerWords,
  config: xtuner,
  match: (launch) => (configOf(launch) === undefined ? 0 : 1),
  read(launch, draft) {
    draft.assume('framework', 'xtuner', say('the script starts {0}', 'XTuner'));
    const options = optionsOf(launch);
    readDeepspeed(new Section(launch.arguments, draft, `${launch.path}.arguments`, TABLE), draft);
    const config = configOf(launch);
    if (config === undefined || config === 'none') return;
    const path = config.text;
    if (/\.py$/.test(path)) {
      const link = { path, range: config.range, key: `${launch.path}.config`, role: 'include' as const };
      const over = options && {
        overrides: { tree: nestedArguments(options), choices: { ...options, entries: [] }, facts: [] },
      };
      draft.assumesNothing();
      draft.links.push({ ...link, ...over });
    } else if (config.open === undefined)
      draft.leave(
        'refused',
        config,
        path,
        say('`{0}` is a config that XTuner brings: what stands in it is not read.', path),
      );
  },
};

/** Behind `--cfg-options` stand names and values; the first of them is taken for the value of the flag itself. */
function optionsOf({ arguments: flags }: Launch): MapNode | undefined {
  const at = flags.entries.findIndex(({ key }) => key === 'cfg_options');
  if (at < 0) return undefined;
  const entries = flags.entries.flatMap((entry): MapEntry[] => {
    if (entry.key !== 'cfg_options') return TABLE.find(entry.key) ? [] : [valued(entry)];
    const nodes = entry.value.kind === 'list' ? entry.value.items : [entry.value];
    return nodes.flatMap((node) => {
      const [, key, text] = /^([\w.]+)=(.*)$/.exec(textOf(node) ?? '') ?? [];
      if (node.kind !== 'scalar' || key === undefined || text === undefined) return [];
      const start = { ...node.range.start, character: node.range.end.character - text.length };
      const value = { ...node, value: text, text, range: { ...node.range, start } };
      return [valued({ key, keyRange: node.range, value })];
    });
  });
  return { ...flags, entries };
}

/** Values are taken as Python writes them. */
function valued(entry: MapEntry): MapEntry {
  return { ...entry, value: readYamlValue(entry.value) };
}

/** A config of DeepSpeed by its path, or one that XTuner brings (`xtuner/configs/deepspeed`). */
function readDeepspeed(section: Section, draft: Draft): void {
  const found = section.find('deepspeed');
  const name = textOf(found?.node);
  if (!found || name === undefined) return;
  if (section.text('deepspeed')?.endsWith('.json')) {
    section.link('deepspeed', 'deepspeed');
    return;
  }
  const [, digit, offload] = /^deepspeed_zero([123])(_offload)?$/.exec(name) ?? [];
  const stage = Number(digit);
  if (digit === undefined || (offload && stage === 1)) {
    section.leave(found, ['zero.stage', 'parallel.data']);
    return;
  }
  const file = `${name}.json`;
  const note = say('XTuner brings {0}', file);
  const place = offload ? 'cpu' : 'none';
  section.state('parallel.data', 'zero', found, note);
  section.state('zero.stage', stage, found, note);
  section.state('offload.optimizer', place, found, note);
  section.state('offload.parameters', stage === 3 ? place : 'none', found, note);
  const brought = <P extends FieldPath>(field: P, value: FieldValue<P>) =>
    draft.assume(field, value, note, fileIn(XTUNER, `xtuner/configs/deepspeed/${file}`));
  brought('zero.overlapCommunication', true);
  if (offload) brought('offload.pinMemory', true);
  if (stage === 3) brought('saving.weights', 'full');
}
