import type { FileChange, FixCard } from '../../server/src/shared/protocol';
import { formatBytes } from '../../server/src/shared/words';
import { button, h } from './element';
import { codeSentence, inlineCode } from './sentence';
import { t } from './strings';

/** Seen without unfolding: what a glance takes in. */
const SHOWN = 3;

interface FixCardsOptions {
  /** Undefined while they are searched for. */
  readonly fixes: readonly FixCard[] | undefined;
  /** They are those of an earlier text: the new ones are on their way. */
  readonly stale: boolean;
  readonly capacityBytes: number;
  /** Id of the one that is tried. */
  readonly tried: string | undefined;
  readonly onTry: (fix: FixCard) => void;
  readonly onApply: (fix: FixCard) => void;
}

/** Changes that are known to make the run fit, as cards: how far each lowers the peak, what it costs, and what it writes. */
export function fixCards(options: FixCardsOptions): HTMLElement {
  const { fixes, stale } = options;
  const title = h('h2', {}, t('makeItFit'));
  if (!fixes)
    return h('section', { class: 'fixes' }, title, h('p', { class: 'quiet' }, t('lookingForFixes')));
  if (fixes.length === 0) return h('section', { class: 'fixes' }, title, h('p', {}, t('noFix')));
  const longest = Math.max(options.capacityBytes, ...fixes.map(({ beforeBytes }) => beforeBytes));
  const cards = (from: number, to?: number) =>
    h(
      'ul',
      { class: 'fix-list plain' },
      ...fixes.slice(from, to).map((fix, index) => card(fix, from + index, longest, options)),
    );
  return h(
    'section',
    { class: stale ? 'fixes stale' : 'fixes' },
    title,
    cards(0, SHOWN),
    fixes.length > SHOWN &&
      h(
        'details',
        { 'data-key': 'more-fixes' },
        h('summary', {}, t('moreFixes', fixes.length - SHOWN)),
        cards(SHOWN),
      ),
  );
}

function card(
  fix: FixCard,
  index: number,
  longest: number,
  { capacityBytes, tried, stale, onTry, onApply }: FixCardsOptions,
): HTMLElement {
  const isTried = tried === fix.id;
  const tryIt = button(
    t('tryFix'),
    { class: 'secondary', 'data-key': `try-fix-${index}`, 'aria-pressed': String(isTried) },
    () => onTry(fix),
  );
  tryIt.setAttribute('aria-label', t('tryFixNamed', fix.name));
  const onlyNotes = fix.files.every(({ note }) => note);
  const label = onlyNotes ? t('noteIt') : t('apply');
  const apply = button(label, { 'data-key': `apply-fix-${index}` }, () => onApply(fix));
  apply.setAttribute('aria-label', t('applyFixNamed', label, fix.name));
  tryIt.disabled = stale;
  apply.disabled = stale;
  return h(
    'li',
    { class: isTried ? 'fix tried' : 'fix' },
    h('h3', {}, fix.name),
    peakBar(fix, longest, capacityBytes),
    h(
      'p',
      { class: 'fix-figures' },
      h('strong', {}, t('becomes', formatBytes(fix.beforeBytes), formatBytes(fix.afterBytes))),
      ...[fix.speed, fix.costs].flatMap((word) => (word ? [' · ', word] : [])),
    ),
    fix.byHand.length > 0
      ? h('p', { class: 'by-hand' }, t('byHand'), ' ', ...joined(fix.byHand.map(shortOf)))
      : null,
    h('p', { class: 'buttons' }, apply, tryIt),
    changedFiles(fix.files, `fix-files-${index}`, fix.byHand),
  );
}

/** Before and after against what the GPU offers; the figures beside it say the same. */
function peakBar(
  { beforeBytes, afterBytes, verdict }: FixCard,
  longest: number,
  capacityBytes: number,
): HTMLElement {
  const part = (name: string, bytes: number) => {
    const element = h('span', { class: name });
    element.style.setProperty('--share', `${(100 * bytes) / longest}%`);
    return element;
  };
  return h(
    'div',
    { class: `fix-bar ${verdict}`, 'aria-hidden': 'true' },
    part('fix-before', beforeBytes),
    part('fix-after', afterBytes),
    part('fix-limit', capacityBytes),
  );
}

/** The argument that a sentence is about, which comes first in it; the sentence where it names none. */
function shortOf(line: string): Node | string {
  const argument = /`([^`]+)`/.exec(line)?.[1];
  return argument === undefined ? line : inlineCode(argument);
}

const joined = (nodes: readonly (Node | string)[]) =>
  nodes.flatMap((node, index) => (index > 0 ? [', ', node] : [node]));

/** Every file that is written, with its lines on demand, and what is done by hand in full. */
export function changedFiles(
  files: readonly FileChange[],
  key: string,
  byHand: readonly string[] = [],
): HTMLElement {
  const names = files.map(({ name, note, create }) =>
    note ? t('noteInFile', name) : create ? t('createsFile', name) : name,
  );
  return h(
    'details',
    { class: 'changed-files', 'data-key': key },
    h('summary', {}, t('writes', names.join(', '))),
    ...byHand.map((line) => h('p', { class: 'by-hand' }, ...codeSentence(line))),
    ...files.map(({ name, removed, added }) =>
      h(
        'div',
        {},
        files.length > 1 ? h('p', { class: 'quiet' }, name) : null,
        h(
          'pre',
          {},
          ...removed.map((line) => h('del', {}, `- ${line}\n`)),
          ...added.map((line) => h('ins', {}, `+ ${line}\n`)),
        ),
      ),
    ),
  );
}
