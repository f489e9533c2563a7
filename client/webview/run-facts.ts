import type { Breakdown } from '../../server/src/shared/protocol';
import {
  formatBytes,
  formatCount,
  formatFlops,
  formatInteger,
  HOST_MOMENT_LABELS,
  significant,
  timeFacts,
  trainedLabel,
} from '../../server/src/shared/words';
import { button, figuresKept, h } from './element';
import { t, translated } from './strings';

interface RunFact {
  readonly name: string;
  readonly value: string;
  readonly detail?: string;
  /** `id` of the figure that it opens. */
  readonly figure?: string;
}

/** Model, hardware and work of the run, as far as they are known. */
export function runFacts({ model, hardware, compute, host, peak }: Breakdown): RunFact[] {
  return [
    ...(model ? modelFacts(model) : []),
    ...(hardware ? [hardwareFact(hardware)] : []),
    ...(compute ? [...workFacts(compute), ...timeFacts(compute)] : []),
    ...(host && host.bytesPerNode > 0 ? [hostFact(host)] : []),
    ...(peak ? [allocatorFact(peak)] : []),
  ];
}

/** One part of a breakdown, where it is known. */
type Known<K extends keyof Breakdown> = NonNullable<Breakdown[K]>;

function modelFacts(model: Known<'model'>): RunFact[] {
  const active =
    model.activeParameters === model.totalParameters
      ? undefined
      : t('activePerToken', formatCount(model.activeParameters));
  return [
    {
      name: t('model'),
      value: model.id || model.modelType,
      detail: model.id && model.id !== model.modelType ? model.modelType : undefined,
    },
    {
      name: t('parameters'),
      figure: 'parameters',
      value: formatCount(model.totalParameters),
      detail: [trainedLabel(model), active].filter((part) => part !== undefined).join(', '),
    },
  ];
}

function hardwareFact(hardware: Known<'hardware'>): RunFact {
  return {
    name: t('hardware'),
    figure: 'usable memory',
    value: `${hardware.gpus} × ${hardware.gpu}`,
    detail: t(
      'hardwareDetail',
      hardware.nodes === 1 ? t('oneNode') : t('nodes', hardware.nodes),
      formatBytes(hardware.capacityBytes),
    ),
  };
}

function workFacts(compute: Known<'compute'>): RunFact[] {
  const recomputed = compute.flopsPerStep > compute.modelFlopsPerStep;
  const facts: RunFact[] = [
    {
      name: t('work'),
      figure: 'FLOPs per step',
      value: formatFlops(compute.flopsPerStep),
      detail: recomputed
        ? t('withoutRecomputation', formatFlops(compute.modelFlopsPerStep))
        : t('overAllGpus'),
    },
    { name: t('tokensPerStep'), figure: 'tokens per step', value: formatInteger(compute.tokensPerStep) },
  ];
  if (compute.pflopDaysTotal !== undefined) {
    facts.push({
      name: t('wholeRun'),
      figure: 'FLOPs of the run',
      value: t('pflopDays', rough(compute.pflopDaysTotal)),
      detail: t('perStep', rough(compute.pflopDaysPerStep)),
    });
  }
  return facts;
}

function hostFact(host: Known<'host'>): RunFact {
  const parts = host.parts.map(({ label, bytes }) => `${translated(label)} ${formatBytes(bytes)}`);
  return {
    name: t('hostMemory'),
    figure: 'host memory',
    value: t('hostText', formatBytes(host.bytesPerNode), translated(HOST_MOMENT_LABELS[host.moment])).trim(),
    detail: parts.join(', ') || undefined,
  };
}

/** What the allocator's tensors take, and beside them what it reserves and the process has. */
function allocatorFact(peak: Known<'peak'>): RunFact {
  return {
    name: t('pytorch'),
    figure: 'process',
    value: t('allocated', formatBytes(peak.allocatedBytes)),
    detail: t('reserved', formatBytes(peak.reservedBytes), formatBytes(peak.processBytes)),
  };
}

/** `opener`: what goes to the formula behind a fact, where there is one. */
export function factList(facts: readonly RunFact[], opener?: (figure: string) => void): HTMLElement {
  return h(
    'dl',
    { class: 'facts' },
    ...facts.map(({ name, value, detail, figure }) => {
      const open = opener && figure !== undefined ? () => opener(figure) : undefined;
      const shown = open
        ? button('', { class: 'link', 'data-key': `fact-${figure}`, title: t('howItComes') }, open)
        : value;
      if (shown instanceof HTMLElement) shown.append(...figuresKept(value));
      return h(
        'div',
        {},
        h('dt', {}, name),
        h('dd', {}, shown, detail ? h('span', { class: 'fact-detail quiet' }, ...figuresKept(detail)) : null),
      );
    }),
  );
}

function rough(value: number): string {
  return value >= 100 ? formatInteger(value) : significant(value, 3);
}
