import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { HoverText } from './hover-text';
import { ESTIMATE_COMMAND, type EstimateArguments } from './protocol';

/** A hover that leads on to the panel, where every figure opens; for editors that have its command. */
export function withBreakdown(text: HoverText, { uri, estimate }: Analysis): HoverText {
  if (!estimate) return text;
  const argument: EstimateArguments = { uri };
  const query = encodeURIComponent(JSON.stringify([argument]));
  const link = `[${say('Open the memory breakdown')}](command:${ESTIMATE_COMMAND}?${query})`;
  return { ...text, markdown: `${text.markdown}\n\n${link}` };
}
