import type { PlacedText } from './placed-text';
import { isSettled, textOfPieces } from './placed-text';
import type { ScriptSource } from './script-source';

/** An option in the comments of a script: `#SBATCH --gres=gpu:8`. */
export interface SlurmOption {
  readonly flag: PlacedText;
  readonly value?: PlacedText;
}

/** Slurm stops looking at the first command, but few scripts have any behind it. */
const SBATCH = /^[ \t]*#SBATCH[ \t]+(.*)$/gm;
/** Options of such a line: several may stand there, and templates have words between them. */
const OPTION = /(?<=^|[ \t])(--?[A-Za-z][\w-]*)(?:(?:=|[ \t]+(?!-))([^\s#]+))?/g;

export function slurmOptions(source: ScriptSource): SlurmOption[] {
  return [...source.text.matchAll(SBATCH)].flatMap((line) => {
    const written = (line[1] ?? '').replace(/(^|[ \t])#.*$/, '$1');
    const from = line.index + line[0].length - (line[1] ?? '').length;
    return [...written.matchAll(OPTION)].map((match) => {
      const [whole, flag = '', value] = match;
      const start = from + match.index;
      const end = start + whole.length;
      return {
        flag: source.slice(start, start + flag.length),
        ...(value === undefined ? {} : { value: source.slice(end - value.length, end) }),
      };
    });
  });
}

/** Variables that Slurm sets (`sbatch`, OUTPUT ENVIRONMENT VARIABLES), by the options that they follow from. */
const VARIABLES: readonly (readonly [option: RegExp, value: RegExp, names: readonly string[]])[] = [
  [/^--?(nodes|N)$/, /^(\d+)$/, ['SLURM_NNODES', 'SLURM_JOB_NUM_NODES']],
  [/^--?(ntasks|n)$/, /^(\d+)$/, ['SLURM_NTASKS', 'SLURM_NPROCS']],
  [/^--ntasks-per-node$/, /^(\d+)$/, ['SLURM_NTASKS_PER_NODE']],
  [/^--cpus-per-task$|^-c$/, /^(\d+)$/, ['SLURM_CPUS_PER_TASK']],
  [/^--gpus-per-node$/, /^(?:[\w.-]+:)?(\d+)$/, ['SLURM_GPUS_PER_NODE', 'SLURM_GPUS_ON_NODE']],
  [/^--gres$/, /^gpu:(?:[\w.-]+:)?(\d+)(?:,.*)?$/, ['SLURM_GPUS_ON_NODE']],
  [/^--?(gpus|G)$/, /^(?:[\w.-]+:)?(\d+)$/, ['SLURM_GPUS']],
];

export function slurmVariables(options: readonly SlurmOption[]): Map<string, PlacedText> {
  const found = new Map<string, PlacedText>();
  for (const { flag, value } of options) {
    if (!value || !isSettled(value)) continue;
    const row = VARIABLES.find(([option]) => option.test(textOfPieces(flag)));
    const text = textOfPieces(value);
    const match = row?.[1].exec(text);
    if (!row || match?.[1] === undefined) continue;
    const from = text.lastIndexOf(match[1], text.length - (/,.*$/.exec(text)?.[0].length ?? 0));
    const number = partOf(value, from, from + match[1].length);
    for (const name of row[2]) if (!found.has(name)) found.set(name, number);
  }
  return found;
}

function partOf(value: PlacedText, from: number, to: number): PlacedText {
  const [only, ...more] = value;
  if (only?.exact && more.length === 0)
    return [{ ...only, text: only.text.slice(from, to), start: only.start + from, end: only.start + to }];
  return only ? [{ ...only, text: textOfPieces(value).slice(from, to), exact: false }] : [];
}
