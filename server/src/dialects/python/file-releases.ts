import type { ConfigDocument } from '../../config/node';
import type { PyCall, PyProgram } from '../../config/python/value';
import { VERSION_FIELDS } from '../../environment/versions';
import type { Fact } from '../../run/origin';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import { Draft } from '../draft';
import type { Calls } from './call-block';
import { inferLimit, limitsOf, limitsOfLoad } from './dropped-arguments';
import { NAMED_PACKAGES, type NamedPackage, newestWithNames, takenNames } from './imported-names';
import { trainings } from './training-call';

/**
 * One environment runs the whole file: the release of a package is one that has every name which the file imports, and takes the arguments
 * of every call, those of trainings too that are not estimated. The oldest end counts; where the file names a release, that does.
 */
export function inferFromFile(calls: Calls, document: ConfigDocument): void {
  const { program, draft } = calls;
  // Unsloth takes arguments of older releases, and installs the one of TRL that it is made for.
  const byUnsloth = importsUnsloth(program);
  const apart = new Draft(document);
  inferFromNames(program, apart, byUnsloth ? ['transformers', 'peft'] : NAMED_PACKAGES);
  if (!byUnsloth) inferFromCalls(program, apart);
  const inferred = apart.facts;
  for (const field of new Set(inferred.map((one) => one.field))) {
    if (draft.facts.some((known) => known.field === field && isNamed(known))) continue;
    const all = [...draft.facts, ...inferred].filter(
      (one) => one.field === field && one.origin.kind === 'inferred',
    );
    const [oldest] = all.sort((a, b) => order(String(a.value), String(b.value)));
    const assumed = draft.facts.find((known) => known.field === field && known.origin.kind === 'default');
    if (!oldest || (assumed && order(String(assumed.value), String(oldest.value)) <= 0)) continue;
    const others = draft.facts.filter(
      (known) => known.field !== field || !/^(?:inferred|default)$/.test(known.origin.kind),
    );
    draft.facts.splice(0, draft.facts.length, ...others, oldest);
  }
}

export const importsUnsloth = ({ modules }: Pick<PyProgram, 'modules'>): boolean =>
  [...modules].some((module) => /^unsloth(?:\.|$)/.test(module));

const order = (a: string, b: string) => (a === b ? 0 : isAtLeast(a, b) ? 1 : -1);

/** Whether a release is named: of a range the file may tell which of it is meant, and a library which one it takes at most. */
const isNamed = ({ origin: { kind, orElse } }: Fact) =>
  kind !== 'inferred' && kind !== 'default' && orElse === undefined;

function inferFromNames(program: PyProgram, draft: Draft, packages: readonly NamedPackage[]): void {
  const names = takenNames(program);
  const copies = new Set(program.ownCopies().map(({ name }) => name));
  for (const of of packages) {
    const end = newestWithNames(names, of);
    if (!end || copies.has(of)) continue;
    const note = say('`{0}` has `{1}` up to release {2}', of, end.name, end.last);
    draft.infer(VERSION_FIELDS[of], end.last, note, end, end.name);
  }
}

/** What makes the arguments of a training. */
const MAKES = /(?:Arguments|Config)$/;

/** What calls tell, each by itself, where they are made whatever the case. */
function inferFromCalls(program: PyProgram, draft: Draft): void {
  const always = ({ conditions }: PyCall) => conditions.length === 0;
  const configs = program.calls.filter(
    (call) => call.of === undefined && always(call) && MAKES.test(call.callee),
  );
  const trained = trainings(program).filter(({ call }) => always(call));
  for (const limit of [
    ...configs.flatMap((call) => limitsOf(call, call)),
    ...program.calls.filter(always).flatMap(limitsOfLoad),
    ...trained.flatMap(({ call }) => limitsOf(call, undefined)),
  ])
    inferLimit(draft, limit);
}
