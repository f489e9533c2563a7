import type { Estimate } from '../results/estimate';
import {
  foundBatchLabel,
  joinWords,
  mayNotFit,
  shortCardName,
  shortModelName,
  tokensOfVerdict,
} from '../results/labels';
import { stepLabel } from '../results/time-labels';
import { fieldLabel } from '../run/field-labels';
import { unreadSentence } from '../run/unread';
import { isOpenOnly } from '../terms/unmodelled-features';
import type { Range } from '../text/place';
import { formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { answerSentence } from '../workspace/open-questions';
import { verdictSeverity } from '../workspace/verdict-severity';
import {
  ESTIMATE_COMMAND,
  type EstimateArguments,
  type JudgedLens,
  SUPPLY_COMMAND,
  type SupplyArguments,
} from './protocol';
import { status } from './status';

export interface Lens {
  readonly range: Range;
  readonly title: string;
  readonly tooltip?: string;
  /** How the run comes out, where the line has that. */
  readonly judged?: JudgedLens;
  readonly command: typeof ESTIMATE_COMMAND | typeof SUPPLY_COMMAND;
  readonly argument: EstimateArguments | SupplyArguments;
}

const FIRST_LINE: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

/** More than this nobody reads while pointing: the panel has all. */
const MOST_ANSWERS = 3;

/** One lens on the first line: the answer, or what is missing before there can be one. */
export function codeLens(analysis: Analysis): Lens | undefined {
  const { uri, resolved, estimate } = analysis;
  if (estimate) {
    return {
      range: FIRST_LINE,
      title: answer(analysis, estimate),
      tooltip: tooltipOf(analysis),
      judged: { verdict: estimate.verdict, severity: verdictSeverity(analysis) },
      command: ESTIMATE_COMMAND,
      argument: { uri },
    };
  }
  if (analysis.broken) {
    return {
      range: FIRST_LINE,
      title: say('Oomlint: fix the syntax first'),
      command: ESTIMATE_COMMAND,
      argument: { uri },
    };
  }
  const fields = [...new Set(resolved.unknown.map((unknown) => unknown.field))];
  if (fields.length === 0) {
    return undefined;
  }
  return {
    range: FIRST_LINE,
    title: say('Oomlint: needs {0} to estimate', joinWords(fields.map(fieldLabel))),
    command: SUPPLY_COMMAND,
    argument: { uri, fields },
  };
}

/** The verdict first, in few words: beside a panel an editor shows 60 characters of the line, and what others say follows it. */
function answer(analysis: Analysis, present: Estimate): string {
  const { resolved, model, accelerator, unread = [] } = analysis;
  const id = model?.id ?? resolved.values['model.id'];
  const gpu = accelerator?.name ?? resolved.values['hardware.gpu'];
  const phrases = [
    outcomeWords(present, analysis),
    present.foundBatch && foundBatchLabel(present.foundBatch),
    id && shortModelName(id),
    gpu && `${resolved.values['hardware.gpus'] ?? 1}×${shortCardName(gpu)}`,
    stepLabel(present.compute),
    unread.length > 0 ? say('{0} {0|thing|things} not understood', unread.length) : undefined,
  ];
  return phrases.filter((phrase) => phrase).join(' · ');
}

/** `Does not fit: 175.8 of 79.3 GiB`, and at which length of samples, where shorter ones fit: no other verdict asks for that. */
export function outcomeWords(estimate: Estimate, analysis: Pick<Analysis, 'answers'>): string {
  const { verdict, peak, capacityBytes } = estimate;
  const figures = formatBytesOf(peak.processBytes, capacityBytes);
  if (mayNotFit(verdict, peak.processBytes, capacityBytes)) return say('May not fit: {0}', figures);
  switch (verdict) {
    case 'fits':
      return say('Fits: {0}', figures);
    case 'tight':
      return say('Tight: {0}', figures);
    case 'exceeds': {
      const atTokens = tokensOfVerdict(analysis.answers);
      return atTokens === undefined
        ? say('Does not fit: {0}', figures)
        : say('Does not fit at {0} tokens: {1}', atTokens, figures);
    }
    case 'unknown':
      return isOpenOnly(estimate.unmodelled)
        ? say('No verdict: {0} and what is not known', figures)
        : say('No verdict: {0} and what is not modelled', figures);
  }
}

/** What the line has no room for: the band, the moment of the peak, and what the answer hangs on. */
function tooltipOf(analysis: Analysis): string {
  const { answers = [], unread = [] } = analysis;
  return [
    status(analysis).detail,
    ...answers.slice(0, MOST_ANSWERS).map(answerSentence),
    unreadSentence(unread),
  ]
    .filter((line) => line !== '')
    .join('\n')
    .replaceAll('`', '');
}
