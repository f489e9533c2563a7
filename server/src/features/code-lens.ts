import { joinWords, outcomeLabel, shortModelName } from '../results/labels';
import { stepLabel } from '../results/time-labels';
import { fieldLabel } from '../run/field-labels';
import type { Range } from '../text/place';
import { formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { ESTIMATE_COMMAND, type EstimateArguments, SUPPLY_COMMAND, type SupplyArguments } from './protocol';

export interface Lens {
  readonly range: Range;
  readonly title: string;
  readonly command: typeof ESTIMATE_COMMAND | typeof SUPPLY_COMMAND;
  readonly argument: EstimateArguments | SupplyArguments;
}

const FIRST_LINE: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

/** One lens on the first line: the answer, or what is missing before there can be one. */
export function codeLens(analysis: Analysis): Lens | undefined {
  const { uri, resolved, estimate } = analysis;
  if (estimate) {
    return { range: FIRST_LINE, title: answer(analysis), command: ESTIMATE_COMMAND, argument: { uri } };
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

function answer(analysis: Analysis): string {
  const { estimate, resolved } = analysis;
  const phrases: string[] = [];
  const model = analysis.model?.id ?? resolved.values['model.id'];
  if (model) {
    phrases.push(shortModelName(model));
  }
  const gpu = analysis.accelerator?.name ?? resolved.values['hardware.gpu'];
  if (gpu) {
    phrases.push(`${resolved.values['hardware.gpus'] ?? 1}×${gpu}`);
  }
  if (estimate) {
    phrases.push(say('peak {0}', formatBytesOf(estimate.peak.processBytes, estimate.capacityBytes)));
    phrases.push(outcomeLabel(estimate));
    phrases.push(stepLabel(estimate.compute));
    const count = analysis.unread?.length ?? 0;
    if (count > 0) phrases.push(say('{0} {0|thing|things} not understood', count));
  }
  return phrases.join(' · ');
}
