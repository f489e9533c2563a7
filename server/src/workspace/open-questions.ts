import { modelSince } from '../dialects/python/imported-names';
import { withChanges } from '../memo/on-demand';
import type { Model } from '../model/model';
import type { Estimate, Verdict } from '../results/estimate';
import { joinWords } from '../results/labels';
import { compareVerdicts } from '../results/verdict-order';
import { behavioursOfValues } from '../run/behaviours';
import { FIELD_PATHS, type FieldPath, type RunValues } from '../run/fields';
import type { OpenQuestion } from '../run/open-question';
import { isStated, type Origin } from '../run/origin';
import { isAssumed, type Resolution } from '../run/resolve';
import { type StatePackage, UNKNOWN_PACKAGES } from '../terms/state-packages';
import { isAtLeast } from '../terms/version';
import type { Problem } from '../text/problem';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Member } from './member';
import { withBand } from './open-estimate';

/** A question with what the run would need if it were answered the other way. */
export interface OpenAnswer extends OpenQuestion {
  /** Tokens of a sample that the verdict is of, where shorter ones fit. */
  readonly atTokens?: number;
  /** Undefined where there is no other answer to try, or the run cannot be so. Bytes per GPU. */
  readonly estimate?: {
    readonly verdict: Verdict;
    readonly processBytes: number;
    readonly lowerBytes: number;
    readonly upperBytes: number;
  };
}

/** Share of the peak that an answer has to move to be reported. */
const LEAST_CHANGE = 0.05;

const stands = (origin: Origin | undefined) => !isStated(origin);

/** Questions of which both answers are as likely as each other: versions that may be older. The estimate is over both. */
export function evenQuestions({ origins }: Pick<Resolution, 'origins'>): OpenQuestion[] {
  return ofFields(origins, ofRange);
}

/** What else decides the run and is stated by nobody: the families' own questions, lengths that are assumed, versions. */
export function openQuestions(
  members: readonly Member[],
  { origins, values }: Pick<Resolution, 'origins' | 'values'>,
  model?: Pick<Model, 'statePackages' | 'modelType'>,
): OpenQuestion[] {
  const families = [...new Set(members.map(({ config }) => config.dialect))];
  const asked = families.flatMap(({ joins }) => joins?.questions?.(members, values) ?? []);
  const first = asked.filter(
    ({ field }, index) => asked.findIndex((other) => other.field === field) === index,
  );
  return [
    ...first.filter(({ field, otherwise }) => stands(origins[field]) && !holds(values, otherwise?.changes)),
    ...kernelQuestion(values, model?.statePackages ?? []),
    ...versionQuestion(origins, values, members, model),
    ...ofFields(origins, ofGuess),
  ];
}

/** Frameworks whose models and losses the code of a run makes itself: others load and compute by rules of their own. */
const OPEN_CODE = /^(?:transformers|trl|accelerate|pytorch)$/;

/**
 * What code that is not read may do where no file states it: load the weights in fp32 (a release's default is a guess about its call of
 * `from_pretrained`), and take all logits in fp32, as a loss of its own does.
 */
export function codeQuestions({ origins, values }: Pick<Resolution, 'origins' | 'values'>): OpenQuestion[] {
  if (!OPEN_CODE.test(values.framework ?? '')) return [];
  const loaded: OpenQuestion = {
    field: 'precision.weights',
    reason: say('In which type its code loads the weights is not read.'),
    otherwise: { changes: { 'precision.weights': 'fp32' }, words: say('weights in {0}', 'fp32') },
  };
  const lost: OpenQuestion = {
    field: 'loss.implementation',
    reason: say('How its code computes the loss is not read.'),
    otherwise: { changes: { 'loss.implementation': 'full-upcast' }, words: say('all logits in fp32') },
  };
  const isWhole = (values['quantization.kind'] ?? 'none') === 'none';
  // Kernels that compute a loss of their own make no logits.
  const makesLogits = values['loss.implementation'] === 'full';
  return [...(isWhole ? [loaded] : []), ...(makesLogits ? [lost] : [])].filter(
    ({ field, otherwise }) => stands(origins[field]) && !holds(values, otherwise?.changes),
  );
}

/** Packages of kernels that the layers of a model are made for and that nobody names. */
function kernelQuestion(values: RunValues, wanted: readonly StatePackage[]): OpenQuestion[] {
  const named = values['kernels.states'] ?? [];
  const open = wanted.filter((name) => !named.includes(name));
  if (open.length === 0 || !named.includes(UNKNOWN_PACKAGES)) return [];
  if (!behavioursOfValues(values).runsStatesWithoutKernels) return [];
  const names = joinWords(open.map((name) => `\`${name}\``));
  const others = named.filter((name) => name !== UNKNOWN_PACKAGES);
  return [
    {
      field: 'kernels.states',
      reason: say('No file names {0}: {1|it is|they are} taken as installed.', names, open.length),
      otherwise: {
        changes: { 'kernels.states': others.length > 0 ? others : ['none'] },
        words: say('operators of PyTorch in {0|its|their} place', open.length),
      },
    },
  ];
}

/**
 * Releases that were the newest together, a year before the day of `data/releases.json`: since when, and until when (the next one came);
 * days of their files in the package index.
 */
export const YEAR_OLD = {
  'version.transformers': { release: '4.57', since: '2025-10-14', until: '2026-01-26' },
  'version.trl': { release: '0.25', since: '2025-11-05', until: '2025-12-09' },
  'version.accelerate': { release: '1.12', since: '2025-11-21', until: '2026-03-04' },
  'version.torch': { release: '2.9', since: '2025-10-15', until: '2026-01-21' },
} as const;

/** Versions that nobody names are today's. A run that was set up a year ago has others, and they can decide. */
const OLDER = {
  'version.transformers': YEAR_OLD['version.transformers'].release,
  'version.trl': YEAR_OLD['version.trl'].release,
  'version.accelerate': YEAR_OLD['version.accelerate'].release,
  'version.torch': YEAR_OLD['version.torch'].release,
} as const satisfies RunValues;

/** Frameworks whose runs a package takes no part in: their trainers are none of TRL's, and a plain loop launches nothing. */
const WITHOUT: Readonly<Partial<Record<keyof typeof OLDER, RegExp>>> = {
  'version.trl': /^(?:transformers|accelerate|pytorch|deepspeed)$/,
  'version.accelerate': /^(?:pytorch|deepspeed)$/,
};

const packageOf = (field: keyof typeof OLDER): string => field.replace(/^version\./, '');

/** Whether a package takes part in the run. */
const isUsed = (field: keyof typeof OLDER, framework = 'pytorch'): boolean =>
  WITHOUT[field]?.test(framework) !== true;

function versionQuestion(
  origins: Resolution['origins'],
  values: RunValues,
  members: readonly Member[],
  model: Pick<Model, 'modelType'> | undefined,
): OpenQuestion[] {
  const isUnnamed = (field: keyof typeof OLDER) => {
    const origin = origins[field];
    // What a file installs newest, it names.
    return (
      origin?.kind === 'default' && origin.pinned !== 'by-known-release' && origin.location === undefined
    );
  };
  const unnamed = (Object.keys(OLDER) as (keyof typeof OLDER)[]).filter(
    (field) => isUnnamed(field) && isUsed(field, values.framework),
  );
  const [first] = unnamed;
  if (first === undefined || values['model.code'] !== 'transformers') return [];
  // Nothing was set up a year ago for a model that came later.
  const since = modelSince(model?.modelType);
  if (since && isAtLeast(OLDER['version.transformers'], since) === false) return [];
  // Code that passes or imports what those releases do not have cannot run on them.
  const isTooNew = members.some(({ config }) =>
    unnamed.some((field) => {
      const need = config.reading.needs?.[field];
      return need !== undefined && isAtLeast(OLDER[field], need) === false;
    }),
  );
  if (isTooNew) return [];
  const changes = Object.fromEntries(unnamed.map((field) => [field, OLDER[field]]));
  return [
    {
      field: first,
      reason: say(
        'No file names the {1|version|versions} of {0}: {1|that|those} of today {1|is|are} assumed.',
        joinWords(unnamed.map(packageOf)),
        unnamed.length,
      ),
      otherwise: {
        changes,
        words: say(
          '{1|the version|versions} of a year ago ({0})',
          joinWords(unnamed.map((field) => `${packageOf(field)} ${OLDER[field]}`)),
          unnamed.length,
        ),
      },
    },
  ];
}

/** Whether a run is already as the other answer would have it. */
function holds(values: RunValues, changes: RunValues = {}): boolean {
  const stated = Object.entries(changes);
  const run = values as Readonly<Record<string, unknown>>;
  return stated.length > 0 && stated.every(([field, value]) => run[field] === value);
}

/** Questions about single fields, in the order of the vocabulary: few of them are open, and all are looked at. */
function ofFields(
  origins: Resolution['origins'],
  ask: (field: FieldPath, origin: Origin) => OpenQuestion | undefined,
): OpenQuestion[] {
  const questions: OpenQuestion[] = [];
  for (const field of FIELD_PATHS) {
    const origin = origins[field];
    const question = origin && !isAssumed(origin) ? ask(field, origin) : undefined;
    if (question) questions.push(question);
  }
  return questions;
}

function ofGuess(field: FieldPath, { guess, note, orElse }: Origin): OpenQuestion | undefined {
  if (guess !== true) return undefined;
  const reason = capital(`${note ?? field}.`);
  // However short its samples are, evaluation takes nothing from what training needs.
  if (field === 'evaluation.sequence')
    return { field, reason, otherwise: { changes: { 'evaluation.enabled': false }, words: say('off') } };
  if (orElse === undefined) return { field, reason };
  if (field === 'method.objective') {
    const words = say('a head that guesses tokens');
    return { field, reason, otherwise: { changes: { [field]: orElse as RunValues[typeof field] }, words } };
  }
  const other = Number(orElse);
  return {
    field,
    reason,
    otherwise: { changes: { [field]: other }, words: say('{0} {0|token|tokens}', other) },
    oneOfMany: true,
  };
}

function ofRange(field: FieldPath, { guess, note, orElse }: Origin): OpenQuestion | undefined {
  if (guess === true || orElse === undefined) return undefined;
  if (field === 'precision.weights') {
    const reason = say('The config of the model does not name the type of its weights.');
    const words = say('weights in {0}', String(orElse));
    const changes = { [field]: orElse as RunValues[typeof field] };
    return { field, reason, even: true, otherwise: { changes, words } };
  }
  if (field === 'rollout.sleep') {
    const words = say('an engine that gives its memory back');
    return { field, reason: note ?? field, even: true, otherwise: { changes: { [field]: true }, words } };
  }
  const words = `${field.replace(/^version\./, '')} ${String(orElse)}`;
  const reason = say('{0} may be older.', String(field.replace(/^version\./, '')));
  return { field, reason, even: true, otherwise: { changes: { [field]: orElse }, words } };
}

const capital = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** Whether another answer matters: what changes next to nothing is no question. */
export function isDeciding(
  { verdict, processBytes }: { readonly verdict: Verdict; readonly processBytes: number },
  present: Estimate,
): boolean {
  const change = Math.abs(processBytes / present.peak.processBytes - 1);
  return change >= LEAST_CHANGE || verdict !== present.verdict;
}

/** The questions with what the run would need otherwise, but for those that it would need the same. */
export function answered(
  questions: readonly OpenQuestion[],
  present: Estimate,
  otherwise: (changes: RunValues) => Estimate | undefined,
): OpenAnswer[] {
  return questions.flatMap((question): OpenAnswer[] => {
    const found = question.otherwise && otherwise(question.otherwise.changes);
    if (!found) return question.otherwise ? [] : [question];
    const { processBytes, lowerBytes, upperBytes } = found.peak;
    if (!isDeciding({ verdict: found.verdict, processBytes }, present)) return [];
    return [{ ...question, estimate: { verdict: found.verdict, processBytes, lowerBytes, upperBytes } }];
  });
}

/** Those that change the verdict first, of these those by which the run comes to fit; then those that change the peak most. */
export function byEffect(answers: readonly OpenAnswer[], present: Estimate): OpenAnswer[] {
  const turns = ({ estimate }: OpenAnswer) => {
    if (estimate === undefined || estimate.verdict === present.verdict) return 0;
    return compareVerdicts(estimate.verdict, present.verdict) < 0 ? 2 : 1;
  };
  const effect = ({ estimate }: OpenAnswer) =>
    estimate ? Math.abs(estimate.processBytes - present.peak.processBytes) : 0;
  return [...answers].sort((a, b) => turns(b) - turns(a) || effect(b) - effect(a));
}

/** The estimate over all answers that are as likely as its own: the band holds them, and the verdict is of the band. */
export function overEvenAnswers(estimate: Estimate, answers: readonly OpenAnswer[]): Estimate {
  const others = answers.flatMap((answer) => (answer.even && answer.estimate ? answer.estimate : []));
  if (others.length === 0) return estimate;
  const same = others.every(({ verdict }) => verdict === estimate.verdict);
  return withChanges(withBand(estimate, others), { verdict: same ? estimate.verdict : 'tight' });
}

/** That a run does not fit is no certainty while something that decides it is assumed: a warning, which states what. */
export function questioned(problem: Problem, answers: () => readonly OpenAnswer[]): Problem {
  if (problem.code !== 'does-not-fit' || problem.severity !== 'error') return problem;
  const decides = answers().find(
    ({ even, oneOfMany, estimate }) => !even && (oneOfMany === true || estimate?.verdict !== 'exceeds'),
  );
  if (!decides) return problem;
  return { ...problem, severity: 'warning', message: `${problem.message} ${answerSentence(decides)}` };
}

/** The problem with what another answer would change. */
export function withAnswer(
  problem: Problem | undefined,
  answer: OpenAnswer | undefined,
): Problem | undefined {
  return problem && answer
    ? { ...problem, message: `${problem.message} ${answerSentence(answer)}` }
    : problem;
}

/** `No file shows how the run is launched: with ZeRO stage 3 it would need 21.3 GiB.` */
export function answerSentence({ reason, otherwise, estimate }: OpenAnswer): string {
  if (!otherwise || !estimate) return reason;
  return `${reason} ${otherwiseSentence(otherwise.words, formatBytes(estimate.processBytes))}`;
}

/** A switch is turned; everything else is what the run has instead. */
function otherwiseSentence(words: string, figure: string): string {
  if (words === say('on')) return say('Switched on, it would need {0}.', figure);
  if (words === say('off')) return say('Switched off, it would need {0}.', figure);
  return say('With {0} it would need {1}.', words, figure);
}
