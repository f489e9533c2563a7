import type { ConfigDocument } from '../../config/node';
import { isBroken } from '../../config/problems';
import type { Joins } from '../../dialects/dialect';
import { startsWords } from '../../dialects/not-modelled/starts-words';
import { onDemand, withChanges } from '../../memo/on-demand';
import { oncePer } from '../../memo/remembered';
import type { Estimate } from '../../results/estimate';
import { hasSoundMemory, isSound } from '../../results/soundness';
import type { FieldPath, RunValues } from '../../run/fields';
import type { OpenQuestion } from '../../run/open-question';
import type { Resolution } from '../../run/resolve';
import type { ResolvedRun } from '../../run/resolved-run';
import { compare } from '../../text/place';
import type { Problem } from '../../text/problem';
import { canonicalUri } from '../../text/uri';
import { formatBytes } from '../../wording/figures';
import { say } from '../../wording/say';
import type { Analysis } from '../analysis';
import { definedThere } from '../changed-framework';
import type { ConfigReading } from '../config-reading';
import {
  arithmeticConflicts,
  directiveConflicts,
  linkConflicts,
  overriddenValues,
  rejectedValues,
  unknownNames,
  unnamedTargets,
} from '../conflicts';
import { doubted, ofShownLaunch } from '../doubt';
import { refusedEngine } from '../engine-share';
import { hostProblem } from '../host-verdict';
import { takesIn } from '../inheritance';
import { internalError } from '../internal-error';
import { isAround } from '../links';
import { movedMeasurements } from '../measured-problems';
import type { Member } from '../member';
import {
  answered,
  byEffect,
  codeQuestions,
  evenQuestions,
  type OpenAnswer,
  openQuestions,
  overEvenAnswers,
  questioned,
  withAnswer,
} from '../open-questions';
import { type AnsweredWay, overOwnCode, overValues, overWays, withoutWords } from '../open-ways';
import { mambaTargets, refusedAdapters, renamedTargets } from '../refused-adapters';
import { refusedSearch } from '../refused-search';
import { lengthAnswer, shortestAnswer } from '../sample-lengths';
import { overUncutImages } from '../uncut-images';
import { answeredValues, withoutKnownCard } from '../unknown-values';
import {
  adaptsNothing,
  noFigure,
  nothingTrained,
  unknownProblem,
  verdictProblem,
  withoutFiles,
} from '../verdict';
import { alternative } from './alternative';
import type { Assembled } from './assembled';
import type { AssemblyOptions } from './collect';
import { alternativeFound, foundRun, withFoundBatch, withFoundNote } from './found-batch';
import type { OtherWay } from './other-ways';

/** The estimate of a run that is complete, and what it states of the file at hand. */
interface Verdicts extends Pick<Analysis, 'estimate' | 'alternative'> {
  /** The run with the micro batch that its framework finds, where it looks for one. */
  readonly found?: Resolution;
  /** What keeps a run that is complete from being estimated. */
  readonly missing?: ResolvedRun['unknown'];
  /** What decides the run and nobody states; asked for when somebody wants to know. */
  readonly answers?: () => readonly OpenAnswer[];
  /** Of the memory of a GPU, of that of the host, and that no parameter is trained; put into words when problems are asked for. */
  readonly problems?: () => readonly (Problem | undefined)[];
}

/** Most keys that are typed leave a run as it is, and its estimate is the one before. */
const hasFigures = oncePer(isSound);
const hasMemory = oncePer(hasSoundMemory);

function estimated(
  assembled: Assembled,
  estimate: AssemblyOptions['estimate'],
  others: readonly OtherWay[],
): Verdicts {
  const {
    known: { finding },
    read: { members },
    resolved: { resolution: asStated, accelerator },
  } = assembled;
  const { model } = finding;
  const document = shown(assembled);
  if (!asStated.run || !model || !accelerator || brokenOf(assembled).length > 0) return {};
  const turned = (changes: RunValues) => alternativeFound(alternative(assembled, changes), changes, estimate);
  const otherwise = (changes: RunValues) => {
    const input = turned(changes);
    const found = input && estimate(input);
    return found && hasMemory(found) ? found : undefined;
  };
  try {
    const found = foundRun(asStated, { model, accelerator }, estimate);
    const resolution = found?.resolution ?? asStated;
    const run = resolution.run ?? asStated.run;
    const own = estimate({ run, model, accelerator });
    const alone = found ? withFoundNote(own, found) : own;
    if (!hasFigures(alone)) return { problems: () => [noFigure(document)] };
    // PEFT stops there: whatever the rest would need, the run does not come to it.
    const unmatched = adaptsNothing(alone, resolution)
      ? nothingTrained(alone, resolution, document)
      : undefined;
    if (unmatched)
      return {
        missing: [{ field: 'lora.targets', reason: unmatched.message, stated: true }],
        problems: () => [unmatched],
      };
    const refused =
      refusedAdapters(run, model, resolution, document) ??
      renamedTargets(run, model, resolution, document) ??
      mambaTargets(run, model, resolution, document) ??
      refusedEngine(run, model, alone, resolution, document) ??
      refusedSearch(run, resolution, document);
    if (refused) return { missing: refused.missing, problems: () => [refused.problem] };
    const even = answered(evenQuestions(resolution), alone, otherwise);
    const shortest = shortestAnswer(resolution, alone, otherwise);
    const answeredAll = overEvenAnswers(alone, [...even, ...listed(shortest)]);
    const withFiles = withoutFiles(answeredAll, assembled.collected.unseen);
    const ways = answeredWays(others, estimate);
    const { unread } = assembled.read;
    const uncut = overUncutImages(withFiles.estimate, resolution, otherwise);
    const valued = overValues(uncut, answeredValues(resolution, unread, otherwise));
    const { estimate: known, words } = withoutWords(valued.estimate, unread);
    const { estimate: decided, open } = overWays(known, ways);
    const answersTo = (questions: readonly OpenQuestion[]) => answered(questions, alone, otherwise);
    const asked = onDemand(() => answersTo(openQuestions(members, resolution, model)));
    const { estimate: seen, code } = overOwnCode(decided, unread, (own) => [
      ...asked(),
      ...(own.kind === 'script' ? answersTo(codeQuestions(resolution)) : []),
    ]);
    const result = withEarlier(seen, members);
    const lengths = onDemand(() => lengthAnswer(resolution, alone, otherwise));
    const answers = onDemand(() => byEffect([...asked(), ...even, ...listed(lengths())], alone));
    const atTokens = () => lengths()?.atTokens;
    const ends = { absent: withFiles.absent, value: valued.value, open, words, code, atTokens };
    const verdict = () => verdictProblem(result, accelerator, resolution, document, ends);
    return {
      estimate: result,
      ...(found ? { found: found.resolution } : {}),
      alternative: turned,
      answers,
      problems: () => [
        shortest ? withAnswer(verdict(), lengths()) : verdict(),
        hostProblem(result, resolution, document),
        nothingTrained(result, resolution, document),
      ],
    };
  } catch (error) {
    return { problems: () => [internalError(error, document)] };
  }
}

const listed = <T>(one: T | undefined): readonly T[] => (one === undefined ? [] : [one]);

/** What the run needs on each other way of its script. */
const answeredWays = (others: readonly OtherWay[], estimate: AssemblyOptions['estimate']): AnsweredWay[] =>
  others.flatMap(({ condition, input }) => {
    const there = estimate(withFoundBatch(input, estimate));
    return hasMemory(there) ? [{ condition, estimate: there }] : [];
  });

/** A process that held more before it trains than while it does: what is estimated is the training. */
function withEarlier(estimate: Estimate, members: readonly Member[]): Estimate {
  const held = estimate.parts
    .filter(({ category }) => /^(?:quantized-)?weights$/.test(category))
    .reduce((sum, part) => sum + part.bytes, 0);
  const each = members.flatMap(({ config }) => config.reading.earlier ?? []);
  const bytes = Math.max(0, ...each.map((one) => one.bytes + (one.besideTrained ? held : 0)));
  if (bytes <= estimate.peak.reservedBytes) return estimate;
  const note = say(
    'Models that are gone when the training starts took {0} of the GPU before, together with those that stay: PyTorch keeps that memory, and the process as much. The figures are of the training.',
    formatBytes(bytes),
  );
  return withChanges(estimate, { notes: [...estimate.notes, note] });
}

/** The file at hand, with the place that stands for the whole of it. */
function shown({ collected, read }: Assembled): ConfigDocument {
  const { document } = collected.config;
  const { wholeAt } = read.self.reading;
  return wholeAt ? { ...document, wholeAt } : document;
}

/** Files that cannot be read as they stand. */
function brokenOf({ collected, read }: Assembled): string[] {
  const broken = read.members.filter(({ config }) => isBroken(config.document));
  return [
    ...new Set([
      ...(isBroken(collected.config.document) ? [collected.config.uri] : []),
      ...broken.map(({ config }) => config.uri),
    ]),
  ];
}

/** What the families of a run say of its files together. */
function joinsOf(members: readonly Member[]): Joins[] {
  const families = new Set(members.map(({ config }) => config.dialect));
  return [...families].flatMap(({ joins }) => joins ?? []);
}

function inFileOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => compare(a.range.start, b.range.start));
}

/** Files that a config of the run is merged with, the one at hand apart. */
function partsBeside(uri: string, whole: ConfigReading['whole']): string[] {
  const own = canonicalUri(uri);
  const around = whole?.parts.filter((part) => part.uri !== own && isAround(whole.block, part.package));
  return around?.map((part) => part.uri) ?? [];
}

/**
 * A file that starts a trainer which is not modelled, by the config that it names: reported at that name, and nothing else of it, as
 * its flags are not those that they were read as. Undefined for other files.
 */
function startsNotModelled({ collected, read }: Assembled): Problem[] | undefined {
  const { config, followed } = collected;
  const { notModelled } = read;
  const trainer = notModelled?.reading.notModelled;
  if (!notModelled || !trainer || notModelled === read.self) return undefined;
  const link = followed.links.find(({ uri }) => uri === notModelled.uri);
  if (!link) return undefined;
  const starting: Problem = {
    code: 'trainer-not-modelled',
    severity: 'information',
    message: startsWords(trainer),
    range: link.range,
  };
  return inFileOrder([...config.document.problems, ...config.directiveProblems, starting]);
}

/** What the file and its reading say by themselves, and what the families say of the files together. */
function reportedOf({ collected, read }: Assembled, joins: readonly Joins[]): Problem[] {
  const { config, followed } = collected;
  const isDefined = definedThere(config.text, collected.defined);
  return [
    ...config.document.problems,
    ...read.self.reading.problems.filter((found) => !isDefined(found)),
    ...config.directiveProblems,
    ...followed.problems,
    ...joins.flatMap(({ check }) => check?.(read.self, read.members) ?? []),
  ];
}

/** Statements that do not go together, at those of the file at hand. `reported` is not reported twice. */
function conflictsOf(assembled: Assembled, joins: readonly Joins[], reported: readonly Problem[]): Problem[] {
  const { collected, read, resolved } = assembled;
  const { facts, resolution } = resolved;
  const { uri } = collected.config;
  const overridden = new Set(
    read.members.flatMap(({ config, relation }) => (relation === 'overridden' ? [config.uri] : [])),
  );
  const documents = read.members.map(({ config }) => config.document);
  const heirs = new Set(
    read.members.flatMap(({ config }) => (takesIn(config) ? [canonicalUri(config.uri)] : [])),
  );
  const winner = (field: FieldPath) => resolution.winners.get(field);
  const replacedHere = read.replaced.filter(
    ({ origin }) => origin.kind === 'file' && origin.location?.uri === uri,
  );
  return [
    ...directiveConflicts(resolution, uri),
    ...overriddenValues(facts, uri, documents, heirs, read.unread),
    ...joins.flatMap(({ reportReplaced }) => reportReplaced?.(replacedHere, winner) ?? []),
    ...linkConflicts(
      facts.filter(({ origin }) => !overridden.has(origin.location?.uri ?? '')),
      uri,
      reported,
      read.unread,
      documents,
    ),
    ...joins.flatMap(
      ({ checkLinked }) => checkLinked?.(read.self, read.members, collected.followed.links) ?? [],
    ),
    ...arithmeticConflicts(resolution, uri, reported, read.unread),
    ...rejectedValues(resolution, collected.config, reported),
    ...movedMeasurements(resolved.moved, resolution, shown(assembled), collected.project),
  ];
}

/** Files that took part, the one at hand first. */
function filesOf({ collected, known, read }: Assembled): string[] {
  const { uri } = collected.config;
  const configs = read.members.map(({ config }) => config);
  return [
    ...new Set([
      uri,
      ...configs.map((config) => (config === read.self ? uri : config.uri)),
      ...configs.flatMap(({ whole }) => partsBeside(uri, whole)),
      ...(collected.project ? [collected.project.uri] : []),
      ...(known.finding.uri ? [known.finding.uri] : []),
    ]),
  ];
}

/** What is wrong with the file at hand, in file order. */
function problemsOf(assembled: Assembled, verdicts: Verdicts): Problem[] {
  const { collected, read, resolved } = assembled;
  const { config } = collected;
  const { uri } = config;
  const document = shown(assembled);
  const { resolution } = resolved;
  const starts = startsNotModelled(assembled);
  if (starts) return starts;
  const joins = joinsOf(read.members);
  const reported = reportedOf(assembled, joins);
  const misnamed = unknownNames(resolution, uri);
  const untargeted = unnamedTargets(resolution, uri, read.unread);
  const unnamed = resolution.unknown.filter(
    ({ field }) =>
      !misnamed.some((found) => found.field === field) &&
      !(field === 'lora.targets' && untargeted.length > 0),
  );
  const [judged, ...others] = verdicts.problems?.() ?? [];
  const verdict = judged ?? unknownProblem(unnamed, document);
  const cardIsGuessed = resolution.origins['hardware.gpu']?.guess === true;
  // While the syntax is broken, half a file is read: what follows from it would come and go with each key pressed.
  const broken = isBroken(document);
  const last = [verdict, ...others].flatMap((found) =>
    broken || !found
      ? []
      : questioned(doubted(found, read.unread, cardIsGuessed), () => verdicts.answers?.() ?? []),
  );
  const configs = read.members.map((member) => member.config);
  const all = [
    ...[
      ...reported,
      ...misnamed.map(({ field: _field, ...rest }): Problem => rest),
      ...untargeted,
      ...conflictsOf(assembled, joins, reported),
    ].map((found) => doubted(found, read.unread)),
    ...last,
  ];
  return inFileOrder(all.map((found) => ofShownLaunch(found, configs, read.unread)));
}

/**
 * Estimates the run where it is complete. What is wrong with the file at hand, and what the run hangs on, is looked at when
 * somebody asks: a hover does not, and an edit is drawn before its problems are listed.
 */
export function judge(
  given: Assembled,
  estimate: AssemblyOptions['estimate'],
  others: readonly OtherWay[] = [],
): Analysis {
  const unread = withoutKnownCard(given.read.unread, given.resolved.resolution);
  const isWhole = unread.length === given.read.unread.length;
  const assembled = isWhole ? given : { ...given, read: { ...given.read, unread } };
  const { collected, known, read, resolved } = assembled;
  const { config, followed } = collected;
  const { uri, document, dialect } = config;
  const verdicts = estimated(assembled, estimate, others);
  const broken = brokenOf(assembled);
  const problems = onDemand(() => {
    try {
      return problemsOf(assembled, verdicts);
    } catch (error) {
      return [...document.problems, internalError(error, shown(assembled))];
    }
  });
  return {
    uri,
    document,
    dialect,
    reading: read.self.reading,
    links: followed.links,
    filled: dialect.joins?.filled?.(read.self, read.members) ?? [],
    files: filesOf(assembled),
    members: read.members.map(({ config: member }) => member),
    resolved: verdicts.missing
      ? { ...resolved.resolution, unknown: verdicts.missing }
      : (verdicts.found ?? resolved.resolution),
    model: known.finding.model,
    accelerator: resolved.accelerator,
    estimate: verdicts.estimate,
    alternative: verdicts.alternative,
    ...(broken.length > 0 ? { broken } : {}),
    ...(read.unread.length > 0 ? { unread: read.unread } : {}),
    get answers() {
      const answers = verdicts.answers?.() ?? [];
      return answers.length > 0 ? answers : undefined;
    },
    get problems() {
      return problems();
    },
  };
}
