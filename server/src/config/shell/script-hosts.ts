/**
 * Programs of Python that run another one in their own process, to measure or to debug it, by name; with the letters of their options that
 * take a value. Each is started by itself (`coverage run train.py`) or by `-m`, behind Python or a launcher. By the argument parsers of coverage
 * 7.17.5, memray 1.20.0, scalene 2.4.0, line_profiler 5.1.0, viztracer 1.1.1, pyinstrument 5.1.3, debugpy 1.8.22, ipdb 0.13.13, pudb 2026.1,
 * memory_profiler 0.61.0, filprofiler 2024.11.2, PyTorch 2.5.1 (`torch/utils/bottleneck/__main__.py`) and CPython 3.14 (`pdb`, `cProfile`, `trace`).
 */
const HOSTS: Readonly<Record<string, string>> = {
  coverage: '',
  memray: 'op',
  scalene: 'oc',
  kernprof: 'osup',
  line_profiler: 'osup',
  viztracer: 'ot',
  pyinstrument: 'orpi',
  debugpy: '',
  pdb: 'cp',
  ipdb: 'c',
  ipdb3: 'c',
  pudb: '',
  pudb3: '',
  cProfile: 'os',
  profile: 'os',
  trace: 'fC',
  memory_profiler: 'o',
  mprof: 'otT',
  'fil-profile': 'o',
  filprofiler: 'o',
  'torch.utils.bottleneck': '',
  ipython: '',
  ipython3: '',
};
/** Their first word is what they do. */
const RUN = /^(?:coverage|memray|mprof|fil-?profiler?)$/;
/** Programs of other kinds are called like these, too. */
const MODULES_ALONE = /^(?:pdb|profile|trace|cProfile|torch\..*)$/;
/** Of those whose values are no numbers. */
const VALUED =
  /^--(?:concurrency|context|data-file|debug|include|omit|rcfile|save-signal|source|out(?:put|file|put_(?:file|dir))|config|profile-(?:only|exclude)|program-path|setup|prof-mod|connect|log-to|configure-.+|command|pre-run|coverdir|file|ignore-(?:module|dir)|backend|render(?:er|-option)|(?:hide|show)(?:-regex)?|sort)$/;
/** A number, or an address by numbers: a value, whatever the option. */
const NUMBER = /^[\d.:]+$/;

/** Those that are started by themselves, for patterns. */
export const SCRIPT_HOSTS = Object.keys(HOSTS)
  .filter((name) => !MODULES_ALONE.test(name))
  .map((name) => (RUN.test(name) ? String.raw`${name}[ \t]+run` : name))
  .join('|');

interface ScriptHost {
  /** Index of its first word; of the `-m` before it where that starts it. */
  readonly from: number;
  /** Index of the first word behind its options: a script, or `-m` and a module. */
  readonly to: number;
  readonly byModule: boolean;
}

/** The first of them among the words of a command before its script; undefined where none is, or where it runs nothing that is known. */
export function scriptHost(texts: readonly string[]): ScriptHost | undefined {
  for (const [at, text] of texts.entries()) {
    const byModule = /^(?:-m|--module)$/.test(texts[at - 1] ?? '');
    const name = byModule ? text : (text.split('/').at(-1) ?? text);
    const letters = Object.hasOwn(HOSTS, name) ? HOSTS[name] : undefined;
    if (letters !== undefined && (byModule || !MODULES_ALONE.test(name))) {
      const to = targetOf(texts, at + 1, name, letters);
      if (to !== undefined) return { from: byModule ? at - 1 : at, to, byModule };
    }
    if (/\.py$/.test(text)) return undefined;
  }
  return undefined;
}

function targetOf(
  texts: readonly string[],
  first: number,
  name: string,
  letters: string,
): number | undefined {
  const runs = texts[first] === 'run';
  if (RUN.test(name) && !runs) return undefined;
  // Either their options, or what they run.
  let open: number | undefined;
  for (let at = runs ? first + 1 : first; at < texts.length; at++) {
    const text = texts[at] ?? '';
    if (text.startsWith('$')) open ??= at;
    if (/^(?:-{2,3}$|\$)/.test(text) || NUMBER.test(text)) continue;
    if (/^(?:-m|--module)$/.test(text)) return at + 1 < texts.length ? at : undefined;
    if (!text.startsWith('-')) return at;
    const letter = /^-([A-Za-z])$/.exec(text)?.[1];
    if (VALUED.test(text) || (letter && letters.includes(letter))) at++;
    // Text of Python takes the place of a script.
    else if (letter === 'c' && !name.startsWith('pudb')) return undefined;
  }
  return open;
}
