import { rememberedOf } from '../memo/remembered';
import { hasSoundMemory } from '../results/soundness';
import { fieldLabel } from '../run/field-labels';
import { FIELDS, type FieldPath, type FieldSpec } from '../run/fields';
import { isAssumed, sameValue } from '../run/resolve';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { byEffect, isDeciding, type OpenAnswer } from '../workspace/open-questions';
import { type Estimated, isEstimated, tryChanges } from './changed-run';
import { LEVERS, type Lever, type Setting, turnedBy } from './knobs';
import { codeTakes, leavesQuantization, trainingTakes } from './training-takes';

const kept = rememberedOf<Analysis, readonly OpenAnswer[]>(1);

/**
 * What a run hangs on and nobody states, those that move the peak most first: the open questions of its files, and every switch
 * that stands where it does only because something has to be assumed, with the value that would change most. Some twenty
 * estimates, remembered: for those who ask.
 */
export function decisionsOf(analysis: Analysis): readonly OpenAnswer[] {
  return kept.of(analysis, '', () => {
    const { answers = [] } = analysis;
    if (!isEstimated(analysis)) return answers;
    const open = new Set<FieldPath>(answers.map(({ field }) => field));
    const assumed = LEVERS.filter((lever) => isSwitch(lever) && !open.has(lever.field));
    const found = assumed.flatMap((lever) => assumption(analysis, lever) ?? []);
    return each(byEffect([...answers, ...found], analysis.estimate));
  });
}

/** One of those that are turned together: kernels and the loss that comes with them. */
function each(ranked: readonly OpenAnswer[]): OpenAnswer[] {
  const turned = new Set<string>();
  return ranked.filter(({ field, otherwise }) => {
    const fields = [field, ...Object.keys(otherwise?.changes ?? {})];
    const isNew = fields.every((other) => !turned.has(other));
    for (const other of fields) turned.add(other);
    return isNew;
  });
}

function isSwitch({ field }: Lever): boolean {
  const spec: FieldSpec = FIELDS[field];
  return spec.type === 'flag' || spec.type === 'choice';
}

/** A switch that is on or off, or the name of its position. */
function words({ label }: Setting): string {
  return label === 'true' ? say('on') : label === 'false' ? say('off') : label;
}

function assumption(analysis: Estimated, lever: Lever): OpenAnswer | undefined {
  const { origins, run } = analysis.resolved;
  if (!run || !isAssumed(origins[lever.field])) return undefined;
  if (lever.field === 'quantization.kind' && !leavesQuantization(analysis)) return undefined;
  const settings = lever.settings(analysis);
  const isPresent = ({ changes }: Setting) =>
    Object.entries(changes).every(([field, value]) => sameValue(run[field as FieldPath], value));
  const present = settings.find(isPresent);
  if (!present) return undefined;
  const others = settings.flatMap((setting, at): OpenAnswer[] => {
    const turned = turnedBy(setting, run);
    if (setting === present || !trainingTakes(analysis, setting.changes, turned)) return [];
    if (!codeTakes(analysis, setting.changes, turned)) return [];
    const trial = tryChanges(analysis, setting.changes);
    if (!trial || !hasSoundMemory(trial.estimate)) return [];
    const { verdict, peak } = trial.estimate;
    // A verdict over several answers is no measure of one alone: the run as it stands has one, too.
    const alone = () => tryChanges(analysis, {})?.estimate ?? analysis.estimate;
    if (!isDeciding({ verdict, ...peak }, analysis.estimate) || !isDeciding({ verdict, ...peak }, alone()))
      return [];
    const { processBytes, lowerBytes, upperBytes } = peak;
    // Settings stand in order of what they take: one that is meant to save, and would not, is chosen by nobody.
    if (at > settings.indexOf(present) && processBytes > analysis.estimate.peak.processBytes) return [];
    return [
      {
        field: lever.field,
        reason: say('Assumed {0}: {1}.', fieldLabel(lever.field), words(present)),
        otherwise: { changes: setting.changes, words: words(setting) },
        estimate: { verdict, processBytes, lowerBytes, upperBytes },
      },
    ];
  });
  return byEffect(others, analysis.estimate)[0];
}
