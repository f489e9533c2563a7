/** What runs a script or a program in an environment of its own. */
interface PackageRun {
  /** Index of the word behind which its own options and what it is given stand. */
  readonly at: number;
  /** Index of the first word of what is run; behind `-m` where that is a module. */
  readonly target: number;
  readonly isModule: boolean;
  /** The target is a file of Python that no word starts: Python does, and what its metadata name is there (PEP 723). */
  readonly isScript: boolean;
}

interface Runner {
  /** Options that take a value. */
  readonly valued: RegExp;
  /** It starts a file of Python by itself, with the packages that its metadata name. */
  readonly scripts: boolean;
}

/**
 * Of uv 0.13.9 (`uv run --help`, `uvx --help`) and of `hf jobs uv run` before it (huggingface_hub 2.4.0, `cli/jobs.py`), whose options stand among
 * them.
 */
const UV_VALUED =
  /^(?:-[CPfipwevl]|--(?:with(?:-editable|-requirements)?|from|python(?:-platform)?|extra|group|(?:no|only)-(?:extra|group)|package|project|directory|(?:env|config)-file|(?:default-|extra-)?index(?:-url)?|find-links|[a-z]+-(?:strategy|provider|mode|backend|host)|resolution|prerelease|config-settings?(?:-package)?|exclude-newer(?:-package)?|(?:no-(?:build|binary|sources|editable|build-isolation)|upgrade|refresh|reinstall|prerelease)-package|upgrade-group|cache-dir|color|constraints|overrides|flavor|image|env|secrets(?:-file)?|timeout|namespace|token|label|volume))$/;
/** pdm 2.29.4 (`cli/commands/run.py`), hatch 1.18.2 (`cli/run/__init__.py`) and pipx 1.18.4 (`commands/run.py`) start a file that ends in `.py`, too. */
const OTHERS_VALUED = /^(?:-[pe]|--(?:project|venv|env|spec|python|pip-args|index-url|with))$/;

const UV: Runner = { valued: UV_VALUED, scripts: true };
const UVX: Runner = { valued: UV_VALUED, scripts: false };
const OTHER: Runner = { valued: OTHERS_VALUED, scripts: true };

const RUNNERS: readonly (readonly [words: readonly string[], runner: Runner])[] = [
  [['uv', 'run'], UV],
  [['uv', 'tool', 'run'], UVX],
  [['uvx'], UVX],
  [['pipx', 'run'], OTHER],
  [['hatch', 'run'], OTHER],
  [['pdm', 'run'], OTHER],
];

/** The words of those that start a file of Python by themselves, for patterns. */
export const SCRIPT_RUNNERS = RUNNERS.filter(([, { scripts }]) => scripts)
  .map(([words]) => words.join('[ \\t]+'))
  .join('|');

const nameOf = (text: string | undefined) => text?.split('/').at(-1);

/** The runner among the words of a command, and what it runs; undefined where none is, or where nothing is left for it. */
export function packageRun(texts: readonly string[]): PackageRun | undefined {
  for (const [words, runner] of RUNNERS) {
    const first = texts.findIndex((_, i) =>
      words.every((word, j) => (j === 0 ? nameOf(texts[i]) : texts[i + j]) === word),
    );
    if (first >= 0) return targetOf(texts, first + words.length - 1, runner);
  }
  return undefined;
}

function targetOf(texts: readonly string[], at: number, runner: Runner): PackageRun | undefined {
  let script = false;
  for (let target = at + 1; target < texts.length; target++) {
    const text = texts[target] ?? '';
    if (/^(?:-m|--module)$/.test(text) && runner === UV)
      return { at, target: target + 1, isModule: true, isScript: false };
    if (/^(?:-s|--script|--gui-script)$/.test(text)) script = true;
    else if (runner.valued.test(text)) target++;
    else if (text === '--' || !text.startsWith('-')) {
      const own = text === '--' ? target + 1 : target;
      const isScript = runner.scripts && (script || /\.py$/.test(texts[own] ?? ''));
      return { at, target: own, isModule: false, isScript };
    }
  }
  return undefined;
}
