import { maxSatisfying, minSatisfying, valid } from '@renovatebot/pep440';
import tables from '../../../data/vllm-requirements.json';
import type { ConfigDocument } from '../../config/node';
import { requiredSpecifier } from '../../environment/required-releases';
import { normalName } from '../../environment/requirement';
import { type AllowedVersions, allowedVersions, pinOf, VERSION_FIELDS } from '../../environment/versions';
import { fact } from '../../run/origin';
import { locationOf } from '../../text/place';
import { say } from '../../wording/say';
import type { Draft } from '../draft';

type Install = NonNullable<ConfigDocument['installs']>[number];

const VLLM: Readonly<Record<string, Readonly<Partial<Record<'torch' | 'transformers', string>>>>> =
  tables.vllm;
const OF_TRL: Readonly<Record<string, string>> = tables.trl;

type Bounds = Readonly<Partial<Record<'torch' | 'transformers', readonly string[]>>>;

/** What else a command asks for bounds what its vLLM may require: pip takes the newest that goes with all of it. */
function boundsBeside(install: Install, own: readonly Install[]): Bounds {
  const { line } = install.range.start;
  const beside = own.filter((one) => one !== install && one.range.start.line === line && !one.open);
  const of = (name: 'torch' | 'transformers') =>
    beside.flatMap((one) => {
      const package_ = normalName(one.name);
      if (package_ === name) return one.specifier === '' ? [] : [one.specifier];
      const release = /^==(\d[\w.]*)$/.exec(one.specifier)?.[1];
      const pin = package_ === 'unsloth' && !one.alone ? pinOf('unsloth', name, release) : undefined;
      return pin ? [pin.specifier] : [];
    });
  return { torch: of('torch'), transformers: of('transformers') };
}

/** Whether there are releases that both what vLLM requires and what stands beside it allow. */
const goesWith = (release: string, bounds: Bounds): boolean =>
  (['torch', 'transformers'] as const).every((name) => {
    const others = bounds[name] ?? [];
    const specifier = [VLLM[release]?.[name] ?? '>=0', ...others].join(',');
    return others.length === 0 || allowedVersions(name, { specifier }) !== undefined;
  });

/** The release of TRL that pip installs, of those whose extra is known: the newest, up to the last that the file can run with. */
function trlOf(specifier: string, last: string | undefined): string | null {
  const known = Object.keys(OF_TRL);
  const asked = specifier === '' ? '>=0' : specifier;
  const runs = last === undefined ? null : maxSatisfying(known, `${asked},<=${last}`);
  return runs ?? maxSatisfying(known, asked);
}

/**
 * The release of vLLM that pip installs for this: by its own specifier, or that of TRL's extra; the newest that is known and goes with what
 * stands beside it where none is named.
 */
function vllmOf(
  { name, specifier, extras = [], open, alone }: Install,
  bounds: Bounds,
  lastTrl: string | undefined,
): string | undefined {
  if (open || alone) return undefined;
  const package_ = normalName(name);
  const isExtra = package_ === 'trl' && extras.includes('vllm');
  if (package_ !== 'vllm' && !isExtra) return undefined;
  const trl = isExtra ? trlOf(specifier, lastTrl) : null;
  if (isExtra && trl === null) return undefined;
  const exact = /^==(\d[\w.]*)$/.exec(specifier)?.[1];
  if (trl === null && exact !== undefined) return exact;
  const asked = trl === null ? specifier : (OF_TRL[trl] ?? '');
  const fitting = Object.keys(VLLM).filter((release) => goesWith(release, bounds));
  return maxSatisfying(fitting, asked === '' ? '>=0' : asked) ?? undefined;
}

/** Whether a command names another package beside this one, with what that requires. */
const standsBeside = ({ range }: Install, package_: string, own: readonly Install[]): boolean =>
  own.some(
    (one) =>
      normalName(one.name) === package_ &&
      !one.alone &&
      one.range.start.line === range.start.line &&
      !one.open,
  );

/**
 * What cells ask of a package that they name themselves, where pip keeps it within what this install requires: named in the same command,
 * or without a release and without an upgrade. Undefined where its own statement decides.
 */
function askedWithin(install: Install, name: string, own: readonly Install[]): string | undefined {
  const last = own.findLast((one) => normalName(one.name) === name);
  if (!last) return '';
  const { specifier, open, alone, upgraded, choices, repository } = last;
  if (open || alone || choices || repository || /^==\d[\w.]*$/.test(specifier)) return undefined;
  const isTogether = last.range.start.line === install.range.start.line;
  return isTogether || (specifier === '' && !upgraded) ? specifier : undefined;
}

/** The releases of PyTorch that the versions of vLLM require between which a condition chooses. */
function torchOfChoices({
  choices = [],
  alone,
}: Install): { readonly torch: AllowedVersions; readonly note: string } | undefined {
  const releases = choices.map((choice) => choice.slice('=='.length));
  const torch = releases.map(
    (release) => /^==(\d[\d.]*)$/.exec(requiredSpecifier('vllm', release, 'torch') ?? '')?.[1],
  );
  const known = torch.filter((one) => one !== undefined);
  if (alone || known.length === 0 || known.length < torch.length) return undefined;
  const [newest, oldest] = [maxSatisfying(known, '>=0'), minSatisfying(known, '>=0')];
  if (newest === null) return undefined;
  const or = say(' or ');
  const note = say(
    '{0} {1} is installed, and requires {2}',
    'vLLM',
    releases.join(or),
    ['torch', [...new Set(known)].map((one) => `==${one}`).join(or)].join(' '),
  );
  return { torch: { newest, ...(oldest === null || oldest === newest ? {} : { oldest }) }, note };
}

/** The release of PyTorch that Unsloth's extra is for: `cu126-torch270`, `colab-ampere-torch220`. */
function torchOfUnsloth({ name, extras = [], alone }: Install): string | undefined {
  if (normalName(name) !== 'unsloth' || alone) return undefined;
  const [, major, minor, patch] = extras.flatMap((extra) => /torch(\d)(\d{1,2})(\d)$/.exec(extra) ?? []);
  const release = `${major}.${Number(minor)}.${patch}`;
  return valid(release) === null ? undefined : release;
}

/** The release of PyTorch that a release of xFormers is built for. */
function torchOfXformers({ name, specifier, alone, open }: Install): string | undefined {
  const release = /^==(\d[\w.]*)$/.exec(specifier)?.[1];
  if (normalName(name) !== 'xformers' || alone || open || release === undefined) return undefined;
  return /^==(\d[\d.]*)$/.exec(requiredSpecifier('xformers', release, 'torch') ?? '')?.[1];
}

/**
 * Versions that what cells install requires: vLLM, alone or as TRL's extra, allows no others of PyTorch and transformers (`server/data/vllm-requirements.json`,
 * made by `scripts/vllm-requirements.py`); extras of Unsloth are for one release of PyTorch. What cells name themselves goes before, save what
 * pip chooses together with vLLM.
 */
export function readBrought(installs: readonly Install[], draft: Draft, lastTrl?: string): void {
  const own = installs.filter(({ commented }) => !commented);
  const named = new Set(own.map(({ name }) => normalName(name)));
  for (const install of own) {
    const put = (
      field: 'version.torch' | 'version.transformers',
      what: AllowedVersions,
      note: string,
      together = false,
    ) => {
      const location = locationOf(install.range, draft.uri);
      const isNamed = named.has(field.slice('version.'.length));
      if (isNamed ? !together : draft.knows(field)) return;
      if (isNamed) draft.forget(field);
      draft.facts.push(
        fact(field, what.newest, { kind: 'file', location, key: 'pip_install', note, orElse: what.oldest }),
      );
    };
    const torch = torchOfUnsloth(install);
    if (torch !== undefined)
      put('version.torch', { newest: torch }, say('the extra of Unsloth is for this release of PyTorch'));
    const xformers = torchOfXformers(install);
    if (xformers !== undefined)
      put(
        'version.torch',
        { newest: xformers },
        say(
          '{0} {1} is installed, and requires {2}',
          'xFormers',
          install.specifier.slice(2),
          `torch ==${xformers}`,
        ),
      );
    const chosen = normalName(install.name) === 'vllm' ? torchOfChoices(install) : undefined;
    if (chosen) put('version.torch', chosen.torch, chosen.note);
    const bounds = boundsBeside(install, own);
    const isBounded = named.has('unsloth');
    const release = vllmOf(install, bounds, isBounded ? undefined : lastTrl);
    const isKnown = install.specifier.startsWith('==') || standsBeside(install, 'unsloth', own);
    if (release === undefined || (isBounded && !isKnown)) continue;
    // Unsloth has bounds of its own on transformers, within which its notebooks name releases.
    for (const name of isBounded ? (['torch'] as const) : (['torch', 'transformers'] as const)) {
      const specifier = requiredSpecifier('vllm', release, name) ?? VLLM[release]?.[name];
      if (specifier === undefined) continue;
      const asked = askedWithin(install, name, own);
      if (asked === undefined) continue;
      const exact = /^==(\d[\d.]*)$/.exec(specifier)?.[1];
      const both = asked === '' ? specifier : `${asked},${specifier}`;
      const allowed = allowedVersions(name, { specifier: both, ...(exact === undefined ? {} : { exact }) });
      if (allowed)
        put(
          VERSION_FIELDS[name],
          allowed,
          say('{0} {1} is installed, and requires {2}', 'vLLM', release, `${name} ${specifier}`),
          true,
        );
    }
  }
}
