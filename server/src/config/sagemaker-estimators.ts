import type { Piece } from './shell/placed-text';
import type { JobStart, JobValue, TrainingJob } from './training-job';
import {
  boundValue,
  type WrittenCall,
  type WrittenCode,
  type WrittenValue,
  writtenCall,
  writtenCode,
} from './written-calls';

export interface JobScript {
  readonly script: readonly Piece[];
  readonly job: TrainingJob;
}

/** Classes of the SageMaker SDK (version 2) that start a script, with the modules that have them. */
const ESTIMATORS = {
  HuggingFace: /\bsagemaker\.huggingface\b/,
  PyTorch: /\bsagemaker\.pytorch\b/,
} as const;
const MADE =
  /(?:^|\n)[ \t]*(\w+)[ \t]*=[ \t]*(?:sagemaker\.(?:huggingface|pytorch)\.)?(HuggingFace|PyTorch)[ \t]*\(/g;

/** A text in quotes of its own, which the shell takes off that the container starts the command with (`sagemaker_training/process.py`, `run_async`). */
const QUOTED_FOR_SHELL = /^(?:'"[^"'\\\n]*"'|"'[^"'\\\n]*'")$/;

/** Where the code of a repository lies in the container: none of it is here (`git_config`). */
const ELSEWHERE = '/opt/ml/code';

/**
 * The scripts that estimators of SageMaker start as training jobs: `HuggingFace(entry_point=..., instance_type=..., hyperparameters=...)` whose `fit`
 * is called. Hyperparameters become flags, each with its value (`sagemaker_training/mapping.py`, `to_cmd_args`). TensorFlow's are left alone.
 */
export function estimatorJobs(code: string): JobScript[] {
  if (!/\b(?:HuggingFace|PyTorch)[ \t]*\(/.test(code) || !code.includes('sagemaker')) return [];
  const written = writtenCode(code);
  const { text } = written;
  return [...text.matchAll(MADE)].flatMap((made) => {
    const [whole, name = '', kind = ''] = made;
    if (!ESTIMATORS[kind as keyof typeof ESTIMATORS].test(text)) return [];
    if (!new RegExp(String.raw`\b${name}\.fit[ \t]*\(`).test(text)) return [];
    const call = writtenCall(text, made.index + whole.length - 1);
    const found = call && jobOf(written, call, kind);
    return found ? [found] : [];
  });
}

function jobOf(written: WrittenCode, call: WrittenCall, kind: string): JobScript | undefined {
  const argumentIn = (key: string): WrittenValue | undefined =>
    call.named.find((one) => one.key === key)?.value;
  const known = (key: string): WrittenValue | undefined => {
    const value = argumentIn(key);
    return value && boundValue(written, value);
  };
  const placed = (key: string): JobValue | undefined => {
    const value = known(key);
    const word = value?.text ?? (value && /^\d+$/.test(value.code) ? value.code : undefined);
    return value && word !== undefined ? { key, text: word, start: value.start, end: value.end } : undefined;
  };
  const entry = known('entry_point');
  if (entry?.text === undefined || !entry.text.endsWith('.py') || argumentIn('tensorflow_version'))
    return undefined;
  const folder = known('source_dir');
  // A folder in a bucket, or one that is not known, holds no script of this workspace.
  const isHere = folder
    ? folder.text !== undefined && !/^\w+:\/\//.test(folder.text)
    : !argumentIn('source_dir');
  const away = argumentIn('git_config') !== undefined || !isHere;
  const given = argumentIn('distribution');
  const start = given ? startOf(written, boundValue(written, given)) : 'one-process';
  const image = argumentIn('image_uri') !== undefined;
  const torch = placed(kind === 'PyTorch' ? 'framework_version' : 'pytorch_version');
  const transformers = placed('transformers_version');
  const [instance, machines] = [placed('instance_type'), placed('instance_count')];
  const compiler = argumentIn('compiler_config');
  const place = (key: string, value: WrittenValue): JobValue => ({ key, text: value.code, ...value });
  return {
    script: scriptOf(written, entry, away ? ELSEWHERE : folder?.text, start, known('hyperparameters'), call),
    job: {
      ...(instance ? { instance } : {}),
      ...(machines ? { machines } : {}),
      start: call.open && !given ? 'unknown' : start,
      startedBy: given
        ? place('distribution', given)
        : { key: kind, text: kind, start: call.start, end: call.end },
      releases: image
        ? []
        : [
            ...(torch ? [{ name: 'torch' as const, value: torch }] : []),
            ...(transformers ? [{ name: 'transformers' as const, value: transformers }] : []),
          ],
      ...(compiler ? { compiler: place('compiler_config', compiler) } : {}),
    },
  };
}

/** How `distribution` starts the processes (`sagemaker/fw_utils.py`, `validate_distribution`). */
function startOf(written: WrittenCode, value: WrittenValue | undefined): JobStart {
  if (!value?.entries || value.open) return value?.code === 'None' ? 'one-process' : 'unknown';
  const isOn = (options: WrittenValue | undefined): boolean | undefined => {
    const known = options && boundValue(written, options);
    const enabled = known?.entries?.find(({ key }) => key === 'enabled')?.value.code;
    return enabled === 'True' ? true : enabled === 'False' ? false : undefined;
  };
  const [only, ...others] = value.entries;
  if (!only || others.length > 0) return only ? 'unknown' : 'one-process';
  if (only.key === 'torch_distributed' || only.key === 'pytorchddp') {
    const on = isOn(only.value);
    return on === undefined ? 'unknown' : on ? 'torchrun' : 'one-process';
  }
  if (only.key !== 'smdistributed') return 'unknown';
  const parts = boundValue(written, only.value)?.entries ?? [];
  const [part] = parts;
  if (!part || parts.length > 1 || isOn(part.value) !== true) return 'unknown';
  if (part.key === 'dataparallel') return 'data-parallel';
  return part.key === 'modelparallel' ? 'model-parallel' : 'unknown';
}

/**
 * The command as the container starts it, whose values have their places in the notebook: after the variables of `environment`, which each
 * process of the container has.
 */
function scriptOf(
  written: WrittenCode,
  entry: WrittenValue,
  folder: string | undefined,
  start: JobStart,
  parameters: WrittenValue | undefined,
  call: WrittenCall,
): Piece[] {
  const mark = (words: string, at: number): Piece => ({ text: words, start: at, end: at, exact: false });
  const piece = ({ start: from, end: to }: WrittenValue): Piece => ({
    text: written.text.slice(from, to),
    start: from,
    end: to,
    exact: true,
  });
  const unknown = ({ start: from, end: to, code }: WrittenValue): Piece => ({
    text: code.split('\n', 1)[0] ?? '',
    start: from,
    end: to,
    exact: false,
    opaque: true,
  });
  const name = folder?.replace(/^\.\/+|\/+$/g, '') ?? '';
  const enters = name === '' || name === '.' ? [] : [mark(`cd "${name}"\n`, entry.start)];
  const starts = start === 'one-process' || start === 'unknown' ? 'python ' : 'torchrun ';
  const variables = call.named.find(({ key }) => key === 'environment')?.value;
  const environment = variables && boundValue(written, variables);
  const exports: Piece[] = [];
  for (const { key, value } of environment?.entries ?? []) {
    const known = boundValue(written, value);
    const word = known?.text !== undefined || /^-?[\d.]+$/.test(known?.code ?? '');
    exports.push(mark(`export ${key}=`, value.start));
    if (known && word) exports.push(mark("'", known.start), piece(known), mark("'\n", known.end));
    else exports.push(unknown(value), mark('\n', value.end));
  }
  const script: Piece[] = [...exports, ...enters, mark(starts, entry.start), piece(entry)];
  const given = call.named.find(({ key }) => key === 'hyperparameters')?.value;
  if (!parameters?.entries || parameters.open)
    return given && parameters?.code !== 'None'
      ? [...script, mark(' ', given.start), { ...unknown(given), splits: true }]
      : script;
  for (const { key, value } of parameters.entries) {
    const known = boundValue(written, value);
    const word =
      known && (known.text !== undefined || /^(?:-?[\d.]+(?:e-?\d+)?|True|False)$/i.test(known.code));
    const flag = mark(` ${key.length > 1 ? '--' : '-'}${key} `, value.start);
    if (known?.code === 'None') continue;
    script.push(flag);
    if (known && QUOTED_FOR_SHELL.test(known.code))
      script.push(
        mark("'", known.start),
        piece({ ...known, start: known.start + 2, end: known.end - 2 }),
        mark("'", known.end),
      );
    else if (known && word) script.push(mark("'", known.start), piece(known), mark("'", known.end));
    else script.push(unknown(value));
  }
  return script;
}
