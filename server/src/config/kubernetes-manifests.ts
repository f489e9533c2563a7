import { askedBy } from './asked-by';
import type { ManifestJob } from './job-manifest';
import {
  CARD_LABELS,
  gpusOf,
  INSTANCE_LABELS,
  labelled,
  SHARING_LABELS,
  sliceOfLabel,
} from './kubernetes-gpus';
import type { Lines } from './lines';
import { entryOf, mapAt, nodeAt } from './lookup';
import type { ConfigNode, MapEntry, MapNode, ScalarNode } from './node';
import { replacedIn } from './replaced-pieces';
import { integerOf, textOf } from './scalar';
import { exported, mark } from './script-variables';
import type { Piece, PlacedText } from './shell/placed-text';
import { textOfPieces } from './shell/placed-text';
import { yamlScalarPieces } from './yaml-scalar-pieces';

/** Kinds whose pods run to an end: of Kubernetes, of Kubeflow's trainers, JobSet, Volcano and KubeRay. What serves is none. */
const KINDS = /^(?:Pod|Job|CronJob|JobSet|PyTorchJob|MPIJob|TrainJob|RayJob)$/;
/** Pods of one kind, and the key that states how many there are. */
interface Pods {
  readonly spec: MapNode;
  readonly count: number;
  readonly counted?: MapEntry;
}

/** The commands of a job's pods, and what a pod asks for (https://kubernetes.io/docs/concepts/workloads/controllers/job/). */
export function kubernetesJob(root: MapNode, lines: Lines): ManifestJob | undefined {
  if (entryOf(root, 'apiVersion') === undefined || !KINDS.test(textOf(entryOf(root, 'kind')?.value) ?? ''))
    return undefined;
  const pods = podsOf(entryOf(root, 'spec')?.value);
  const trainer = mapAt(root, ['spec', 'trainer']);
  const entrypoint = nodeAt(root, ['spec', 'entrypoint']);
  const started = pods.flatMap((each) => {
    const container = mainOf(each.spec);
    const script = container && scriptOf(container, lines);
    return script ? [{ ...each, container, script }] : [];
  });
  const own = trainer && scriptOf(trainer, lines);
  if (trainer && own) return { script: own, asked: ofTrainer(trainer) };
  const [first] = started;
  if (entrypoint?.kind === 'scalar')
    return { script: yamlScalarPieces(entrypoint, lines), asked: ofPods(pods) };
  // Pods that do different things are several programs: which of them trains on how many GPUs is not known here.
  if (!first || started.some(({ script }) => textOfPieces(script) !== textOfPieces(first.script)))
    return undefined;
  const withGpus = started.some(({ container }) => gpusOf(container)) ? started : pods;
  return { script: first.script, asked: ofPods(withGpus) };
}

/** Every `containers` below a node, with the replicas that the blocks around it ask for. */
function podsOf(node: ConfigNode | undefined, count = 1, counted?: MapEntry): Pods[] {
  if (node?.kind === 'list') return node.items.flatMap((item) => podsOf(item, count, counted));
  if (node?.kind !== 'map') return [];
  if (entryOf(node, 'containers')?.value.kind === 'list')
    return [{ spec: node, count, ...(counted ? { counted } : {}) }];
  const stated = entryOf(node, 'replicas') ?? entryOf(node, 'parallelism');
  const times = stated === undefined ? undefined : integerOf(stated.value);
  const more = times === undefined || times < 1 ? 1 : times;
  return node.entries.flatMap(({ value }) => podsOf(value, count * more, more > 1 ? stated : counted));
}

/** The container that trains: one with GPUs, else the first. */
function mainOf(spec: MapNode): MapNode | undefined {
  const listed = entryOf(spec, 'containers')?.value;
  const containers = (listed?.kind === 'list' ? listed.items : []).filter((item) => item.kind === 'map');
  return containers.find(gpusOf) ?? containers[0];
}

/** Machines are those whose pods ask for GPUs: one pod each, as far as nobody shares a machine. */
function ofPods(pods: readonly Pods[]): ManifestJob['asked'] {
  const all = pods.flatMap((each) => {
    const container = mainOf(each.spec);
    const gpus = container && gpusOf(container);
    return container && gpus ? [{ ...each, container, gpus }] : [];
  });
  const [first] = all;
  if (!first) return { system: 'Kubernetes' };
  const total = all.reduce((sum, { count }) => sum + count, 0);
  const counted = all.findLast((each) => each.counted)?.counted;
  const {
    entry,
    card = labelled(first.spec, CARD_LABELS),
    slice = sliceOfLabel(card) ?? labelled(first.spec, SHARING_LABELS),
  } = first.gpus;
  const isEven = all.every(
    ({ gpus }) => gpus.entry.key === entry.key && textOf(gpus.entry.value) === textOf(entry.value),
  );
  const instance = labelled(first.spec, INSTANCE_LABELS);
  const image = entryOf(first.container, 'image');
  return {
    system: 'Kubernetes',
    ...(isEven ? { gpus: askedBy(entry) } : {}),
    ...(total > 1 && counted ? { machines: { ...askedBy(counted), text: String(total) } } : {}),
    ...(slice ? { slice } : card ? { card } : {}),
    ...(instance ? { instance } : {}),
    ...(image ? { image: askedBy(image) } : {}),
  };
}

/** `spec.trainer` of Kubeflow's TrainJob (https://www.kubeflow.org/docs/components/trainer/). */
function ofTrainer(trainer: MapNode): ManifestJob['asked'] {
  const gpus = gpusOf(trainer);
  const machines = entryOf(trainer, 'numNodes');
  const image = entryOf(trainer, 'image');
  return {
    system: 'Kubernetes',
    ...(gpus ? { gpus: askedBy(gpus.entry) } : {}),
    ...(gpus?.slice ? { slice: gpus.slice } : gpus?.card ? { card: gpus.card } : {}),
    ...(machines ? { machines: askedBy(machines) } : {}),
    ...(image ? { image: askedBy(image) } : {}),
  };
}

/** A shell whose next argument is a script: `["/bin/bash", "-c", "..."]`. */
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|da|z)?sh$/;

/** What a container runs, with its folder and its variables; undefined where that is left to its image. */
function scriptOf(container: MapNode, lines: Lines): PlacedText | undefined {
  const words = ['command', 'args'].flatMap((key) => {
    const value = entryOf(container, key)?.value;
    return value?.kind === 'list' ? value.items : [];
  });
  const scalars = words.filter((word) => word.kind === 'scalar');
  const [first, flag, script, ...more] = scalars;
  if (!first || scalars.length < words.length) return undefined;
  const isShell = SHELL.test(first.text) && flag !== undefined && /^-\w*c\w*$/.test(flag.text);
  if (isShell && !script) return undefined;
  const folder = entryOf(container, 'workingDir')?.value;
  const at = lines.offset(first.range.start);
  const run =
    isShell && script
      ? [
          ...parametersOf(more, lines, at),
          ...withProgram(substituted(yamlScalarPieces(script, lines)), more[0]),
        ]
      : scalars.flatMap((word) => [...quoted(word, lines), mark(' ', at)]);
  return [
    ...variablesOf(container, lines),
    ...(folder?.kind === 'scalar' ? [mark('cd ', at), ...quoted(folder, lines), mark('\n', at)] : []),
    ...run,
    mark('\n', at),
  ];
}

/** What a script is given behind it: the first word is its `$0`, the others are its parameters. */
function parametersOf([, ...given]: readonly ScalarNode[], lines: Lines, at: number): PlacedText {
  if (given.length === 0) return [];
  const words = given.flatMap((word) => [mark(' ', at), ...quoted(word, lines)]);
  return [mark('set --', at), ...words, mark('\n', at)];
}

/** `sh -c 'exec "$0" "$@"' torchrun ...` */
function withProgram(script: PlacedText, name: ScalarNode | undefined): PlacedText {
  const plain = name && /^[\w./-]+$/.test(name.text) ? name.text : undefined;
  return plain === undefined ? script : replacedIn(script, /\$(?:0(?!\d)|\{0\})/g, () => plain);
}

/** `env`: what is taken from a secret or a field is not known. */
function variablesOf(container: MapNode, lines: Lines): PlacedText {
  const env = entryOf(container, 'env')?.value;
  return (env?.kind === 'list' ? env.items : []).flatMap((item) => {
    const name = textOf(nodeAt(item, ['name']));
    const value = nodeAt(item, ['value']);
    return name === undefined || value?.kind !== 'scalar' || value.text.includes('$(')
      ? []
      : exported(name, value, lines);
  });
}

/** A word as the shell takes it for itself, but for what Kubernetes puts in. */
function quoted(word: ScalarNode, lines: Lines): PlacedText {
  const { text, range } = word;
  const at = lines.offset(range.start);
  if (/\$\(\w+\)/.test(text)) {
    const isPlain = !/["`\\]|\$(?!\(\w+\))/.test(text);
    return isPlain
      ? [mark('"', at), ...substituted(yamlScalarPieces(word, lines)), mark('"', at)]
      : [unknown(word, lines)];
  }
  if (text.includes("'")) return [unknown(word, lines)];
  return [mark("'", at), ...yamlScalarPieces(word, lines), mark("'", at)];
}

function unknown({ text, range }: ScalarNode, lines: Lines): Piece {
  return { text, start: lines.offset(range.start), end: lines.offset(range.end), exact: false, opaque: true };
}

/** `$(NAME)` of Kubernetes is `${NAME}` of a shell (https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/). */
function substituted(pieces: PlacedText): PlacedText {
  return replacedIn(pieces, /\$\(([A-Z_][A-Z0-9_]*)\)/g, ([, name]) => `\${${name}}`);
}
