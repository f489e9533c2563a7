import type { AskedValue, MachinesAsked } from '../../config/job-manifest';
import type { ConfigDocument } from '../../config/node';
import { imageVersions } from '../../environment/container-images';
import type { Requirement } from '../../environment/requirement';
import { matchAccelerator } from '../../hardware/catalog';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { FoundKey } from '../section';
import { GPUS_OF_FLAVORS } from './hf-jobs';
import { gpusOfInstance } from './sagemaker-job';
import { stateSlice } from './sliced-gpu';
import { cardOf } from './slurm-gpus';

/**
 * Names that stand for one size of memory where others take them for several: SkyPilot lists `A100-80GB` and `V100-32GB` beside them
 * (https://docs.skypilot.co/en/latest/compute/gpus.html), Google's clusters `nvidia-a100-80gb`
 * (https://cloud.google.com/kubernetes-engine/docs/concepts/gpus), dstack `H100NVL`.
 */
const SIZES: Readonly<Record<MachinesAsked['system'], Readonly<Record<string, string>>>> = {
  SkyPilot: { a100: 'a100-40gb', v100: 'v100-16gb', h100: 'h100-80gb', gh200: 'gh200-96gb' },
  Kubernetes: {
    'nvidia-tesla-a100': 'a100-40gb',
    'nvidia-tesla-v100': 'v100-16gb',
    'nvidia-h100-mega-80gb': 'h100-80gb',
    'nvidia-h200-141gb': 'h200',
  },
  dstack: { h100: 'h100-80gb' },
  HuggingFace: GPUS_OF_FLAVORS,
};

/** A number of a manifest with its place; undefined where it is none, or a template. */
export function askedCount(
  asked: AskedValue | undefined,
): { readonly value: number; readonly found: FoundKey } | undefined {
  const value = Number(asked?.text);
  if (!asked || !Number.isInteger(value) || value < 1) return undefined;
  const { key, text, range } = asked;
  return { value, found: { key, node: { kind: 'scalar', range, value, text, quoted: false } } };
}

/** GPUs of each machine, as a manifest asks for them or as its type of machine has them. */
export function askedGpus(asked: MachinesAsked | undefined): ReturnType<typeof askedCount> {
  // A process sees one slice, however many its machine has.
  const own = askedCount(asked?.slice && asked.gpus ? { ...asked.gpus, text: '1' } : asked?.gpus);
  const count = asked?.instance && gpusOfInstance(asked.instance.text)?.count;
  return (
    own ??
    (count === undefined ? undefined : askedCount({ ...asked?.instance, text: String(count) } as AskedValue))
  );
}

/** The GPU that a manifest asks for. */
export function readAskedCard({ system, card, slice, gpus, instance }: MachinesAsked, draft: Draft): void {
  if (slice) {
    stateSlice(slice.text, askedCount(gpus)?.value ?? 1, slice, slice.key, draft);
    return;
  }
  const ofInstance = instance && gpusOfInstance(instance.text);
  if (instance && ofInstance) {
    const note = say('GPUs of {0}', instance.text);
    draft.state('hardware.gpu', ofInstance.gpu, instance, instance.key, note);
    if (ofInstance.instance)
      draft.state('hardware.instance', ofInstance.instance, instance, instance.key, note);
  }
  if (!card) return;
  const known = SIZES[system][card.text.toLowerCase()];
  const found = known === undefined ? cardOf(card.text) : matchAccelerator(known);
  if (!found) return;
  const { accelerator, note } = found;
  if (note === undefined)
    draft.state('hardware.gpu', accelerator.name, card, card.key, say('asked of {0}', system));
  // Whoever states the size knows more.
  else draft.infer('hardware.gpu', accelerator.name, note, card, card.key);
  if (note !== undefined)
    draft.leave(
      'value',
      card,
      card.text,
      say(
        '{0} calls the GPU `{1}`, which comes with several sizes of memory: taken as {2}.',
        system,
        card.text,
        accelerator.name,
      ),
      ['hardware.gpu'],
    );
}

/** Releases in the container that a manifest names. */
export const manifestReleases = ({ manifest }: ConfigDocument): readonly Requirement[] =>
  manifest?.image === undefined
    ? []
    : imageVersions(manifest.image.text, manifest.image.range).map((one) => ({
        ...one,
        image: true as const,
      }));
