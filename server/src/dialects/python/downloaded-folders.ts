import { stringOf } from '../../config/python/node-of-value';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';

/** What loads a repository of a hub into a folder (`huggingface_hub`, `modelscope`). */
const DOWNLOADS = /(?:^|\.)snapshot_download$/;

/** A folder as it is compared: `./models/` is `models`. */
const folder = (path: string): string => path.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '');

/** The repository of a call, where it holds a model. */
function repositoryOf(call: PyCall): PyValue | undefined {
  const type = argumentOf(call, 'repo_type');
  const holdsModel =
    type === undefined || type.kind !== 'scalar' || type.value === null || type.value === 'model';
  const name = argumentOf(call, 'repo_id', 0) ?? argumentOf(call, 'model_id', 0);
  return holdsModel && stringOf(name) !== undefined ? name : undefined;
}

/** The repository whose files a folder holds, that a model is loaded from: the code has downloaded them there before. */
export function downloadedAs(
  { calls }: Pick<PyProgram, 'calls'>,
  { id: before }: PyCall,
  given: PyValue | undefined,
): PyValue | undefined {
  if (given?.kind === 'object') {
    const made = given.item === undefined ? calls[given.id] : undefined;
    return made && DOWNLOADS.test(made.callee) ? repositoryOf(made) : undefined;
  }
  const path = stringOf(given);
  if (path === undefined) return undefined;
  const into = calls.findLast((call) => {
    const place =
      DOWNLOADS.test(call.callee) && call.id < before ? stringOf(argumentOf(call, 'local_dir')) : undefined;
    return place !== undefined && folder(place) === folder(path);
  });
  return into && repositoryOf(into);
}
