import { type Expression as Compiled, Parser } from 'expr-eval-fork';
import { closest } from '../../wording/closest';
import { say } from '../../wording/say';

/** What keys and expressions hold. */
export type Value = number | string | boolean;
/** Values by name; what is missing is not known. */
export type Scope = ReadonlyMap<string, Value>;

/** An expression over names: arithmetic, comparison, `and`, `or`, `not`, `x ? y : z` and `if(x, y, z)`, and a few functions. */
export interface Expression {
  readonly text: string;
  /** Names that it reads. */
  readonly names: readonly string[];
  /** Undefined where a name that it needs has no value, or where it makes no sense for the values. Never throws. */
  evaluate(scope: Scope, stated?: (name: string) => boolean): Value | undefined;
}

const LONGEST = 500;

/** Functions that expressions may call, beside `given("key")` and rounding: nothing that could run anything else. */
const FUNCTIONS: Readonly<Record<string, (...args: Value[]) => Value>> = {
  min: (...args) => Math.min(...args.map(Number)),
  max: (...args) => Math.max(...args.map(Number)),
  // `x ? y : z` needs quotes in YAML; this does not.
  if: (condition, yes, no) => (condition === true ? (yes ?? false) : (no ?? false)),
};

function newParser(): Parser {
  const parser = new Parser({
    allowMemberAccess: false,
    operators: { assignment: false, fndef: false, random: false, factorial: false, concatenate: false },
  });
  parser.functions = { ...FUNCTIONS };
  parser.consts = { true: true, false: false };
  return parser;
}

const parser = newParser();

/** Compiles an expression over the given names, or names what is wrong with it. */
export function compile(
  text: string,
  names: readonly string[],
): { readonly expression: Expression } | { readonly error: string } {
  if (text.length > LONGEST) return { error: say('an expression has at most {0} characters', LONGEST) };
  // `given("key")` is about a name, not about its value.
  const asked = new Set<string>();
  const plain = text.replace(/\bgiven\(\s*["']([^"']*)["']\s*\)/g, (_, name: string) => {
    asked.add(name);
    return `(given__${name.replace(/\W/g, '_')})`;
  });
  let compiled: Compiled;
  try {
    compiled = parser.parse(plain);
  } catch (error) {
    return {
      error: say('this is no expression: {0}', error instanceof Error ? error.message : String(error)),
    };
  }
  const variables = compiled.variables();
  const read = variables.filter((name) => !name.startsWith('given__'));
  for (const name of [...read.filter((known) => !Object.hasOwn(FUNCTIONS, known)), ...asked]) {
    if (names.includes(name)) continue;
    const [near] = closest(name, names, 1);
    return {
      error:
        near === undefined
          ? say('there is no key "{0}"', name)
          : say('there is no key "{0}"; did you mean "{1}"?', name, near),
    };
  }
  return {
    expression: {
      text,
      names: [...new Set([...read, ...asked])],
      evaluate: (scope, stated = (name) => scope.has(name)) => run(compiled, variables, asked, scope, stated),
    },
  };
}

function run(
  compiled: Compiled,
  variables: readonly string[],
  asked: ReadonlySet<string>,
  scope: Scope,
  stated: (name: string) => boolean,
): Value | undefined {
  const values: Record<string, Value> = Object.create(null) as Record<string, Value>;
  for (const name of asked) values[`given__${name.replace(/\W/g, '_')}`] = stated(name);
  for (const name of variables) {
    const value = scope.get(name);
    if (value !== undefined) values[name] = value;
  }
  try {
    // The library's own type of values leaves out booleans, which it evaluates all the same.
    const result: unknown = compiled.evaluate(values as Parameters<Compiled['evaluate']>[0]);
    if (typeof result === 'number') return Number.isFinite(result) ? result : undefined;
    return typeof result === 'string' || typeof result === 'boolean' ? result : undefined;
  } catch {
    return undefined;
  }
}
