import { isLeftOpen } from '../../config/filled-later';
import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigNode, MapNode, ScalarNode } from '../../config/node';
import { flagOf, isAuto, numberOf } from '../../config/scalar';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import type { Location } from '../../text/place';
import type { Problem } from '../../text/problem';
import { fileName } from '../../text/uri';
import { say } from '../../wording/say';
import type { FilledAuto, FollowedLink, RunMember } from '../dialect';

const SOURCE = fileIn(TRANSFORMERS, 'src/transformers/integrations/deepspeed.py');

type ConfigOfRun = RunMember['config'];

/** A key of DeepSpeed's config that the Trainer fills where it is `auto`, and compares with its own value elsewhere. */
interface Pair {
  readonly key: string;
  /** The argument under its own name, and under those of tools that pass it on. */
  readonly arguments: readonly string[];
  readonly type: 'number' | 'flag';
  /** What the Trainer makes of its argument. */
  readonly fill?: (value: number) => number;
}

/**
 * `HfTrainerDeepSpeedConfig.trainer_config_process` and `trainer_config_finalize`: each pair is compared by `!=` and a
 * difference stops the run.
 */
const PAIRS: readonly Pair[] = [
  {
    key: 'train_micro_batch_size_per_gpu',
    arguments: ['per_device_train_batch_size', 'micro_batch_size'],
    type: 'number',
  },
  {
    key: 'gradient_accumulation_steps',
    arguments: ['gradient_accumulation_steps'],
    type: 'number',
  },
  { key: 'gradient_clipping', arguments: ['max_grad_norm'], type: 'number' },
  { key: 'optimizer.params.lr', arguments: ['learning_rate'], type: 'number' },
  { key: 'optimizer.params.eps', arguments: ['adam_epsilon'], type: 'number' },
  { key: 'optimizer.params.weight_decay', arguments: ['weight_decay'], type: 'number' },
  { key: 'scheduler.params.warmup_max_lr', arguments: ['learning_rate'], type: 'number' },
  { key: 'scheduler.params.total_num_steps', arguments: ['max_steps'], type: 'number' },
  {
    key: 'scheduler.params.warmup_num_steps',
    arguments: ['warmup_steps'],
    type: 'number',
    fill: (steps) => Math.max(1, steps),
  },
  { key: 'fp16.enabled', arguments: ['fp16'], type: 'flag' },
  { key: 'bf16.enabled', arguments: ['bf16'], type: 'flag' },
];

/** A value that a caller states for the Trainer. */
interface Argument {
  readonly key: string;
  readonly node: ScalarNode;
  readonly keyLocation: Location;
}

/** Blocks of a config in which the Trainer's arguments may stand: its top level, or the flags of a script's commands. */
function blocksOf({ document }: ConfigOfRun): MapNode[] {
  const { root, format } = document;
  // Names of a module are its own; what is passed to the Trainer stands in calls.
  if (format === 'python') return [];
  if (format !== 'shell') return root?.kind === 'map' ? [root] : [];
  const commands = nodeAt(root, 'commands');
  const items = commands?.kind === 'list' ? commands.items : [];
  return items.flatMap((command) => {
    const flags = nodeAt(command, ['arguments']);
    return flags?.kind === 'map' && !isOfOwnLoop(flags) ? [flags] : [];
  });
}

/** A batch by the name that scripts with a loop of their own give it, as those of Diffusers, where the Trainer's is not stated. */
const isOfOwnLoop = (flags: MapNode): boolean =>
  flags.entries.some(({ key }) => key === 'train_batch_size' || key === 'batch_size') &&
  !flags.entries.some(({ key }) => key.startsWith('per_device_'));

function argumentOf(caller: ConfigOfRun, names: readonly string[]): Argument | undefined {
  for (const block of blocksOf(caller)) {
    for (const name of names) {
      const entry = entryOf(block, name);
      if (entry?.value.kind === 'scalar' && entry.value.text !== '' && entry.value.value !== null) {
        return {
          key: name,
          node: entry.value,
          keyLocation: { uri: caller.uri, range: entry.value.range },
        };
      }
    }
  }
  return undefined;
}

/** Values that the Trainer puts in the place of `auto`, as far as the callers state them. The first caller counts. */
export function filledAutos(deepspeed: ConfigOfRun, callers: readonly ConfigOfRun[]): FilledAuto[] {
  const { root } = deepspeed.document;
  const filled = PAIRS.flatMap((pair): FilledAuto[] => {
    if (!isAuto(nodeAt(root, pair.key))) return [];
    const found = firstArgument(callers, pair.arguments);
    const number = found && pair.type === 'number' ? numberOf(found.node) : undefined;
    if (!found || (pair.type === 'number' && (number === undefined || number < 0))) return [];
    const value = number !== undefined && pair.fill ? String(pair.fill(number)) : found.node.text;
    return [{ key: pair.key, value, argument: found.key, location: found.keyLocation, source: SOURCE }];
  });
  const floor = 'scheduler.params.warmup_min_lr';
  if (callers.length > 0 && isAuto(nodeAt(root, floor)))
    filled.push({ key: floor, value: '0', source: SOURCE });
  return filled;
}

function firstArgument(callers: readonly ConfigOfRun[], names: readonly string[]): Argument | undefined {
  for (const caller of callers) {
    const found = argumentOf(caller, names);
    if (found) return found;
  }
  return undefined;
}

/**
 * The same for a file that starts a run whose files contradict each other, such as a launch script: at the link to the file
 * that hands its arguments to the Trainer.
 */
export function mismatchesBelow(
  self: ConfigOfRun,
  links: readonly FollowedLink[],
  deepspeed: readonly ConfigOfRun[],
  callers: readonly ConfigOfRun[],
): Problem[] {
  if (deepspeed.includes(self)) return [];
  return callers.flatMap((caller) => {
    const link = caller === self ? undefined : links.find(({ uri }) => uri === caller.uri);
    if (!link) return [];
    return deepspeed.flatMap((file) =>
      trainerMismatches(caller, file, callers, fileName(caller.uri)).map((problem): Problem => {
        const name = fileName(caller.uri);
        const place = { uri: caller.uri, range: problem.range, message: name };
        const related = [place, ...(problem.related ?? [])];
        return {
          ...problem,
          range: link.range,
          related,
        };
      }),
    );
  });
}

/** As Python compares: `8 == 8.0`, and text is never a number. */
function differs(pair: Pair, ours: ConfigNode, theirs: ScalarNode): boolean | undefined {
  if (ours.kind !== 'scalar') return undefined;
  if (isLeftOpen(ours) || isLeftOpen(theirs)) return undefined;
  if (pair.type === 'flag') {
    const [a, b] = [flagOf(ours), flagOf(theirs)];
    return a === undefined || b === undefined ? undefined : a !== b;
  }
  const number = numberOf(theirs);
  if (number === undefined) return undefined;
  if (typeof ours.value === 'string' && ours.quoted) return true;
  const mine = numberOf(ours);
  return mine === undefined ? undefined : mine !== number;
}

/**
 * What stops the Trainer: a value of the DeepSpeed file that is not the caller's. One problem for each pair, at this file's
 * side of it, with the other side as a related place. `named` is what the message calls this file where it is shown in another.
 */
export function trainerMismatches(
  self: ConfigOfRun,
  deepspeed: ConfigOfRun,
  callers: readonly ConfigOfRun[],
  named?: string,
): Problem[] {
  const { root } = deepspeed.document;
  return PAIRS.flatMap((pair): Problem[] => {
    const ours = nodeAt(root, pair.key);
    if (!ours || isAuto(ours)) return [];
    const found = firstArgument(callers, pair.arguments);
    // Ratios and "as long as the data lasts" are worked out when the run starts.
    const worked = found && pair.key.startsWith('scheduler') && (numberOf(found.node) ?? 0) <= 0;
    if (!found || worked || differs(pair, ours, found.node) !== true) return [];
    const there = self.uri === deepspeed.uri;
    const own = there ? ours.range : found.keyLocation.range;
    if (!there && found.keyLocation.uri !== self.uri) return [];
    const shown = (node: ConfigNode) =>
      node.kind === 'scalar' ? (node.quoted ? `"${node.text}"` : node.text) : '';
    const theirs = `${found.key} = ${shown(found.node)}`;
    const mine = `${pair.key} = ${shown(ours)}`;
    const [here, other] = there ? [mine, theirs] : [theirs, mine];
    const otherUri = there ? found.keyLocation.uri : deepspeed.uri;
    const otherRange = there ? found.keyLocation.range : ours.range;
    const text =
      ours.kind === 'scalar' && ours.quoted && numberOf(ours) === numberOf(found.node)
        ? ` ${say('The text in quotes is not that number for Python.')}`
        : '';
    return [
      {
        code: 'cross-file-conflict',
        severity: 'error',
        message:
          named === undefined
            ? say(
                'The Trainer refuses this run: {0} here, {1} in {2}.{3} Use one value, or "auto" in the DeepSpeed file.',
                here,
                other,
                fileName(otherUri),
                text,
              )
            : say(
                'The Trainer refuses this run: {0} in {4}, {1} in {2}.{3} Use one value, or "auto" in the DeepSpeed file.',
                here,
                other,
                fileName(otherUri),
                text,
                named,
              ),
        range: own,
        source: SOURCE,
        related: [{ uri: otherUri, range: otherRange, message: other }],
      },
    ];
  });
}
