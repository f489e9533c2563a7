import type { Estimated } from '../advice/changed-run';
import { findAccelerator } from '../hardware/catalog';
import type { MeasuredFacts } from '../measured/measurement';
import type { OutOfMemory, OutOfMemoryLog } from '../measured/out-of-memory';
import type { FieldPath, RunValues } from '../run/fields';
import { isAssumed, sameValue } from '../run/resolve';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { plainValue } from '../workspace/project-file';

/** What a measured fact hangs on: the data, the card, the process on it, or what is installed. */
type LearnedAbout = 'data' | 'card' | 'process' | 'software';

/** A fact that a run measured and that an estimate takes as it is. */
export interface LearnedFact {
  readonly field: FieldPath;
  readonly value: string | number | boolean;
  readonly about: LearnedAbout;
  /** For people: what it is and where it stands. */
  readonly words: string;
}

/** What a run left that facts are learned from. */
interface LearnedFrom {
  readonly facts: MeasuredFacts;
  readonly log: Pick<OutOfMemoryLog, 'found' | 'allocatorSettings'>;
}

const VERSIONS: Readonly<Record<string, FieldPath>> = {
  torch: 'version.torch',
  transformers: 'version.transformers',
  trl: 'version.trl',
  accelerate: 'version.accelerate',
  peft: 'version.peft',
  deepspeed: 'version.deepspeed',
};

/** Facts of a run that its config does not state, or takes otherwise. Nothing is fitted: each stands in the log. */
export function learnedFacts({ facts, log }: LearnedFrom, analysis: Estimated): LearnedFact[] {
  const { resolved } = analysis;
  const found = [
    ...lengthFacts(facts, resolved.values, padsWhole(analysis)),
    ...log.found.flatMap((message) => cardFacts(message)),
    ...softwareFacts(facts, log.allocatorSettings),
    ...inUseFacts(facts),
  ];
  const seen = new Set<FieldPath>();
  return found.filter(({ field, value }) => {
    const known = resolved.origins[field];
    // What the files of the run say themselves is theirs to change.
    // What is known from the log alone is written down for the next time.
    const ofLog = known?.kind === 'detected';
    const stated =
      known !== undefined && !ofLog && !known.while && !isAssumed(known) && known.kind !== 'default';
    const owned =
      stated && known.kind !== 'environment' && known.kind !== 'project' && known.kind !== 'inferred';
    if (seen.has(field) || owned || (stated && sameValue(resolved.values[field], value))) return false;
    seen.add(field);
    return true;
  });
}

function at(line: number): string {
  return say('line {0}', String(line + 1));
}

/** Keys that pad every batch to the longest length that the run allows. */
const PADS = /^(?:pad_to_sequence_len|pad_to_max_length)$/;

function padsWhole({ document }: Estimated): boolean {
  const entries = document.root?.kind === 'map' ? document.root.entries : [];
  return entries.some(({ key, value }) => PADS.test(key) && plainValue(value) === true);
}

function lengthFacts(
  { lengths, tokensRead }: MeasuredFacts,
  values: RunValues,
  padded: boolean,
): LearnedFact[] {
  // A pack is as long as the run allows; its samples are counted nowhere.
  if (values['batch.packed'] || padded) return [];
  const found: LearnedFact[] = [];
  const add = (field: FieldPath, value: number | true, words: string) =>
    found.push({ field, value, about: 'data', words });
  const longest = lengths?.longest;
  const shortest = lengths?.shortest;
  if (lengths && longest !== undefined && shortest !== undefined && shortest < longest)
    add(
      'batch.varied',
      true,
      say(
        'samples of different lengths: {0} to {1} tokens ({2}, {3})',
        String(shortest),
        String(longest),
        lengths.source,
        at(lengths.line),
      ),
    );
  if (lengths && longest !== undefined && longest > 0)
    add(
      'batch.longestSequence',
      longest,
      say('longest sample: {0} tokens ({1}, {2})', String(longest), lengths.source, at(lengths.line)),
    );
  if (lengths?.mean !== undefined && lengths.mean >= 1) {
    const mean = Math.round(lengths.mean);
    add(
      'batch.meanSequence',
      mean,
      say('mean sample: {0} tokens ({1}, {2})', String(mean), lengths.source, at(lengths.line)),
    );
  } else if (tokensRead && values['batch.global'] !== undefined) {
    const mean = Math.round(tokensRead.tokens / (tokensRead.steps * values['batch.global']));
    if (mean >= 1)
      add(
        'batch.meanSequence',
        mean,
        say(
          'mean sample: {0} tokens ({1} in {2} steps of {3} samples, {4})',
          String(mean),
          String(tokensRead.tokens),
          String(tokensRead.steps),
          String(values['batch.global']),
          at(tokensRead.line),
        ),
      );
  }
  return found;
}

/** What an out-of-memory message tells of the card and the process: since torch 2.1 it has both. */
function cardFacts({ torch, line }: OutOfMemory): LearnedFact[] {
  if (!torch || torch.device === 'mps') return [];
  const found: LearnedFact[] = [];
  const { total, process, reserved, others } = torch;
  if (total)
    found.push({
      field: 'hardware.gpuMemory',
      value: total.bytes,
      about: 'card',
      words: say('memory of the card: {0} ({1})', formatBytes(total.bytes), at(line)),
    });
  if (process && reserved && process.bytes > reserved.bytes) {
    const outside = process.bytes - reserved.bytes;
    found.push({
      field: 'hardware.outsideAllocator',
      value: outside,
      about: 'process',
      words: say('beside the allocator: {0} ({1})', formatBytes(outside), at(line)),
    });
  }
  const named = others.reduce((sum, { bytes }) => sum + bytes.bytes, 0);
  // In a container the only process that is named may be the run itself.
  if (process && named > 0)
    found.push({
      field: 'hardware.otherProcesses',
      value: named,
      about: 'card',
      words: say('other processes on the card: {0} ({1})', formatBytes(named), at(line)),
    });
  return found;
}

/** What the trainer stated that it runs with. */
function inUseFacts({ inUse = {} }: MeasuredFacts): LearnedFact[] {
  const { attention, packed } = inUse;
  const found: LearnedFact[] = [];
  if (attention)
    found.push({
      field: 'attention.implementation',
      value: attention.kernel,
      about: 'software',
      words: say(
        'attention kernel in use: {0} ({1}, {2})',
        attention.kernel,
        attention.source,
        at(attention.line),
      ),
    });
  if (packed)
    found.push({
      field: 'batch.packed',
      value: true,
      about: 'data',
      words: say('samples are packed ({0}, {1})', packed.source, at(packed.line)),
    });
  return found;
}

function softwareFacts({ versions }: MeasuredFacts, settings: string | undefined): LearnedFact[] {
  const found = Object.entries(versions ?? {}).flatMap(([name, version]): LearnedFact[] => {
    const field = VERSIONS[name];
    const plain = version.split('+')[0] ?? version;
    return field
      ? [{ field, value: plain, about: 'software', words: say('version of {0}: {1}', name, plain) }]
      : [];
  });
  const expandable = /expandable_segments:(true|false)/i.exec(settings ?? '')?.[1];
  if (expandable !== undefined)
    found.push({
      field: 'allocator.expandableSegments',
      value: /true/i.test(expandable),
      about: 'software',
      words: say('allocator: {0}', settings ?? ''),
    });
  return found;
}

/** Fields that a fact holds for, by what it hangs on. */
const CONDITIONS: Readonly<Record<LearnedAbout, readonly FieldPath[]>> = {
  data: ['model.id', 'batch.sequence'],
  card: ['hardware.gpu'],
  process: [
    'hardware.gpu',
    'hardware.gpus',
    'hardware.nodes',
    'parallel.data',
    'parallel.tensor',
    'parallel.pipeline',
    'parallel.context',
    'parallel.expert',
  ],
  software: [],
};

/** Keys that name the data of a run; no field holds them. */
const DATA_KEYS =
  /^(?:train(?:ing)?_)?(?:data|dataset|datasets|corpus)(?:_(?:name|names|dir|path|paths|file|files|config|config_name|prefix))?$|^(?:train|training)_files?$|^pretraining_dataset$/;

/** One entry of `measured` in `oomlint.yaml`. */
export interface LearnedEntry {
  readonly facts: readonly LearnedFact[];
  readonly when: Readonly<Record<string, unknown>>;
  readonly keys: Readonly<Record<string, unknown>>;
}

/** Facts with what they hold for, those of a kind together. */
export function learnedEntries(facts: readonly LearnedFact[], analysis: Estimated): LearnedEntry[] {
  const { resolved, document } = analysis;
  const abouts = ['data', 'card', 'process', 'software'] as const;
  return abouts.flatMap((about): LearnedEntry[] => {
    const own = facts.filter((found) => found.about === about);
    if (own.length === 0) return [];
    const when = Object.fromEntries(
      CONDITIONS[about].flatMap((field): [string, unknown][] => {
        const origin = resolved.origins[field];
        const value = origin?.before ?? resolved.values[field];
        if (value === undefined) return [];
        const card = field === 'hardware.gpu' ? findAccelerator(String(value))?.name : undefined;
        return [[field, card ?? value]];
      }),
    );
    const entries = document.root?.kind === 'map' ? document.root.entries : [];
    const keys = about === 'data' ? entries.filter(({ key }) => DATA_KEYS.test(key)) : [];
    return [
      { facts: own, when, keys: Object.fromEntries(keys.map(({ key, value }) => [key, plainValue(value)])) },
    ];
  });
}
