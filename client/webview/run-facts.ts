import type { Breakdown } from '../../server/src/features/protocol';
import { formatBytes, formatCount, formatFlops, formatInteger } from '../../server/src/wording/figures';
import { HOST_MOMENT_LABELS, trainedLabel } from '../../server/src/wording/labels';
import { timeFacts } from '../../server/src/wording/time';
import { button, h } from './element';

interface RunFact {
  readonly name: string;
  readonly value: string;
  readonly detail?: string;
}

/** Model, hardware and work of the run, as far as they are known. */
export function runFacts(breakdown: Breakdown): RunFact[] {
  const { model, hardware, compute, host, hostBytesPerNode, hostParts } = breakdown;
  const facts: RunFact[] = [];
  if (model) {
    const trained = trainedLabel(model);
    const active =
      model.activeParameters === model.totalParameters
        ? ''
        : `, ${formatCount(model.activeParameters)} active per token`;
    facts.push(
      { name: 'Model', value: model.id || model.modelType, detail: model.id ? model.modelType : undefined },
      { name: 'Parameters', value: formatCount(model.totalParameters), detail: `${trained}${active}` },
    );
  }
  if (hardware) {
    facts.push({
      name: 'Hardware',
      value: `${hardware.gpus} × ${hardware.gpu}`,
      detail: `${hardware.nodes === 1 ? 'one node' : `${hardware.nodes} nodes`}, ${formatBytes(hardware.capacityBytes)} usable per GPU`,
    });
  }
  if (compute) {
    const recomputed = compute.flopsPerStep > compute.modelFlopsPerStep;
    facts.push(
      {
        name: 'Work per step',
        value: formatFlops(compute.flopsPerStep),
        detail: recomputed
          ? `${formatFlops(compute.modelFlopsPerStep)} without recomputation`
          : 'over all GPUs',
      },
      { name: 'Tokens per step', value: formatInteger(compute.tokensPerStep) },
    );
    if (compute.pflopDaysTotal !== undefined) {
      facts.push({
        name: 'Whole run',
        value: `${significant(compute.pflopDaysTotal)} PFLOP-days`,
        detail: `${significant(compute.pflopDaysPerStep)} per step`,
      });
    }
  }
  if (compute) facts.push(...timeFacts(compute));
  if (hostBytesPerNode > 0) {
    facts.push({
      name: 'Host memory',
      value: `${formatBytes(hostBytesPerNode)} per node${host ? ` ${HOST_MOMENT_LABELS[host.moment]}` : ''}`,
      detail: hostParts.map(({ label, bytes }) => `${label} ${formatBytes(bytes)}`).join(', ') || undefined,
    });
  }
  if (breakdown.peak) {
    facts.push({
      name: 'In PyTorch’s terms',
      value: `${formatBytes(breakdown.peak.allocatedBytes)} allocated`,
      detail: `${formatBytes(breakdown.peak.reservedBytes)} reserved, ${formatBytes(breakdown.peak.processBytes)} in nvidia-smi`,
    });
  }
  return facts;
}

/** `opener`: what goes to the formula behind a fact, where there is one. */
export function factList(
  facts: readonly RunFact[],
  opener: (name: string) => (() => void) | undefined = () => undefined,
): HTMLElement {
  return h(
    'dl',
    { class: 'facts' },
    ...facts.map(({ name, value, detail }) => {
      const open = opener(name);
      const shown = open
        ? button(value, { class: 'link', 'data-key': `fact-${name}`, title: 'How it comes about' }, open)
        : value;
      return h(
        'div',
        {},
        h('dt', {}, name),
        h('dd', {}, shown, detail ? h('span', { class: 'fact-detail quiet' }, detail) : null),
      );
    }),
  );
}

function significant(value: number): string {
  return value >= 100 ? formatInteger(value) : String(Number(value.toPrecision(3)));
}
