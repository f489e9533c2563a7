import { integerOf, textOf } from '../../config/scalar';
import { matchAccelerator } from '../../hardware/catalog';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { FoundKey, Section } from '../section';
import { stateSlice } from './sliced-gpu';

// Requests are read as Slurm does: https://slurm.schedmd.com/sbatch.html#OPT_gres

/** A number of GPUs that Slurm is asked for, with the place that states it. */
interface SlurmCount {
  readonly value: number;
  readonly found: FoundKey;
}

interface Request {
  /** As Slurm's administrators call it: `a100`. */
  readonly type?: string;
  readonly count: number;
}

/** `gpu:8`, `gpu:a100:8`, `a100:4`, `8`, `gpu:H100:4,nvme:1`, `gpu:a100:2(S:0-1)`; undefined where it asks for no GPUs. */
function requestOf(found: FoundKey | undefined): Request | undefined {
  const whole = found && integerOf(found.node);
  if (whole !== undefined) return whole > 0 ? { count: whole } : undefined;
  for (const part of ((found && textOf(found.node)) ?? '').split(/,(?![^(]*\))/)) {
    const match =
      /^(?:gres[:/])?(?:(gpu)(?::|$))?(?:([A-Za-z][\w.-]*|\d+g\.\d+gb)(?::|$))?(\d+)?(?:\([^)]*\))?$/.exec(
        part.trim(),
      );
    if (!match || (match[1] === undefined && match[2] === undefined && match[3] === undefined)) continue;
    const [, , type, count] = match;
    // `nvme:1` is a resource of another kind.
    if (found?.key.endsWith('gres') && match[1] === undefined) continue;
    return { count: Number(count ?? '1'), ...(type === undefined ? {} : { type }) };
  }
  return undefined;
}

/** GPUs of each machine that Slurm is asked for; `machines` divides what is asked for in all. */
export function slurmGpus(section: Section, machines: number): SlurmCount | undefined {
  const each = section.find(['gpus_per_node', 'gres']);
  const request = requestOf(each);
  if (each && request) return { value: request.count, found: each };
  const task = section.find('gpus_per_task');
  const perTask = requestOf(task);
  if (task && perTask) {
    const tasks =
      section.integer('ntasks_per_node') ?? Math.ceil((section.integer(['ntasks', 'n']) ?? 1) / machines);
    return { value: perTask.count * tasks, found: task };
  }
  const all = section.find(['gpus', 'G']);
  const total = requestOf(all);
  return all && total ? { value: Math.max(1, Math.floor(total.count / machines)), found: all } : undefined;
}

/** A profile of MIG in the name of a type: `a100_3g.20gb`. */
const SLICE = /\dg\.\d/i;

/** Names of Slurm's administrators for cards: `nvidia_a100`, `gpu_v100`, `a100_80`, `v100-32g`. */
export function cardOf(name: string) {
  if (/mig/i.test(name) || SLICE.test(name)) return undefined;
  const plain = name
    .toLowerCase()
    .replace(/^(?:nvidia|gpu|geforce|tesla)[-_](?=[a-z])/, '')
    .replace(/^tesla[-_]/, '')
    .replace(/^([avh]\d{2,3})[-_]?(\d{2})$/, '$1-$2gb')
    .replaceAll('_', '-');
  return /[a-z]/.test(plain) || /^\d{4}/.test(plain) ? matchAccelerator(plain) : undefined;
}

/** Features that nodes are asked to have: `a100`, `v100-32g`, `[h100]`; undefined where there is a choice between cards. */
function constraintCard(text: string) {
  const cards = text
    .split(/[&|,()[\]*\s]+/)
    .flatMap((name) => cardOf(name) ?? [])
    .filter(({ gpus, instance }) => gpus === undefined && instance === undefined);
  const names = new Set(cards.map(({ accelerator }) => accelerator.name));
  return names.size === 1 ? cards[0] : undefined;
}

/**
 * The GPU that Slurm is asked for, by the type of the resource or a feature of the nodes. A partition's name is no proof. Where the
 * type comes with several sizes of memory (`a100`), the size is not known.
 */
export function readSlurmGpu(sections: readonly Section[], draft: Draft): void {
  const found = sections.flatMap((section) => {
    const requests = ['gres', 'gpus_per_node', 'gpus', 'G', 'gpus_per_task', 'gpus_per_socket'].flatMap(
      (key) => {
        const at = section.find(key);
        const { type, count = 1 } = requestOf(at) ?? {};
        if (at && type !== undefined && SLICE.test(type)) stateSlice(type, count, at.node, at.key, draft);
        const card = type === undefined ? undefined : cardOf(type);
        return at && card ? [{ at, card, name: type ?? '' }] : [];
      },
    );
    const features = ['constraint', 'C'].flatMap((key) => {
      const at = section.find(key);
      const text = (at && textOf(at.node)) ?? '';
      const card = constraintCard(text);
      return at && card ? [{ at, card, name: text }] : [];
    });
    return [...requests, ...features];
  });
  // `--gres=gpu:a100:4 --constraint=a100_80`: the more exact name counts.
  const best = found.find(({ card }) => card.note === undefined) ?? found[0];
  if (!best) return;
  const { at, card, name } = best;
  const { accelerator, note } = card;
  if (note === undefined)
    draft.state('hardware.gpu', accelerator.name, at.node, at.key, say('asked of Slurm'));
  // Whoever states the size knows more.
  else draft.infer('hardware.gpu', accelerator.name, note, at.node, at.key);
  if (note !== undefined)
    draft.leave(
      'value',
      at.node,
      name,
      say(
        'Slurm calls the GPU `{0}`, which comes with several sizes of memory: taken as {1}.',
        name,
        accelerator.name,
      ),
      ['hardware.gpu'],
    );
}
