import type { Fact } from '../../run/origin';
import type { Member } from '../member';
import { factsOfMember } from '../runs';

/** What the files of a run state together. */
export interface Statements {
  /** In reading order. */
  readonly facts: readonly Fact[];
  /** Statements that a file of another family puts out of effect. */
  readonly replaced: readonly Fact[];
}

/** Joins the statements of the files of a run; families say which of others they replace. */
export function statementsOf(members: readonly Member[]): Statements {
  const giver = members.find(({ config }) => config.reading.givesOptimizer)?.config;
  const rules = members.flatMap(({ config: { dialect, reading } }) => {
    if (giver && giver.dialect !== dialect) return [];
    const replaces = dialect.joins?.replaces?.(reading.facts);
    return replaces ? [{ dialect, replaces }] : [];
  });
  const replaced: Fact[] = [];
  const facts = members.flatMap((member) => {
    const others = rules.filter(({ dialect }) => dialect !== member.config.dialect);
    return factsOfMember(member, members).filter((stated) => {
      const isGiven =
        giver !== undefined &&
        member.config !== giver &&
        stated.field.startsWith('optimizer.') &&
        stated.origin.kind !== 'directive';
      const counts = !isGiven && !others.some(({ replaces }) => replaces(stated));
      if (!counts && stated.origin.kind !== 'default') replaced.push(stated);
      return counts;
    });
  });
  const ways = new Set(members.flatMap(({ config }) => config.dialect.joins?.givesWay ?? []));
  const counting = facts.filter((stated) => ![...ways].some((givesWay) => givesWay(stated, facts)));
  return { facts: counting, replaced };
}
