import { inFile, merged } from '../config/deep-merge';
import { entryOf, mapAt } from '../config/lookup';
import type { ConfigDocument, MapNode } from '../config/node';
import { readDocument } from '../dialects/templated-values';
import { onDemand, withChanges } from '../memo/on-demand';
import { type Fact, isStated } from '../run/origin';
import { beginTogether } from '../text/place';
import type { Problem } from '../text/problem';
import { canonicalUri } from '../text/uri';
import type { ConfigReading, LaidOver } from './config-reading';
import type { Member } from './member';

/** What is read of a config in a run: merged with those that it starts from, under what its launch gives. */
export function documentRead({
  document,
  whole,
  laidOver,
}: Pick<ConfigReading, 'document' | 'whole' | 'laidOver'>): ConfigDocument {
  const base = whole?.document ?? document;
  const over = laidOver && mapAt(laidOver.tree, whole?.block ?? []);
  if (!laidOver || !over || !base.root) return base;
  const values = valuesOf(over, base.root);
  return { ...base, root: merged(base.root, inFile(values, laidOver.uri)) };
}

/** A word for a whole block is the option of a group that is chosen (`model=gpt3/5b`), not a value. */
function valuesOf(over: MapNode, under: ConfigDocument['root']): MapNode {
  const entries = over.entries.filter(
    ({ key, value }) => value.kind === 'map' || entryOf(under, key)?.value.kind !== 'map',
  );
  return { ...over, entries };
}

/** A config under what a launch gives. */
export function overlaid<C extends ConfigReading>(config: C, laidOver: LaidOver): C {
  const next = { ...config, laidOver };
  const read = readDocument(config.dialect, documentRead(next), { known: {} });
  const { facts, autos } = read;
  const over = {
    facts,
    autos,
    get problems() {
      return read.problems;
    },
    get refusedElsewhere() {
      return read.refusedElsewhere ?? [];
    },
  };
  return { ...next, reading: withChanges(config.reading, over) };
}

/**
 * Statements of overridden configs that stand in the launch are the launch's. What it stated of its words alone is dropped: how
 * many GPUs `trainer.num_nodes=4` makes is known together with the config only.
 */
export function statedByTheirFile(members: readonly Member[]): readonly Member[] {
  const laid = members.filter(({ config }) => config.laidOver);
  if (laid.length === 0) return members;
  const isIn = (uri: string | undefined, file: string) =>
    uri !== undefined && canonicalUri(uri) === canonicalUri(file);
  return members.map((member): Member => {
    const { config } = member;
    const { laidOver, reading } = config;
    if (laidOver) {
      const facts = reading.facts.filter(({ origin }) => !isIn(origin.location?.uri, laidOver.uri));
      return { ...member, config: { ...config, reading: withChanges(reading, { facts }) } };
    }
    const below = laid.filter((other) => isIn(other.config.laidOver?.uri, config.uri));
    if (below.length === 0) return member;
    const alone = new Set(reading.links.flatMap(({ overrides }) => overrides?.facts ?? []));
    const own = reading.facts.filter((stated) => !alone.has(stated) || isLengthAlone(stated, below));
    const words = below.flatMap(({ config: other }) =>
      other.reading.facts.flatMap((stated) => {
        const { location } = stated.origin;
        if (!location || !isIn(location.uri, config.uri)) return [];
        const place = { ...location, uri: config.uri };
        // What follows from a word, such as the last release that takes it, the word does not state.
        const kind = isStated(stated.origin) ? ('file' as const) : stated.origin.kind;
        return { ...stated, origin: { ...stated.origin, kind, location: place } };
      }),
    );
    const facts = [...own, ...words];
    const refused = onDemand(() => refusedAt(below, (uri) => isIn(uri, config.uri)));
    // Which flags a script has its code states, which is followed here.
    const isScript = below.some((other) => other.config.document.format === 'python');
    const changes = {
      facts,
      get problems() {
        const known = isScript
          ? reading.problems.filter(({ code }) => code !== 'unknown-key' && code !== 'dead-key')
          : reading.problems;
        const aloneRefused = reading.links.flatMap(({ overrides }) => overrides?.refused?.() ?? []);
        const kept = known.filter((problem) => !aloneRefused.some((other) => isSame(problem, other)));
        return [...kept, ...refused()];
      },
    };
    return { ...member, config: { ...config, reading: withChanges(reading, changes) } };
  });
}

const isSame = (one: Problem, other: Problem) =>
  one.code === other.code && beginTogether(one.range, other.range);

/** What the families of configs stop on at the values that a launch puts over theirs, as problems of the launch: each once. */
function refusedAt(below: readonly Member[], isHere: (uri: string | undefined) => boolean): Problem[] {
  const found = below.flatMap(({ config: { reading } }) => reading.refusedElsewhere ?? []);
  const here = found.flatMap((problem): Problem[] => {
    const { uri, start, end } = problem.range;
    return isHere(uri) ? [{ ...problem, range: { start, end } }] : [];
  });
  return here.filter((problem, at) => here.findIndex((other) => isSame(problem, other)) === at);
}

/** A length by the name of its flag, where the script that is followed cuts samples in a way that is not seen. */
function isLengthAlone({ field }: Fact, below: readonly Member[]): boolean {
  return (
    field === 'batch.sequence' &&
    below.every(
      ({ config: { document, reading } }) =>
        document.format === 'python' && !reading.facts.some((other) => other.field === field),
    )
  );
}
