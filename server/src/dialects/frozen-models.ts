import { textsOf } from '../config/scalar';
import { findModel } from '../model/catalog';
import { findRepackaged } from '../model/repackaged';
import { say } from '../wording/say';
import type { Section } from './section';

/**
 * States the models that lie frozen beside the trained one, such as a teacher or reward models, by the keys that name them:
 * with their parameters where the catalog knows them, else as large as the trained one.
 */
export function stateFrozenModels(section: Section, keys: readonly string[]): void {
  for (const key of keys) {
    const found = section.find(key);
    if (!found) continue;
    const names = textsOf(found.node) ?? [];
    const sizes = names.map((name) => (findModel(name) ?? findRepackaged(name)?.model)?.parameters.total);
    const known = sizes.filter((size) => size !== undefined);
    const parameters = known.reduce((sum, size) => sum + size, 0);
    if (parameters > 0) section.state('method.frozenParameters', parameters, found);
    const unknown = sizes.length - known.length;
    if (unknown > 0)
      section.state('method.frozenModels', unknown, found, say('taken to be as large as the trained model'));
  }
}
