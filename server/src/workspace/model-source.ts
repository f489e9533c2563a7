import { readPythonJson } from '../config/python-json';
import { findModel, modelFromConfig } from '../model/catalog';
import { changedConfig } from '../model/changed-config';
import type { Model, ModelConfig } from '../model/model';
import { suggestModels, unnamed } from '../model/name-suggestions';
import { findRepackaged } from '../model/repackaged';
import { textAlone } from '../model/text-alone';
import type { FieldPath, RunValues } from '../run/fields';
import type { Origin } from '../run/origin';
import { isAbsolutePath, pathOfUri } from '../text/uri';
import { suggested } from '../wording/closest';
import { say } from '../wording/say';
import type { Files } from './files';
import { hubCache } from './hub-cache';
import { candidates } from './links';
import { storedType } from './stored-type';

/** The model of a run, or why there is none. */
export interface ModelFinding {
  readonly model?: Model;
  /** For people, where the model is named but not known. */
  readonly reason?: string;
  /** What stands in the place of its name is none: any model may be meant. */
  readonly unnamed?: true;
  /** For people, where what was taken is not exactly what was named. */
  readonly note?: string;
  /** Its `config.json`, where one was read. */
  readonly uri?: string;
  /** What its name states of how it is stored. */
  readonly values?: RunValues;
  /** For people, what states each of these. */
  readonly because?: Partial<Record<FieldPath, string>>;
}

export interface ModelFiles extends Files {
  readText(uri: string): Promise<string | undefined>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

function isConfig(value: unknown): value is ModelConfig {
  return (
    typeof value === 'object' &&
    value !== null &&
    'model_type' in value &&
    typeof value.model_type === 'string'
  );
}

function fromConfig(
  value: unknown,
  id: string,
  origin: Exclude<Model['origin'], 'catalog'>,
  place: string,
): ModelFinding {
  if (!isConfig(value)) {
    return { reason: say('{0} has no model_type, so it describes no Hugging Face model.', place) };
  }
  const built = modelFromConfig(value, id, origin);
  return 'error' in built ? { reason: `${place}: ${built.error}` } : { model: built };
}

async function fromFile(uri: string, id: string, files: ModelFiles): Promise<ModelFinding | undefined> {
  const text = await files.readText(uri);
  if (text === undefined) {
    return undefined;
  }
  let value: unknown;
  try {
    value = readPythonJson(text);
  } catch {
    return { reason: say('{0} is not valid JSON.', pathOfUri(uri)), uri };
  }
  return { ...(await withStoredType(fromConfig(value, id, 'config.json', pathOfUri(uri)), uri, files)), uri };
}

/** A model whose config does not name the type of its weights, in that of the files beside it. */
async function withStoredType(finding: ModelFinding, uri: string, files: ModelFiles): Promise<ModelFinding> {
  const { model } = finding;
  const { dtype, torch_dtype: older, quantization_config: quantized } = model?.config ?? ({} as ModelConfig);
  if (!model || (dtype ?? older ?? quantized ?? undefined) !== undefined) return finding;
  const publishedDtype = await storedType(uri, model, files);
  return publishedDtype ? { ...finding, model: { ...model, publishedDtype } } : finding;
}

/** A model folder or a `config.json`, relative to the file that names it. */
async function fromPath(path: string, from: string, files: ModelFiles): Promise<ModelFinding | undefined> {
  for (const candidate of candidates(path, from, files)) {
    const uri = candidate.endsWith('.json') ? candidate : `${candidate}/config.json`;
    const found = await fromFile(uri, path, files);
    if (found) {
      return found;
    }
  }
  return undefined;
}

async function fromHubCache(id: string, files: ModelFiles): Promise<ModelFinding | undefined> {
  const cache = hubCache(files.environment, files.home);
  if (cache === undefined || !/^[\w.-]+(?:\/[\w.-]+)?$/.test(id)) {
    return undefined;
  }
  const folder = `${cache}/models--${id.replace('/', '--')}`;
  const revision = (await files.readText(`${folder}/refs/main`))?.trim();
  if (!revision || !/^[\w.-]+$/.test(revision)) {
    return undefined;
  }
  return fromFile(`${folder}/snapshots/${revision}/config.json`, id, files);
}

/** A copy of a known model: in a folder of that name, from another owner, or stored otherwise. */
function byName(name: string): ModelFinding | undefined {
  const path = name.replaceAll('\\', '/').replace(/\/config\.json$/, '');
  const found = findRepackaged(path);
  if (!found) return undefined;
  const { model, values, ending } = found;
  const place = isAbsolutePath(path) || path.split('/').length > 2 || /^\.{1,2}\//.test(path);
  const note = place
    ? say('{0} is not on this machine: taken as {1} by its name', name, model.id)
    : say('taken as a copy of {0} by its name', model.id);
  const named = ending === undefined ? note : say('the name ends in `{0}`', ending);
  const because: NonNullable<ModelFinding['because']> = {
    ...Object.fromEntries(Object.keys(values).map((field) => [field, named])),
    'quantization.checkpointBytes': say('the files of `{0}`', path.split('/').at(-1) ?? path),
  };
  return { model, note, values, because };
}

/** Characters of a command that are shown. */
const SHOWN = 60;

const inOneLine = (command: string): string => {
  const line = command.replace(/[\s\\]+/g, ' ').trim();
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
};

/** Why a name names no model at all. */
function notNamed(name: string): string | undefined {
  switch (unnamed(name)) {
    case 'variable':
      return /\$\(|`/.test(name)
        ? say('The model is "{0}", which is known only when the script runs.', inOneLine(name))
        : say('The model is "{0}", a variable that is not set here.', name);
    case 'placeholder':
      return say('"{0}" stands in the place of a model, which is still to be named.', name);
    default:
      return undefined;
  }
}

/** A named model with the sizes that the run gives it instead. */
function withChanges(finding: ModelFinding, changes: RunValues['model.changes']): ModelFinding {
  if (changes === undefined || !finding.model) return finding;
  const changed = changedConfig(finding.model.config, changes);
  if ('missing' in changed)
    return {
      reason: say('The config of {0} has no `{1}` that could be another.', finding.model.id, changed.missing),
    };
  const built = modelFromConfig(changed.config, finding.model.id, 'inline');
  if ('error' in built) return { reason: `${finding.model.id}: ${built.error}` };
  const { publishedDtype } = finding.model;
  return { ...finding, model: { ...built, ...(publishedDtype ? { publishedDtype } : {}) } };
}

/** A named model as the class that loads it makes it: some make the text model alone of one that also sees. */
function asLoaded(finding: ModelFinding, loads: RunValues['model.class']): ModelFinding {
  const { model } = finding;
  const text = model && textAlone(model.config, loads);
  if (!model || !text) return finding;
  const built = modelFromConfig(text, model.id, 'inline');
  if ('error' in built) return { reason: `${model.id}: ${built.error}` };
  const { origin, sources, publishedDtype } = model;
  const note = say('`{0}` makes the text model of {1} alone', loads ?? '', model.id);
  const notes = [...model.notes, note];
  const alone = { ...built, origin, sources, notes, ...(publishedDtype ? { publishedDtype } : {}) };
  return { ...finding, model: alone };
}

/**
 * Finds the model that a run names, with the sizes that it gives it, as the class that loads it makes it: see `findNamed`. Never throws on what
 * the files hold.
 */
export async function findModelOf(
  values: RunValues,
  origins: Partial<Record<'model.id' | 'model.path' | 'model.config', Origin>>,
  from: string,
  files: ModelFiles,
): Promise<ModelFinding> {
  const named = withChanges(await findNamed(values, origins, from, files), values['model.changes']);
  return asLoaded(named, values['model.class']);
}

/**
 * Finds the model that a run names: spelled out, in a folder, in the catalog, or in the Hugging Face cache. `from` is
 * the config at hand; a path counts from the file that states it.
 */
async function findNamed(
  values: RunValues,
  origins: Partial<Record<'model.id' | 'model.path' | 'model.config', Origin>>,
  from: string,
  files: ModelFiles,
): Promise<ModelFinding> {
  const config = values['model.config'];
  if (config !== undefined) {
    return fromConfig(
      config,
      values['model.id'] ?? String(config.model_type ?? 'model'),
      'inline',
      say('The model config'),
    );
  }
  const path = values['model.path'];
  if (path !== undefined) {
    const stated = origins['model.path']?.location?.uri ?? from;
    const found = (await fromPath(path, stated, files)) ?? (values['model.id'] ? undefined : byName(path));
    if (found) {
      return found;
    }
  }
  const id = values['model.id'];
  if (id === undefined) {
    if (path === undefined) return {};
    const absent = notNamed(path);
    if (absent !== undefined) return { reason: absent, unnamed: true };
    return { reason: say('There is no model config at "{0}".', path) };
  }
  const known = findModel(id);
  if (known) {
    return { model: known };
  }
  const stated = origins['model.id']?.location?.uri ?? from;
  const found = (await fromPath(id, stated, files)) ?? (await fromHubCache(id, files));
  if (found) {
    return found;
  }
  const copy = byName(id);
  if (copy) {
    return copy;
  }
  const absent = notNamed(id);
  if (absent !== undefined) {
    return { reason: absent, unnamed: true };
  }
  const hint = suggested(suggestModels(id, 2));
  return {
    reason: say(
      '"{0}" is neither in the catalog, nor in a folder here, nor in the Hugging Face cache.{1}',
      id,
      hint,
    ),
  };
}
