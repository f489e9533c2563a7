import { maxSatisfying, minSatisfying } from '@renovatebot/pep440';
import type { ConfigDocument } from '../../config/node';
import { EITHER_A100 } from '../../config/python/cells';
import { nodeOf } from '../../config/python/node-of-value';
import { specifierWithin } from '../../config/python/pytorch-index';
import { normalName, parseRequirement, type Requirement } from '../../environment/requirement';
import {
  type AllowedVersions,
  allowedVersions,
  assumedRelease,
  VERSION_FIELDS,
  VERSIONED_PACKAGES,
  type VersionedPackage,
} from '../../environment/versions';
import { findAccelerator } from '../../hardware/catalog';
import type { FieldPath } from '../../run/fields';
import { newerOf } from '../../run/oldest-releases';
import { fact } from '../../run/origin';
import type { Versions } from '../../run/versions';
import { statePackageOf, statePackagesAmong } from '../../terms/state-packages';
import { locationOf, type Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { ALLOCATOR_VARIABLES, readAllocatorSettings } from '../launch/allocator-environment';
import { readBrought } from './brought-versions';
import { argumentOf, type Calls } from './call-block';
import { installsRocm, isOfRocm } from './rocm-installs';

/**
 * Versions that cells install, of a range the newest that it allows; the last statement about a package counts. `lastTrl` is the last
 * release of TRL that takes what the file hands its trainer.
 */
export function readInstalls(
  { installs = [] }: ConfigDocument,
  draft: Draft,
  { lastTrl, versions }: { readonly lastTrl?: string; readonly versions?: Versions } = {},
): void {
  readKernels(installs, draft);
  const stated = [...installs].reverse();
  // What a comment names comes last: the script may be started in another environment.
  const newest = new Set<string>();
  for (const { name, specifier: asked, choices, open, repository, upgraded, range, commented, builtFor } of [
    ...stated.filter((install) => !install.commented),
    ...stated.filter((install) => install.commented),
  ]) {
    const versioned = VERSIONED_PACKAGES.find((known) => known === normalName(name));
    // What an earlier cell installs gives way to the newest of a later one.
    if (upgraded && !commented && versioned !== undefined) newest.add(versioned);
    if (versioned === undefined || newest.has(versioned) || draft.knows(VERSION_FIELDS[versioned])) continue;
    if (choices && !commented) stateChosen(draft, versioned, choices, range);
    if (open && repository !== 'commit') continue;
    const field = VERSION_FIELDS[versioned];
    const specifier = specifierWithin(asked, builtFor);
    const exact = /^==(\d+(?:\.\d+)*)$/.exec(specifier)?.[1];
    const allowed = allowedVersions(versioned, {
      specifier,
      ...(exact === undefined ? {} : { exact }),
      ...(repository ? { repository } : {}),
    });
    if (!allowed) continue;
    const location = locationOf(range, draft.uri);
    const { newest: value, oldest } = allowed;
    if (commented) {
      const note = say('a commented-out cell installs {0}', `${name} ${asked}`.trim());
      draft.facts.push(fact(field, value, { kind: 'default', location, note, orElse: oldest }));
      continue;
    }
    const note = repository
      ? commitNote(name)
      : builtFor && specifier !== asked
        ? say('PyTorch is built for {0} up to this release, of which the cell installs it', builtFor.name)
        : exact === undefined
          ? installedNote(`${name} ${specifier}`, allowed)
          : undefined;
    draft.facts.push(
      fact(field, value, { kind: 'file', location, key: 'pip_install', note, orElse: oldest }),
    );
  }
  // Started by `python`, a script has the release that its launch installs, whatever its metadata allow.
  const isThere = versions?.vllm?.source === 'locked';
  const there = installs.filter(({ name, needed }) => !(isThere && needed && normalName(name) === 'vllm'));
  readBrought(there, draft, lastTrl);
}

/**
 * One of several versions between which a condition chooses as it is installed: the newest, and the oldest that is named. One that is not
 * named may be newer than those that are: the release that is assumed, where that is.
 */
function stateChosen(draft: Draft, name: VersionedPackage, choices: readonly string[], range: Range): void {
  const named = choices.filter((choice) => choice !== '').map((choice) => choice.slice('=='.length));
  const [last, oldest] = [maxSatisfying(named, '>=0'), minSatisfying(named, '>=0')];
  if (last === null || oldest === null) return;
  const newest = choices.includes('') ? newerOf(last, assumedRelease(name)) : last;
  const note = say(
    'a condition chooses the release when it is installed: {0}',
    choices.map((choice) => `${name}${choice}`).join(say(' or ')),
  );
  draft.facts.push(
    fact(VERSION_FIELDS[name], newest, {
      kind: 'file',
      location: locationOf(range, draft.uri),
      key: 'pip_install',
      note,
      ...(oldest === newest ? {} : { orElse: oldest }),
    }),
  );
}

const commitNote = (name: string) =>
  say('{0} is installed from a repository: which release that is, is not known', name);

const installedNote = (what: string, { endsAtAssumed }: AllowedVersions) =>
  endsAtAssumed
    ? say('{0} is installed: it allows the release that is assumed where none is named', what)
    : say('{0} is installed: the newest that it allows', what);

/**
 * Packages of kernels that cells install: what they do not name may be there all the same. As with versions, what a comment alone names
 * decides where nothing else does: the script may be started in another environment.
 */
function readKernels(installs: NonNullable<ConfigDocument['installs']>, draft: Draft): void {
  const named = installs.filter(({ name }) => statePackageOf(normalName(name)) !== undefined);
  const packages = statePackagesAmong(named.map(({ name }) => normalName(name)));
  const first = named.find(({ commented }) => !commented) ?? named[0];
  if (!first) return;
  const location = locationOf(first.range, draft.uri);
  const words = `${first.name} ${first.specifier}`.trim();
  draft.facts.push(
    first.commented
      ? fact('kernels.states', packages, {
          kind: 'default',
          location,
          note: say('a commented-out cell installs {0}', words),
        })
      : fact('kernels.states', packages, { kind: 'file', location, key: 'pip_install' }),
  );
}

/** Whether no command that installs a package installs what it requires (`--no-deps`). */
export function isAlone(package_: string, installs: NonNullable<ConfigDocument['installs']>): boolean {
  const own = installs.filter(({ name, commented }) => normalName(name) === package_ && !commented);
  return own.length > 0 && own.every(({ alone }) => alone === true);
}

/** The release of Unsloth that cells install, where they name one; the last counts. */
export function unslothInstalled({ installs = [] }: ConfigDocument): readonly Requirement[] {
  const last = [...installs]
    .reverse()
    .find(({ name, specifier, commented }) => name === 'unsloth' && /^==\d/.test(specifier) && !commented);
  const release = last && parseRequirement(`${last.name}${last.specifier}`, last.range);
  const alone = isAlone('unsloth', installs) ? { alone: true as const } : {};
  return release?.exact === undefined ? [] : [{ ...release, ...alone }];
}

/** Packages of which cells install the newest release (`-U`), whatever lies around; the last statement about each counts. */
export function upgradedPackages({ installs = [] }: ConfigDocument): readonly Requirement[] {
  const own = installs.filter(({ commented }) => !commented);
  return own.flatMap(({ name, range, upgraded }, index) => {
    const isLast = !own.slice(index + 1).some((later) => later.name === name);
    const known = VERSIONED_PACKAGES.find((one) => one === normalName(name));
    return known && upgraded && isLast ? [{ name: known, specifier: '', range }] : [];
  });
}

/**
 * Where a notebook asks Colab for one GPU and printed another, it was run elsewhere, or another was asked for since: either may be what the
 * next run has.
 */
function readOtherGpu(
  { ranElsewhere }: ConfigDocument,
  draft: Draft,
  known: ReadContext['known'],
  fields: readonly FieldPath[],
): void {
  if (!ranElsewhere || known['hardware.gpu'] !== undefined) return;
  const { asked, ran, range } = ranElsewhere;
  const words = say(
    'The notebook asks Colab for {0}, and its saved output comes from another GPU ({1}): which one it will have is not known.',
    asked,
    ran,
  );
  draft.leave('value', { range }, 'gpuType', words, fields);
}

/** Cells that install PyTorch for AMD's GPUs tell the vendor: what is shown as an example is one of its cards. */
function leaveGpuOfAmd(
  { asksFor, ranElsewhere, installs = [] }: ConfigDocument,
  draft: Draft,
  fields: readonly FieldPath[],
): void {
  const name = asksFor?.name ?? ranElsewhere?.asked;
  const range = asksFor?.range ?? ranElsewhere?.range ?? installs.find(isOfRocm)?.range;
  if (!range) return;
  const words =
    name !== undefined && findAccelerator(name)
      ? say(
          'The cells install PyTorch for AMD GPUs, which does not run on the {0} that the notebook asks Colab for.',
          name,
        )
      : say('The cells install PyTorch for AMD GPUs: which of them the run uses is not known.');
  const text = name === undefined ? 'pip_install' : 'gpuType';
  draft.leave('value', { range }, text, words, fields, { 'hardware.gpu': 'MI300X' });
}

/**
 * The GPU that a notebook asks Colab for. It stays in the file when it is run elsewhere, so that nothing that follows is certain; where
 * cells install PyTorch for AMD's, it is none that they run on: Colab has NVIDIA's alone. `onOne`: it is one, whichever it is.
 */
export function readAskedGpu(
  document: ConfigDocument,
  draft: Draft,
  known: ReadContext['known'],
  onOne: boolean,
): void {
  const open: readonly FieldPath[] = onOne ? ['hardware.gpu'] : ['hardware.gpu', 'hardware.gpus'];
  if (installsRocm(document)) {
    if (known['hardware.gpu'] === undefined) leaveGpuOfAmd(document, draft, open);
    return;
  }
  readOtherGpu(document, draft, known, open);
  const { asksFor } = document;
  if (!asksFor || !findAccelerator(asksFor.name)) return;
  const { name, range } = asksFor;
  const place = { range };
  if (name !== EITHER_A100)
    draft.state('hardware.gpu', name, place, 'gpuType', say('the notebook asks Colab for it'), true);
  else if (known['hardware.gpu'] === undefined) {
    const words = say(
      'The notebook asks Colab for `{0}`, which has 40 or 80 GB: which of them is not known.',
      name,
    );
    draft.leave('value', place, `gpuType: ${name}`, words, ['hardware.gpu']);
  }
  if (!draft.knows('hardware.gpus'))
    draft.state('hardware.gpus', 1, place, 'gpuType', say('Colab has one GPU'));
}

/** Processes that the text starts, each of which takes a GPU (`accelerate/launchers.py`, `notebook_launcher`; `torch/multiprocessing/spawn.py`). */
export function readLaunchedProcesses({ program, draft }: Calls): void {
  const call = program.calls.find(({ callee }) =>
    /(?:^|\.)(?:notebook_launcher|multiprocessing\.(?:spawn\.)?spawn)$/.test(callee),
  );
  const [key, index] = call?.callee.endsWith('spawn') ? ['nprocs', 2] : ['num_processes', 2];
  const count = call && argumentOf(call, key, index);
  if (count?.kind !== 'scalar' || typeof count.value !== 'number' || draft.knows('hardware.gpus')) return;
  if (Number.isInteger(count.value) && count.value > 0) draft.state('hardware.gpus', count.value, count, key);
}

/** Variables of the environment that the text sets before it trains. `onOne`: of the GPUs that the process sees it uses one. */
export function readEnvironment({ program, draft }: Calls, onOne: boolean): void {
  const latest = [...program.environment].reverse();
  const settings = ALLOCATOR_VARIABLES.flatMap((name) => latest.filter(({ key }) => key === name)).at(0);
  if (settings?.value.kind === 'scalar')
    readAllocatorSettings(
      { key: settings.key, node: nodeOf(settings.value) },
      String(settings.value.value),
      draft,
    );
  for (const { key, value } of latest) {
    if (value.kind !== 'scalar') continue;
    const text = String(value.value);
    if (
      !onOne &&
      key === 'CUDA_VISIBLE_DEVICES' &&
      /^\d+(,\d+)*$/.test(text) &&
      !draft.knows('hardware.gpus')
    )
      draft.state('hardware.gpus', text.split(',').length, value, key);
  }
}
