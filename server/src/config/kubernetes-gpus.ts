import { askedBy } from './asked-by';
import type { AskedValue } from './job-manifest';
import { entryOf, mapAt, nodeAt } from './lookup';
import type { MapEntry, MapNode } from './node';
import { integerOf, textOf } from './scalar';

/** Extended resources that are GPUs of any name. */
const GPUS = /^(?:nvidia|amd)\.com\/gpu$/;
/** A slice of a GPU by its profile, under the mixed strategy (https://docs.nvidia.com/datacenter/cloud-native/kubernetes/latest/index.html). */
const SLICE = /^nvidia\.com\/mig-(\d+g\.\d+gb)$/;
/**
 * A GPU, or a slice of one, that pods take turns on: its memory is that of all of them together
 * (https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus, `renameByDefault`).
 */
const SHARED = /^nvidia\.com\/([\w.-]+\.shared)$/;
/** Clusters that name their resources for the GPU, as NVIDIA's plugin allows it: `nvidia.com/a100`, `nvidia.com/rtxa6000`. */
const CARD =
  /^(?:nvidia|amd)\.com\/((?:(?:tesla|geforce|quadro)-)?(?:(?:rtx|gtx)-?a?\d{3,4}|(?:gh|gb|mi|[abhlptv])\d{1,4})[a-z]{0,2}(?:-(?:sxm\d?|pcie|nvl|\d+gb))*)$/i;

/** Labels of nodes that name their GPU: of Google's clusters, NVIDIA's feature discovery, Karpenter, EKS and EC2's autoscaler. */
export const CARD_LABELS = [
  'cloud.google.com/gke-accelerator',
  'nvidia.com/gpu.product',
  'karpenter.k8s.aws/instance-gpu-name',
  'eks.amazonaws.com/instance-gpu-name',
  'k8s.amazonaws.com/accelerator',
];
export const INSTANCE_LABELS = ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'];

/** GPUs that a container asks for. */
interface AskedGpus {
  readonly entry: MapEntry;
  /** The GPU that the name of the resource states. */
  readonly card?: AskedValue;
  /** The profile of the slices that they are. */
  readonly slice?: AskedValue;
}

export function gpusOf(container: MapNode): AskedGpus | undefined {
  for (const path of [
    ['resources', 'limits'],
    ['resources', 'requests'],
    ['resourcesPerNode', 'limits'],
    ['resourcesPerNode', 'requests'],
  ])
    for (const entry of mapAt(container, path)?.entries ?? []) {
      const { key, value } = entry;
      if (!((integerOf(value) ?? Number(textOf(value))) > 0)) continue;
      const named = (text: string | undefined) =>
        text === undefined ? undefined : { key, text, range: value.range };
      const slice = named((SHARED.exec(key) ?? SLICE.exec(key))?.[1]);
      const card = named(CARD.exec(key)?.[1]);
      if (slice || card || GPUS.test(key))
        return { entry, ...(card ? { card } : {}), ...(slice ? { slice } : {}) };
    }
  return undefined;
}

/** Nodes of Google's clusters whose GPUs pods take turns on (https://docs.cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus). */
export const SHARING_LABELS = ['cloud.google.com/gke-gpu-sharing-strategy'];

/**
 * The profile of a slice in the label of a node whose GPUs are all cut alike: `NVIDIA-A100-SXM4-80GB-MIG-3g.40gb`; the label itself where pods take
 * turns on them: `Tesla-T4-SHARED`.
 */
export function sliceOfLabel(label: AskedValue | undefined): AskedValue | undefined {
  const [, profile = /-SHARED$/i.test(label?.text ?? '') ? label?.text : undefined] =
    /-MIG-(\d+g\.\d+gb)$/i.exec(label?.text ?? '') ?? [];
  return label && profile !== undefined ? { ...label, text: profile } : undefined;
}

/** The value of a label that nodes must have, by `nodeSelector` or as the one value of a required affinity. */
export function labelled(spec: MapNode, labels: readonly string[]): AskedValue | undefined {
  const selector = mapAt(spec, ['nodeSelector']);
  const selected = labels.flatMap((label) => entryOf(selector, label) ?? [])[0];
  if (selected) return askedBy(selected);
  const terms = nodeAt(spec, [
    'affinity',
    'nodeAffinity',
    'requiredDuringSchedulingIgnoredDuringExecution',
    'nodeSelectorTerms',
  ]);
  if (terms?.kind !== 'list' || terms.items.length !== 1) return undefined;
  const wanted = nodeAt(terms.items[0], ['matchExpressions']);
  for (const one of wanted?.kind === 'list' ? wanted.items : []) {
    const values = nodeAt(one, ['values']);
    const key = textOf(nodeAt(one, ['key'])) ?? '';
    const [value, ...others] = values?.kind === 'list' ? values.items : [];
    if (!labels.includes(key) || textOf(nodeAt(one, ['operator'])) !== 'In' || !value || others.length > 0)
      continue;
    return { key, text: textOf(value) ?? '', range: value.range };
  }
  return undefined;
}
