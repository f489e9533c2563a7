import type { ConfigDocument } from '../config/node';
import type { Estimate, HostMoment } from '../results/estimate';
import { hostMomentLabel, joinWords } from '../results/labels';
import type { FieldPath } from '../run/fields';
import type { ResolvedRun } from '../run/resolved-run';
import type { Problem } from '../text/problem';
import { formatBytes, formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import { firstKey, keyRange } from './verdict';

const OFFLOAD: readonly FieldPath[] = [
  'offload.optimizer',
  'offload.parameters',
  'activations.offload',
  'offload.pinMemory',
  'optimizer.name',
];

/** Keys that decide how much host memory is needed at a moment, the one to change first. */
const MOMENT_FIELDS: Readonly<Record<HostMoment, readonly FieldPath[]>> = {
  loading: [
    'loading.hostCopies',
    'loading.newWeights',
    'loading.placement',
    'parallel.data',
    'precision.weights',
    'model.id',
  ],
  training: OFFLOAD,
  evaluation: ['evaluation.predictions', 'evaluation.samples', ...OFFLOAD],
  saving: ['saving.weights', ...OFFLOAD],
};

/** A warning where the run states how much host memory a node has and needs more; nothing else is known to fail. */
export function hostProblem(
  { host }: Estimate,
  resolved: ResolvedRun,
  document: ConfigDocument,
): Problem | undefined {
  if (host.verdict !== 'exceeds' || host.capacityBytes === undefined) return undefined;
  const fields = [...MOMENT_FIELDS[host.moment], 'hardware.hostMemory'] as const;
  const range = fields
    .map((field) => resolved.origins[field])
    .find((origin) => origin?.kind === 'file' && origin.location?.uri === document.uri);
  const heaviest = [...host.parts].sort((a, b) => b.bytes - a.bytes).slice(0, 2);
  const parts = joinWords(heaviest.map(({ label, bytes }) => `${say(label)} ${formatBytes(bytes)}`));
  return {
    code: 'host-memory',
    severity: 'warning',
    message: say(
      'Host memory: each node needs {0} {1}; most of it {2}.',
      formatBytesOf(host.bytesPerNode, host.capacityBytes),
      hostMomentLabel(host.moment),
      parts,
    ),
    range: (range && keyRange(range, document)) ?? firstKey(document),
    data: { moment: host.moment, missingBytes: host.bytesPerNode - host.capacityBytes },
  };
}
