import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { evaluateShell } from '../../../server/src/config/shell/evaluate';
import { isSettled, textOfPieces } from '../../../server/src/config/shell/placed-text';
import { ScriptSource } from '../../../server/src/config/shell/script-source';
import { documentedRuns } from '../../verdicts/all';
import { bashFolder, runInBash } from './launches-in-bash';

/** What starts a training: a function in their place prints its words, and nothing of theirs runs. */
const LAUNCHERS = [
  'torchrun',
  'accelerate',
  'deepspeed',
  'python',
  'python3',
  'swift',
  'axolotl',
  'litgpt',
  'torchtune',
  'tune',
];
/**
 * The jail of a script: no PATH, no environment, a folder of its own. Programs are a handle that does nothing, and builtins that leave
 * the folder, the process or the file are functions that do nothing either.
 */
const PREAMBLE = `export PATH=
command_not_found_handle() { builtin return 0; }
cd() { builtin return 0; }; pushd() { builtin return 0; }; popd() { builtin return 0; }
source() { builtin return 0; }; .() { builtin return 0; }; exec() { "$@"; }; kill() { builtin return 0; }
command() { "$@"; }; wait() { builtin return 0; }
srun() { while [[ $# -gt 0 && " ${LAUNCHERS.join(' ')} bash nohup " != *" $1 "* ]]; do shift; done; "$@"; }
bash() { "$BASH" "$@"; }
nohup() { "$@"; }
ulimit -f 64 -t 2
${LAUNCHERS.map((name) => `${name}() { builtin printf '%s\\0' ${name} "$@" >&3; builtin printf '\\036\\0' >&3; }`).join('\n')}
export -f command_not_found_handle cd pushd popd source . exec kill command wait srun bash nohup ${LAUNCHERS.join(' ')}
`;
/** Writes to a place outside of the folder, and programs that a script names by their whole path: it is not run. */
const LEAVES =
  />\s*["']?(?:\/(?!dev\/)|~|\$\{?HOME)|(?:^|[\s;&|(])\/[\w./-]+|\bsudo\b|\brm\s+-\w*r|\/dev\/(?:tcp|udp)/m;

/** What Slurm sets for a script by its own directives. */
function slurm(script: string): Record<string, string> {
  const nodes = /^#SBATCH\s+(?:--nodes[=\s]|-N\s*)(\d+)/m.exec(script)?.[1];
  if (nodes === undefined) return {};
  return { SLURM_NNODES: nodes, SLURM_JOB_NUM_NODES: nodes, SLURM_NODEID: '0', SLURM_PROCID: '0' };
}

/** Words of each launch. */
function inBash(script: string, folder: string): string[][] | undefined {
  const { launches, error } = runInBash(PREAMBLE + script, folder, { env: slurm(script), timeout: 5000 });
  return error ? undefined : launches;
}

/** The words of a launch; of those that are not known, undefined. */
type Launch = readonly (string | undefined)[];

/** Launches in their order; of those behind a condition that an argument decides, that there are some. */
function here(script: string): { launches: Launch[]; isGuessed: boolean } {
  const found = evaluateShell(ScriptSource.ofScript(script)).commands.flatMap(({ words, open }) => {
    const texts = words.map(textOfPieces);
    const at = texts.findIndex((word) => LAUNCHERS.includes(word));
    const known = words.map((word, index) => (isSettled(word) ? texts[index] : undefined));
    return at < 0 ? [] : [{ launch: known.slice(at), open }];
  });
  return { launches: found.map(({ launch }) => launch), isGuessed: found.some(({ open }) => open) };
}

/** Whether a launch is as bash starts it: each word that is known, and their number where all are. */
function isSame(ours: Launch, theirs: readonly string[]): boolean {
  const open = ours.indexOf(undefined);
  if (open < 0) return ours.join('\0') === theirs.join('\0');
  // A word that is not known may be none in bash, or several, but what stands before it does not move.
  const inOrder = ours.length === theirs.length ? ours : ours.slice(0, open);
  return inOrder.every((word, index) => word === undefined || word === theirs[index]);
}

/** Scripts of documented runs and of the fixtures, and public ones laid out in a folder that `OOMLINT_SCRIPTS` names. */
function scripts(): { file: string; text: string }[] {
  const documented = Object.values(documentedRuns())
    .flat()
    .flatMap(({ files }) => Object.entries(files).map(([file, text]) => ({ file, text })));
  const folder = process.env.OOMLINT_SCRIPTS;
  if (folder === undefined) console.log('      OOMLINT_SCRIPTS names no folder of public launch scripts');
  const roots = ['test/fixtures/not-configs/shell', ...(folder === undefined ? [] : [folder])];
  const own = roots.flatMap((root) =>
    readdirSync(root).map((name) => ({ file: name, text: readFileSync(path.join(root, name), 'utf8') })),
  );
  return [...documented, ...own].filter(({ file }) => /\.(?:sh|slurm|sbatch)$/.test(file));
}

describe('launch scripts, held to bash', function () {
  this.timeout(300_000);
  const folder = bashFolder();

  it('expand to the words that bash passes to the program, where all of them are known', () => {
    const wrong: string[] = [];
    const counts = { equal: 0, open: 0, notRun: 0 };
    for (const { file, text } of scripts()) {
      if (LEAVES.test(text)) {
        counts.notRun++;
        continue;
      }
      const theirs = inBash(text, folder());
      const { launches: ours, isGuessed } = here(text);
      const isOpen = isGuessed || ours.some((launch) => launch.includes(undefined));
      if (!theirs) counts.notRun++;
      else if (isGuessed) counts.open++;
      else if (ours.length !== theirs.length || !ours.every((launch, i) => isSame(launch, theirs[i] ?? [])))
        wrong.push(`${file}:\n${JSON.stringify(ours)}\n${JSON.stringify(theirs)}`);
      else if (isOpen) counts.open++;
      else counts.equal++;
    }
    console.log(
      `      ${counts.equal} scripts as in bash, ${counts.open} with words that are not known, ${counts.notRun} not run`,
    );
    assert.ok(counts.equal > 100, `${counts.equal} scripts`);
    assert.deepEqual(wrong, []);
  });
});
