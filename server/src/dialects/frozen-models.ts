import { numberOf, textsOf } from '../config/scalar';
import { findModel } from '../model/catalog';
import { findRepackaged } from '../model/repackaged';
import type { FieldValue } from '../run/fields';
import { say } from '../wording/say';
import type { FoundKey, Section } from './section';

/**
 * States a teacher whose logits are compared with the model's: which model of the catalog it is, beside its weights, and
 * what is taken of both logits. Whoever has no teacher of its own teaches itself. One that is not `resident` waits in host memory.
 */
export function stateTeacher(section: Section, key: string, resident = true): void {
  if (resident) stateFrozenModels(section, [key]);
  const found = section.find(key);
  const [name] = found ? (textsOf(found.node) ?? []) : [];
  const known = name === undefined ? undefined : (findModel(name) ?? findRepackaged(name)?.model);
  if (found && known) section.state('method.teacher', known.id, found);
  else if (found) section.leave(found, ['method.teacher']);
}

/** The divergence that a weight of the mixture stands for: 0 is the forward one, 1 the reverse one (TRL, `gkd_trainer.py`). */
export function divergenceOf({ node }: FoundKey): FieldValue<'loss.divergence'> | undefined {
  const beta = numberOf(node);
  if (beta === undefined) return undefined;
  if (beta <= 0) return 'forward';
  return beta >= 1 ? 'reverse' : 'mixture';
}

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
    stateUnknownModels(section, sizes.length - known.length, found);
    if (parameters > 0) section.state('method.frozenParameters', parameters, found);
  }
}

/** So many frozen models of unknown size: reported, and taken to be as large as the trained one. */
export function stateUnknownModels(section: Section, count: number, found: FoundKey): void {
  if (count === 0) return;
  section.leave(found, ['method.frozenModels']);
  section.state('method.frozenModels', count, found, say('taken to be as large as the trained model'));
}
