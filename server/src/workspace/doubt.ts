import { isStated } from '../run/origin';
import type { Resolution } from '../run/resolve';
import { isDecisive, type Unread, unreadSentence } from '../run/unread';
import { DEEPSPEED } from '../sources/repositories';
import type { Problem } from '../text/problem';
import { canonicalUri, fileName } from '../text/uri';
import { say } from '../wording/say';
import type { ConfigReading } from './config-reading';

/** What of the files of a run was not understood, each once. */
export function unreadOf(configs: readonly ConfigReading[]): Unread[] {
  const found = new Map<string, Unread>();
  // Of a script that is followed with the flags that it is given, its own reading states what is not known.
  const scripts = configs.filter(({ document, laidOver }) => document.format === 'python' && laidOver);
  const laid = configs.filter(({ laidOver }) => laidOver);
  const followed = new Set(laid.map(({ uri }) => fileName(uri)));
  const starters = new Set(scripts.flatMap(({ laidOver }) => (laidOver ? [canonicalUri(laidOver.uri)] : [])));
  // What a config that is merged of parts leaves open it leaves itself: a part alone has its keys in no block.
  const parts = new Set(
    configs.flatMap(({ whole }) => whole?.parts.map(({ uri }) => canonicalUri(uri)) ?? []),
  );
  for (const { reading, uri: own } of configs) {
    if (parts.has(canonicalUri(own))) continue;
    for (const unread of reading.unread ?? []) {
      if (unread.kind === 'script' && followed.has(unread.text)) continue;
      if (unread.kind === 'flag' && starters.has(canonicalUri(own))) continue;
      const { uri, range } = unread.location;
      const key = `${uri}:${range.start.line}:${range.start.character}:${unread.text}`;
      if (!found.has(key)) found.set(key, unread);
    }
  }
  return [...found.values()];
}

/**
 * A run that states a decisive field with a value that is not known is not known itself: the default of the field is no answer.
 * Where somebody else states the field, that counts.
 */
export function withoutUnread(resolution: Resolution, unread: readonly Unread[]): Resolution {
  const refused = unread.find(({ kind }) => kind === 'refused');
  // Nothing else that is missing would make it one that is.
  if (refused) {
    const { message } = refused;
    return {
      ...resolution,
      unknown: [{ field: 'method.kind', reason: message, stated: true }],
      run: undefined,
    };
  }
  const missing = unread.flatMap(({ kind, fields = [], message, examples = {} }) =>
    kind !== 'branch'
      ? fields.flatMap((field) => {
          const origin = resolution.origins[field];
          const weak = !isStated(origin);
          // A micro batch that is left after dividing is no answer where the file states it by a value that is not known.
          const divided = field === 'batch.micro' && origin?.kind === 'inferred';
          const isMissing = resolution.unknown.some((unknown) => unknown.field === field);
          // Words that may be any arguments need not be this one.
          const needed = isMissing || (kind !== 'words' && (isDecisive(field) || divided));
          const example = examples[field];
          const own = example === undefined ? {} : { example };
          return weak && needed ? [{ field, reason: message, ...own }] : [];
        })
      : [],
  );
  if (missing.length === 0) return resolution;
  const first = missing.filter(({ field }, i) => missing.findIndex((other) => other.field === field) === i);
  const others = resolution.unknown.filter(({ field }) => !first.some((found) => found.field === field));
  return { ...resolution, unknown: [...others, ...first], run: undefined };
}

/** Problems that judge the run as a whole: they are certain only where all of it was understood. */
const OF_THE_LAYOUT = new Set(['world-size', 'parallel-sizes', 'batch-triangle']);
export const OF_THE_RUN: ReadonlySet<string> = new Set([
  'does-not-fit',
  'tight',
  'host-memory',
  'engine-share',
  ...OF_THE_LAYOUT,
]);

/** Flags of a fork that say how layers and GPUs are split: what Megatron itself asks of them need not hold. */
const SPLITS = /pipeline|parallel|stage|layers/;

/** Rules of a framework's own trainer: a script of the project's own need not follow them. */
const OF_THE_TRAINER: Readonly<Record<string, Problem['severity']>> = {
  'cross-file-conflict': 'information',
  // A script may have an argument of the name itself.
  'argument-release': 'warning',
  'unknown-key': 'hint',
  'dead-key': 'hint',
  'no-lora-targets': 'information',
};

/** DeepSpeed reads its file itself, whoever starts it. */
const isOfEngine = ({ source }: Problem): boolean =>
  source?.startsWith(`https://github.com/${DEEPSPEED.name}/`) === true;

function ownScript(problem: Problem, unread: readonly Unread[]): Problem | undefined {
  const severity = isOfEngine(problem) ? undefined : OF_THE_TRAINER[problem.code];
  if (!severity || !/^(error|warning)$/.test(problem.severity)) return undefined;
  return unread.some(({ kind }) => kind === 'script') ? { ...problem, severity } : undefined;
}

/**
 * A judgement on a run that was not read whole: a warning, which states what was not understood. `cardIsGuessed`: nobody states the GPU,
 * as where a notebook's metadata still names the one that Colab once gave.
 */
export function doubted(problem: Problem, unread: readonly Unread[], cardIsGuessed = false): Problem {
  const own = ownScript(problem, unread);
  if (own) return own;
  if (problem.code === 'layers-not-divisible') {
    const own = unread.filter(({ kind, text }) => kind === 'flag' && SPLITS.test(text));
    if (own.length === 0) return problem;
    return { ...problem, severity: 'information', message: `${problem.message} ${unreadSentence(own)}` };
  }
  if (!/^(error|warning)$/.test(problem.severity) || !OF_THE_RUN.has(problem.code)) return problem;
  const layout = OF_THE_LAYOUT.has(problem.code);
  const decides = unread.filter(
    ({ kind, fields }) =>
      !layout ||
      kind === 'words' ||
      // torchtitan's trainer asks it of its own degrees; a script of the project's own may have others.
      (kind === 'script' && problem.code === 'parallel-sizes') ||
      ((kind === 'branch' || kind === 'value') &&
        (fields ?? ['batch.global']).some((field) => /^(hardware|parallel|batch)\./.test(field))),
  );
  // How many GPUs there are is not known: that those which are do not divide proves nothing.
  const counted = decides.some(({ fields }) =>
    fields?.some((field) => /^hardware\.(?:nodes|gpus)$/.test(field)),
  );
  if (layout && counted)
    return { ...problem, severity: 'information', message: `${problem.message} ${unreadSentence(decides)}` };
  // A guessed card that is nearly full is no finding, however well the run was read.
  if (decides.length === 0)
    return cardIsGuessed && problem.code === 'tight' ? { ...problem, severity: 'information' } : problem;
  // The GPU itself is taken for one of several sizes, or for the one of a template: that it is too small is no finding.
  const sized = cardIsGuessed || decides.some(({ fields }) => fields?.includes('hardware.gpu'));
  if (sized && !layout)
    return { ...problem, severity: 'information', message: `${problem.message} ${unreadSentence(decides)}` };
  if (problem.severity === 'warning') return problem;
  return { ...problem, severity: 'warning', message: `${problem.message} ${unreadSentence(decides)}` };
}

/**
 * A judgement on a run of which a text shows the launch: whoever starts it may do so otherwise. Where not all of it was understood
 * either, it is no finding.
 */
export function ofShownLaunch(
  problem: Problem,
  configs: readonly ConfigReading[],
  unread: readonly Unread[],
): Problem {
  const text = configs.find(({ document }) => document.isShown);
  if (!text || !/^(error|warning)$/.test(problem.severity) || !OF_THE_RUN.has(problem.code)) return problem;
  const severity = unread.length > 0 ? 'information' : 'warning';
  const shows = say('It is started here as {0} shows.', fileName(text.uri));
  return { ...problem, severity, message: `${problem.message} ${shows}` };
}
