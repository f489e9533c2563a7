import { nodeAt } from '../../config/lookup';
import type { ConfigNode, MapNode, ScalarNode } from '../../config/node';
import { flagOf, textOf } from '../../config/scalar';
import { oncePer } from '../../memo/remembered';
import type { Range } from '../../text/place';

/** One command of a script that starts something, as `config/shell.ts` lays it out. */
export interface Launch {
  /** Path of the command in the document, for keys: `commands.[3]`. */
  readonly path: string;
  readonly range: Range;
  /** Words before the first flag, the launcher first: `torchrun`, `swift sft`, `llamafactory-cli train x.yaml`. */
  readonly program: readonly string[];
  readonly programNodes: readonly ConfigNode[];
  /** Python file or module that is launched. */
  readonly script?: string;
  /** Where it is named. */
  readonly scriptNode?: ConfigNode;
  /** The script of the shell that it runs, where that is not followed: `bash scripts/train.sh data.train_batch_size=8`. */
  readonly shellScript?: ScalarNode;
  /** Modules that it imports, where it lies here. */
  readonly imports?: readonly string[];
  /** Words of `srun` and its like, before the launcher. */
  readonly submitter: readonly string[];
  /** Their flags. */
  readonly wrapper: MapNode;
  /** Flags before the Python script. */
  readonly launcher: MapNode;
  /** Flags behind it; all flags where there is none. */
  readonly arguments: MapNode;
  readonly words: readonly ScalarNode[];
  readonly environment: MapNode;
  /** Conditions that the script does not settle and that decide about its words. */
  readonly guesses: readonly ScalarNode[];
  /** It stands in a branch that a plain start of the script does not take. */
  readonly open: boolean;
  /** It stands in another script, which the script at hand runs by the command at `range`. */
  readonly isCalled: boolean;
  /** The packages that the script's own metadata name are there (PEP 723): `uv run t.py`. */
  readonly readsMetadata: boolean;
  /** Options of Slurm of that other script. */
  readonly sbatch?: MapNode;
}

/** Commands of a shell document. */
export const launchesOf = (root: ConfigNode | null): readonly Launch[] => (root ? launchesIn(root) : []);

/** A script of a hundred launches is read for each of them. */
const launchesIn = oncePer((root: ConfigNode): readonly Launch[] => {
  const commands = nodeAt(root, 'commands');
  if (commands?.kind !== 'list') return [];
  return commands.items.flatMap((command, index) => {
    const map = (key: string) => {
      const node = nodeAt(command, [key]);
      return node?.kind === 'map' ? node : undefined;
    };
    const list = (key: string) => {
      const node = nodeAt(command, [key]);
      return node?.kind === 'list' ? node.items : [];
    };
    const [wrapper, launcher, flags, environment] = [
      map('wrapper'),
      map('launcher'),
      map('arguments'),
      map('environment'),
    ];
    if (!wrapper || !launcher || !flags || !environment) return [];
    const programNodes = list('program');
    const program = programNodes.map((node) => textOf(node) ?? '');
    const [first = '', ...rest] = program;
    const script = textOf(nodeAt(command, ['script']));
    const shellScript = nodeAt(command, ['shellScript']);
    const imported = script === undefined ? undefined : nodeAt(root, ['imports', script]);
    return {
      path: `commands.[${index}]`,
      range: command.range,
      program: [first.split('/').at(-1) ?? first, ...rest],
      programNodes,
      script,
      ...(imported?.kind === 'list' ? { imports: imported.items.flatMap((item) => textOf(item) ?? []) } : {}),
      scriptNode: nodeAt(command, ['script']),
      shellScript: shellScript?.kind === 'scalar' ? shellScript : undefined,
      submitter: list('submitter').map((node) => textOf(node) ?? ''),
      wrapper,
      launcher,
      arguments: flags,
      words: list('words').filter((node) => node.kind === 'scalar'),
      environment,
      guesses: list('guesses').filter((node) => node.kind === 'scalar'),
      open: flagOf(nodeAt(command, ['open'])) === true,
      isCalled: nodeAt(command, ['call']) !== undefined,
      readsMetadata: flagOf(nodeAt(command, ['readsMetadata'])) === true,
      sbatch: map('sbatch'),
    };
  });
});

/** Where a launch stands in the script at hand. */
export const placeOfLaunch = ({ isCalled, programNodes, range }: Launch): Range =>
  (isCalled ? undefined : programNodes[0]?.range) ?? range;

/** Whether the script that a launch starts lies here and imports none of a framework's packages: it is another program of the name. */
export const isOtherProgram = ({ imports }: Launch, packages: RegExp): boolean =>
  imports !== undefined && !imports.some((name) => name.split('.').some((part) => packages.test(part)));
