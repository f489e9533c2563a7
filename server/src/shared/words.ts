/** Figures and names in the language of the person. Part of the door through which the client sees the engine. */

export { breakdownOutcome } from '../features/breakdown-outcome';
export { formatValue } from '../results/detail-words';
export {
  CATEGORY_LABELS,
  foundBatchLabel,
  HOST_MOMENT_LABELS,
  joinWords,
  MOMENT_LABELS,
  mayNotFit,
  shortCardName,
  shortModelName,
  tokensOfVerdict,
  trainedLabel,
  VERDICT_LABELS,
  verdictAt,
  verdictLabel,
} from '../results/labels';
export { formatDuration, formatUsd, threeFigures, timeFacts } from '../results/time-labels';
export { compareVerdicts } from '../results/verdict-order';
export { fieldLabel } from '../run/field-labels';
export { unreadSentence } from '../run/unread';
export {
  decimal,
  FIGURE_UNIT,
  formatBytes,
  formatBytesOf,
  formatCount,
  formatFlops,
  formatInteger,
  significant,
  unbrokenFigures,
} from '../wording/figures';
export { type Bundle, numeral, say, speak } from '../wording/say';
export { plainNumber } from '../wording/typed-number';
