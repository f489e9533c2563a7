import { entryAt, nodeAt } from '../config/lookup';
import type { ConfigDocument } from '../config/node';
import { flagOf } from '../config/scalar';
import type { Accelerator } from '../hardware/accelerator';
import { leversOf, shapeable } from '../memory/causes';
import type { Estimate, Part } from '../results/estimate';
import { categoryLabel, joinWords, mayNotFit } from '../results/labels';
import type { FieldPath } from '../run/fields';
import { isStated, type Origin } from '../run/origin';
import { shortAlias } from '../run/parse-field';
import { unstated } from '../run/resolve';
import type { ResolvedRun } from '../run/resolved-run';
import { spelledKey } from '../run/spelled-key';
import type { Unread } from '../run/unread';
import { effectOf } from '../terms/unmodelled-features';
import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import { canonicalUri } from '../text/uri';
import { formatBytes, formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import { withoutVerdict } from './open-estimate';
import {
  type AnsweredCode,
  type AnsweredWay,
  openCodeWords,
  openValueWords,
  openWayWords,
} from './open-ways';
import type { AnsweredValue } from './unknown-values';
import type { UnseenFile } from './unreadable-file';

const START: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

/** Where problems go that belong to a file as a whole: its first key, if nothing else stands for it. */
export function firstKey(document: ConfigDocument): Range {
  const { root, wholeAt } = document;
  if (wholeAt) return wholeAt;
  return (root?.kind === 'map' ? root.entries[0]?.keyRange : root?.range) ?? START;
}

/** The key that states a value, else the value itself. */
export function keyRange(origin: Origin, document: ConfigDocument): Range | undefined {
  const path = origin.key?.split('.');
  const entry = path && entryAt(document.root, path);
  const { location } = origin;
  // The same key path in another file, or a value that is shared by an alias, is not this key.
  return entry && location && entry.value.range.start.line === location.range.start.line
    ? entry.keyRange
    : location?.range;
}

interface Blame {
  readonly range: Range;
  readonly related: NonNullable<Problem['related']>;
}

/** The key of this file that stands behind the heaviest part it can change, and such keys of other files. */
function blame(estimate: Estimate, resolved: ResolvedRun, document: ConfigDocument): Blame {
  const related: NonNullable<Problem['related']>[number][] = [];
  for (const part of shapeable(estimate.parts)) {
    for (const field of leversOf(part.category)) {
      const origin = resolved.origins[field];
      if (!origin?.location || !isStated(origin)) {
        continue;
      }
      if (origin.location.uri === document.uri && origin.kind === 'file') {
        return { range: keyRange(origin, document) ?? firstKey(document), related };
      }
      if (related.length < 3 && origin.location.uri !== document.uri) {
        const weight = `${categoryLabel(part.category)}: ${formatBytes(part.bytes)}`;
        related.push({
          ...origin.location,
          message: `${spelledKey(origin.key ?? shortAlias(field))} (${weight})`,
        });
      }
    }
  }
  return { range: firstKey(document), related };
}

/** `Largest: optimizer states, 44.9 GiB.` */
const weight = ({ category, bytes }: Part) =>
  say('Largest: {0}, {1}.', categoryLabel(category), formatBytes(bytes));

function between(above: boolean, figures: string, { lowerBytes, upperBytes }: Estimate['peak']): string {
  const [lower, upper] = [formatBytes(lowerBytes), formatBytes(upperBytes)];
  return above
    ? say('May not fit: needs {0}, between {1} and {2}.', figures, lower, upper)
    : say('Tight: needs {0}, between {1} and {2}.', figures, lower, upper);
}

/** What a run needs at least or at most, where a feature of it is not modelled: no verdict follows. */
function withheld(
  { peak, capacityBytes, unmodelled: features = [] }: Estimate,
  accelerator: Accelerator,
  resolved: ResolvedRun,
  document: ConfigDocument,
  ends: OpenEnds,
): Problem {
  const figures = say('{0} on {1}', formatBytesOf(peak.processBytes, capacityBytes), accelerator.name);
  const names = joinWords(features.map((name) => `\`${name}\``));
  const origin = resolved.origins['features.unmodelled'];
  const own = origin?.kind === 'file' && origin.location?.uri === document.uri ? origin : undefined;
  const left = ends.value?.unread.location;
  const there = left && canonicalUri(left.uri) === canonicalUri(document.uri) ? left.range : undefined;
  return {
    code: 'feature-not-modelled',
    severity: 'information',
    message: openEndWords(ends, figures) ?? withheldSentence(features, figures, names),
    range: there ?? (own && keyRange(own, document)) ?? firstKey(document),
  };
}

/** What of a run is not known beside what is not modelled. */
interface OpenEnds {
  /** A file that is not here, or cannot be read, and may shard the run. */
  readonly absent?: UnseenFile;
  /** A way of its script on which the verdict is another. */
  readonly open?: AnsweredWay;
  /** Words of the launch that are not known. */
  readonly words?: Unread;
  /** A value that is not known, and by which the verdict may be another. */
  readonly value?: AnsweredValue;
  /** What code of the run's own may make of what nobody states. */
  readonly code?: AnsweredCode;
  /** Tokens of a sample at which a run that is too large is so, where shorter ones fit. */
  readonly atTokens?: () => number | undefined;
}

function openEndWords({ absent, open, words, value, code }: OpenEnds, figures: string): string | undefined {
  if (absent)
    return absent.isHere
      ? say(
          'Needs at most about {0}: `{1}` cannot be read, and what it shards or offloads is not counted.',
          figures,
          absent.path,
        )
      : say(
          'Needs at most about {0}: `{1}` is not here, and what it shards or offloads is not counted.',
          figures,
          absent.path,
        );
  if (words)
    return say(
      'Needs about {0} without what `{1}` holds, which the script does not show.',
      figures,
      words.text,
    );
  if (value) return openValueWords(figures, value);
  if (open) return openWayWords(figures, open);
  return code && openCodeWords(figures, code);
}

function withheldSentence(features: readonly string[], figures: string, names: string): string {
  switch (effectOf(features)) {
    case 'adds':
      // Not at least that: what is counted is known between two ends, and shorter samples take less.
      return say('Needs about {0} without {1}, which is not modelled and takes more.', figures, names);
    case 'saves':
      return say('Needs at most about {0}: {1} is not modelled and saves memory.', figures, names);
    default:
      return say('Needs about {0} without {1}, which is not modelled.', figures, names);
  }
}

/** `atTokens`: the length of samples that it is of, where shorter ones fit. */
function tooLarge(bytes: number, { name }: Accelerator, capacityBytes: number, atTokens?: number): string {
  const excess = bytes - capacityBytes;
  // The band can reach over the limit while its middle does not.
  if (excess <= 0) {
    const figures = say('{0} on {1}', formatBytesOf(bytes, capacityBytes), name);
    return atTokens === undefined
      ? say('Does not fit: needs {0}.', figures)
      : say('Does not fit at {0} tokens: needs {1}.', atTokens, figures);
  }
  const [needs, has, over] = [formatBytes(bytes), formatBytes(capacityBytes), formatBytes(excess)];
  return atTokens === undefined
    ? say('Does not fit: needs {0}, {1} has {2} ({3} over).', needs, name, has, over)
    : say('Does not fit at {0} tokens: needs {1}, {2} has {3} ({4} over).', atTokens, needs, name, has, over);
}

const leastTried = (micro: number) =>
  say('That is with micro batch {0}, the least that is tried.', String(micro));

/** The verdict as a problem: an error where the run does not fit, a warning where it is tight, nothing where it fits. */
export function verdictProblem(
  estimate: Estimate,
  accelerator: Accelerator,
  resolved: ResolvedRun,
  document: ConfigDocument,
  ends: OpenEnds = {},
): Problem | undefined {
  const { verdict, peak, capacityBytes } = estimate;
  if (verdict === 'unknown') return withheld(estimate, accelerator, resolved, document, ends);
  if (verdict !== 'exceeds' && verdict !== 'tight') {
    return undefined;
  }
  const heavy = shapeable(estimate.parts)[0];
  const weighs = heavy ? ` ${weight(heavy)}` : '';
  const figures = say('{0} on {1}', formatBytesOf(peak.processBytes, capacityBytes), accelerator.name);
  const missing = peak.processBytes - capacityBytes;
  const answer =
    verdict === 'tight'
      ? between(mayNotFit(verdict, peak.processBytes, capacityBytes), figures, peak)
      : tooLarge(peak.processBytes, accelerator, capacityBytes, ends.atTokens?.());
  const least = estimate.foundBatch ? ` ${leastTried(estimate.foundBatch.micro)}` : '';
  const message = `${answer}${weighs}${least}`;
  const { range, related } = blame(estimate, resolved, document);
  return {
    code: verdict === 'tight' ? 'tight' : 'does-not-fit',
    severity: verdict === 'tight' ? 'warning' : 'error',
    message,
    range,
    related: related.length > 0 ? related : undefined,
    data: { category: heavy?.category, missingBytes: Math.max(0, missing) },
  };
}

/** Whether the file lets the model bring its own code: `trust_remote_code`. */
export function bringsCode({ root, program }: ConfigDocument): boolean {
  if (flagOf((root && nodeAt(root, ['trust_remote_code'])) ?? undefined) === true) return true;
  const loads = program?.calls ?? [];
  return loads.some(({ named }) =>
    named.some(
      ({ key, value }) => key === 'trust_remote_code' && value.kind === 'scalar' && value.value === true,
    ),
  );
}

/**
 * Whether adapters are asked for and no module of the model has a name that they are to be put on: PEFT stops with `Target modules ... not
 * found in the base model` (peft 0.21.2, `tuners/tuners_utils.py`, `inject_adapter`).
 */
export function adaptsNothing(estimate: Estimate, { values }: ResolvedRun): boolean {
  if (estimate.model.trainableParameters > 0 || estimate.unmodelled) return false;
  const names = (values['lora.targets'] ?? []).length > 0 || values['lora.targetPattern'] !== undefined;
  return values['method.kind'] === 'lora' && names;
}

/** A run whose trained parameters are none: a switch or a pattern states what nobody can mean. */
export function nothingTrained(
  estimate: Estimate,
  resolved: ResolvedRun,
  document: ConfigDocument,
): Problem | undefined {
  // What is not modelled of a run may be what it trains, such as the projector of a vision tower.
  if (estimate.model.trainableParameters > 0 || estimate.unmodelled) return undefined;
  const fields = ['method.trainable', 'lora.targets', 'lora.targetPattern', 'method.kind'] as const;
  const own = fields
    .map((field) => resolved.origins[field])
    .find((origin) => origin?.location?.uri === document.uri && origin.kind === 'file');
  // Code of the model's own repository may call its modules otherwise than transformers does.
  return {
    code: 'nothing-trained',
    severity: bringsCode(document) ? 'information' : 'warning',
    message: adaptsNothing(estimate, resolved)
      ? say('No estimate: the names of modules that get adapters are those of no module of this model.')
      : say('Nothing is trained: what is to be trained names no parameter of the model.'),
    range: (own && keyRange(own, document)) ?? firstKey(document),
  };
}

/**
 * No run is sure not to fit, or to be tight, while a file is missing that may shard it: it needs what is estimated at most, and there is
 * no verdict. One that fits without does so with it.
 */
export function withoutFiles(
  estimate: Estimate,
  unseen: readonly UnseenFile[],
): { readonly estimate: Estimate; readonly absent?: UnseenFile } {
  const [absent] = unseen;
  if (!absent || !/^(?:exceeds|tight)$/.test(estimate.verdict)) return { estimate };
  return { estimate: withoutVerdict(estimate, 'absent-config'), absent };
}

/** Values that make a useful start where nobody states one. */
const EXAMPLES: Partial<Record<FieldPath, string>> = {
  'model.id': 'meta-llama/Llama-3.1-8B',
  'hardware.gpu': 'H100-SXM5-80GB',
  'hardware.gpus': '8',
  'batch.micro': '1',
  'batch.sequence': '4096',
  'lora.targets': 'all-linear',
};

/** What people call a missing field, in a sentence. */
export const WORDS: Partial<Record<FieldPath, string>> = {
  'model.id': 'the model',
  'model.path': 'the model',
  'model.config': 'the model',
  'hardware.gpu': 'the GPU',
  'hardware.gpus': 'the number of GPUs',
  'batch.micro': 'the micro batch',
  'batch.sequence': 'the sequence length',
  'lora.targets': 'the modules that get an adapter',
};

/** Examples by which a directive or a command line can supply what is missing: `gpu=H100-SXM5-80GB`. */
export function supplyExamples(unknown: ResolvedRun['unknown']): string[] {
  return [
    ...new Set(
      unknown.map(({ field, example }) => `${shortAlias(field)}=${example ?? EXAMPLES[field] ?? '...'}`),
    ),
  ];
}

/** Sizes that lead nowhere: each may be, all together cannot. */
export function noFigure(document: ConfigDocument): Problem {
  return {
    code: 'no-figure',
    severity: 'warning',
    message: say('No estimate: the sizes of this run together lead to no figure that a run can have.'),
    range: firstKey(document),
  };
}

/** One information for all that keeps the run from being estimated. */
export function unknownProblem(
  unknown: ResolvedRun['unknown'],
  document: ConfigDocument,
): Problem | undefined {
  if (unknown.length === 0) {
    return undefined;
  }
  const words = unknown.map(({ field }) => {
    const word = WORDS[field];
    return word === undefined ? shortAlias(field) : say(word);
  });
  const named = joinWords(words);
  // A name that is stated but not known needs its own words; a field that nobody states does not.
  const reasons = unknown
    .filter(({ field, reason }) => reason !== unstated(field))
    .map(({ reason }) => reason);
  // One reason may hold for several fields.
  const details = [...new Set(reasons)].map((reason) => ` ${reason}`);
  const open = unknown.filter(({ stated }) => !stated);
  const examples = supplyExamples(open);
  if (open.length === 0) {
    const all = [...new Set(unknown.map(({ reason }) => reason))].join(' ');
    return {
      code: 'unknown-fields',
      severity: 'information',
      message: `${say('Unknown, so there is no verdict')}: ${all}`,
      range: firstKey(document),
    };
  }
  const how =
    document.format !== 'json'
      ? say(
          'Set {0|it|them} in a comment "# oomlint: {1}", or in an oomlint.yaml.',
          open.length,
          examples.join(' '),
        )
      : say('Set {0|it|them} in an oomlint.yaml beside this file or above it.', open.length);
  return {
    code: 'unknown-fields',
    severity: 'information',
    message: `${say('An estimate needs {0}.', named)}${details.join('')} ${how}`,
    range: firstKey(document),
    data: { fields: unknown.map(({ field }) => field), examples },
  };
}
