import type { Breakdown, Knob } from '../../server/src/shared/protocol';
import type { PanelState } from './panel-state';
import { t } from './strings';
import { knobLabel, positionLabel } from './try-controls';

/** The run whose figures are in view. */
export interface ShownRun {
  readonly breakdown: Breakdown;
  /** The run as the files state it, where another is tried in its place. */
  readonly before: Breakdown | undefined;
}

/** The run that is tried, once its figures have come; else that of the files. */
export function shownRun(base: Breakdown, { isTurned, tried }: PanelState): ShownRun {
  const breakdown = isTurned ? tried?.breakdown : undefined;
  return breakdown ? { breakdown, before: base } : { breakdown: base, before: undefined };
}

/** `Micro batch 8 → 1`, after the name of the fix below it; undefined where nothing is tried. */
export function triedText({ knobs = [] }: Breakdown, { fix, turned }: PanelState): string | undefined {
  const changes = knobs.flatMap((knob) => {
    const to = turned[knob.id];
    return to === undefined
      ? []
      : [t('changedFrom', knobLabel(knob.id), positionLabel(knob, knob.value), positionLabel(knob, to))];
  });
  const all = [...(fix ? [fix.name] : []), ...changes];
  return all.length > 0 ? all.join(', ') : undefined;
}

/**
 * `Micro batch: 1 · Sequence length: 4,096 · Sharding: ZeRO-3`: where the knobs stand that count for the run in view. Nothing below a fix, which
 * changes more than knobs know of.
 */
export function settingsLine({ knobs = [] }: Breakdown, { fix, turned }: PanelState): string {
  if (fix) return '';
  const at = (knob: Knob) => turned[knob.id] ?? knob.value;
  return knobs
    .filter(({ id }) => id !== 'gpu' && id !== 'gpus')
    .filter((knob) => {
      const other = knob.kind === 'number' && knobs.find(({ id }) => id === knob.needs?.knob);
      return !other || (knob.kind === 'number' && knob.needs?.values.includes(String(at(other))));
    })
    .map((knob) => `${knobLabel(knob.id)}: ${positionLabel(knob, at(knob))}`)
    .join(' · ');
}

/** The same as a sentence. */
export function triedLine(base: Breakdown, state: PanelState): string | undefined {
  const text = triedText(base, state);
  return text && t('trying', text);
}
