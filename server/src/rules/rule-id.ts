/**
 * The names of all rules. Each table of rules adds its own beside itself (`declare module`), a family's in its folder: a problem
 * can carry no name that is in none of them.
 */
// biome-ignore lint/suspicious/noEmptyInterface: tables add to it.
export interface RuleNames {}

/** The name of a rule, kebab-case: what stands behind a problem and in `# oomlint: ignore[...]`. */
export type RuleId = keyof RuleNames;

declare const taught: unique symbol;
/** The name of a rule that a team teaches in a vocabulary of its own: any word. */
export type TaughtRuleId = string & { readonly [taught]: true };
