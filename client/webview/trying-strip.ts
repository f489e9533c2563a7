import type { Breakdown, Planned } from '../../server/src/shared/protocol';
import { button, figuresKept, h } from './element';
import { changedFiles } from './fix-cards';
import { verdictText } from './headline';
import { codeSentence, withinSentence } from './sentence';
import { t } from './strings';

interface StripOptions {
  /** `Micro batch 8 → 1`; undefined where nothing is tried. */
  readonly trying: string | undefined;
  /** The run as the files say it. */
  readonly base: Breakdown;
  /** What is tried, once its figures have come. */
  readonly tried: Breakdown | undefined;
  /** The way back and forth; undefined where there is none. */
  readonly onUndo: (() => void) | undefined;
  readonly onRedo: (() => void) | undefined;
  readonly problem: string | undefined;
  /** What would be written; undefined while that is looked at. */
  readonly plan: Planned | undefined;
  readonly outcome: ApplyOutcome | undefined;
  readonly onApply: () => void;
  readonly onReset: () => void;
  readonly onClose: () => void;
}

/** What became of the last change. */
export interface ApplyOutcome {
  readonly text: string;
  /** What is still to be done by hand. */
  readonly byHand: readonly string[];
}

/** What is tried, whether and where it can be written, and the way back: always in view while the figures are not those of the file. */
export function tryingStrip(options: StripOptions): Node[] {
  const { trying, base, tried, problem, plan, outcome } = options;
  const steps = [
    options.onUndo && button(t('undo'), { class: 'secondary', 'data-key': 'undo' }, options.onUndo),
    options.onRedo && button(t('redo'), { class: 'secondary', 'data-key': 'redo' }, options.onRedo),
  ].filter((one) => one !== undefined);
  if (trying === undefined) {
    if (outcome) return outcomeNodes(outcome, options.onClose);
    return steps.length > 0
      ? [h('p', { class: 'buttons' }, h('span', { class: 'quiet' }, t('nothingTried')), ...steps)]
      : [];
  }
  const files = plan?.files ?? [];
  const writable = files.length > 0;
  const onlyNotes = writable && files.every(({ note }) => note);
  const apply = button(
    onlyNotes
      ? t('noteIn', files[0]?.name ?? '')
      : files.length > 1
        ? t('applyToFiles', files.length)
        : t('applyToFile'),
    { 'data-key': 'apply' },
    options.onApply,
  );
  apply.disabled = !writable;
  return [
    h(
      'p',
      {},
      h('strong', {}, t('trying', trying), '.'),
      ' ',
      tried ? h('span', { class: 'tried-verdict' }, ...figuresKept(verdictText(tried)), '. ') : null,
      h('span', { class: 'quiet' }, ...figuresKept(t('inTheFile', withinSentence(verdictText(base))))),
    ),
    outcome ? h('p', { class: 'problem' }, outcome.text) : null,
    problem ? h('p', { class: 'problem' }, t('cannotTry', problem)) : null,
    plan && !writable && !problem ? h('p', {}, t('whatIfOnly')) : null,
    ...(plan?.left ?? []).map(({ reason }) => h('p', { class: 'quiet' }, t('notWritten', reason))),
    ...(plan?.byHand ?? []).map((line) =>
      h('p', { class: 'by-hand' }, t('byHand'), ' ', ...codeSentence(withinSentence(line))),
    ),
    writable ? changedFiles(files, 'plan-files') : null,
    h(
      'p',
      { class: 'buttons' },
      apply,
      button(t('reset'), { class: 'secondary', 'data-key': 'reset' }, options.onReset),
      ...steps,
    ),
  ].filter((node) => node !== null);
}

function outcomeNodes({ text, byHand }: ApplyOutcome, onClose: () => void): Node[] {
  return [
    h('p', {}, text),
    ...byHand.map((line) =>
      h('p', { class: 'by-hand' }, t('byHand'), ' ', ...codeSentence(withinSentence(line))),
    ),
    h(
      'p',
      { class: 'buttons' },
      button(t('close'), { class: 'secondary', 'data-key': 'close-outcome' }, onClose),
    ),
  ];
}
