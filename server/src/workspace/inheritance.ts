import { baseConfigs, defaultsOf, fileOf } from '../config/defaults-list';
import { isStated } from '../run/origin';
import type { ConfigReading } from './config-reading';
import type { Use } from './parents';

/**
 * Whether a config names another one to inherit from it: it is another run, which starts from the same values. Options of groups are
 * parts of the run that takes them, and a script starts what it names.
 */
export function inherits({ config: { document }, link }: Use): boolean {
  if (link.role !== 'include' || isLaunch(document)) return false;
  if (!baseConfigs(document).some(({ path }) => path === link.path)) return link.key !== 'defaults';
  return defaultsOf(document).some(
    (item) => item.group === undefined && item.options.some(({ name }) => fileOf(item, name) === link.path),
  );
}

/** Whether a config has others that it inherits from. */
export function takesIn({ document, reading: { links } }: ConfigReading): boolean {
  return !isLaunch(document) && links.some(({ role }) => role === 'include');
}

/** Whether a file starts what it names: a script, a program, a command that a text shows. */
function isLaunch({ format, isShown }: ConfigReading['document']): boolean {
  return isShown === true || format === 'shell' || format === 'python';
}

/** Whether a config is a run by itself: the model, how many samples a step takes, and how long they are follow from it alone. */
export function isRunByItself({ reading: { facts } }: ConfigReading): boolean {
  const found = (isOne: (field: string) => boolean) => facts.some(({ field }) => isOne(field));
  const states = (isOne: (field: string) => boolean) =>
    facts.some(({ field, origin }) => isOne(field) && isStated(origin));
  return (
    found((field) => /^model\.(?:id|path|config)$/.test(field)) &&
    states((field) => /^batch\.(?:micro|global|accumulation)$/.test(field)) &&
    found((field) => field === 'batch.sequence')
  );
}
