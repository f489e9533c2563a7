import type { ArithmeticExpression, WordPart } from 'unbash';

/** What an expression finds and leaves behind. */
interface ArithmeticScope {
  /** Text of a variable; undefined where it is not known. */
  get(name: string): string | undefined;
  /** Sets a variable; undefined where the value is not known. */
  set(name: string, value: number | undefined): void;
  /** Text of the expansions that stand for a number; undefined where it is not known. */
  words(parts: readonly WordPart[]): string | undefined;
}

const ASSIGNING = /^(?:[-+*/%&|^]|<<|>>)?=$/;

/** Value of a shell expression, in whole numbers; undefined where something in it is not known. */
export function valueOfArithmetic(
  expression: ArithmeticExpression | undefined,
  scope: ArithmeticScope,
): number | undefined {
  const of = (inner: ArithmeticExpression) => valueOfArithmetic(inner, scope);
  switch (expression?.type) {
    case 'ArithmeticWord': {
      const known = expression.parts ? scope.words(expression.parts) : expression.value;
      return known === undefined ? undefined : numberOf(known, scope);
    }
    case 'ArithmeticGroup':
      return of(expression.expression);
    case 'ArithmeticUnary': {
      const { operator, operand, prefix } = expression;
      const value = of(operand);
      if (operator === '++' || operator === '--') {
        const next = value === undefined ? undefined : value + (operator === '++' ? 1 : -1);
        if (operand.type === 'ArithmeticWord') scope.set(operand.value, next);
        return prefix ? next : value;
      }
      if (value === undefined) return undefined;
      if (operator === '!') return Number(value === 0);
      if (operator === '~') return ~value;
      return operator === '-' ? -value : operator === '+' ? value : undefined;
    }
    case 'ArithmeticTernary': {
      const test = of(expression.test);
      return test === undefined ? undefined : of(test !== 0 ? expression.consequent : expression.alternate);
    }
    case 'ArithmeticBinary': {
      const { operator, left, right } = expression;
      if (ASSIGNING.test(operator) && left.type === 'ArithmeticWord') {
        const value = of(right);
        const made = operator === '=' ? value : binary(operator.slice(0, -1), of(left), value);
        scope.set(left.value, made);
        return made;
      }
      if (operator === '&&' || operator === '||') {
        const first = of(left);
        if (first !== undefined && (first !== 0) === (operator === '||')) return Number(first !== 0);
        const second = of(right);
        return first === undefined || second === undefined ? undefined : Number(second !== 0);
      }
      return binary(operator, of(left), of(right));
    }
    default:
      return undefined;
  }
}

/** A number, or a variable that holds one; what is empty is 0. */
function numberOf(text: string, scope: ArithmeticScope, depth = 0): number | undefined {
  const plain = text.trim().replace(/^\$\{?(\w+)\}?$/, '$1');
  if (plain === '') return 0;
  if (/^-?(?:0|[1-9]\d*)$/.test(plain)) return Number(plain);
  if (/^0x[\da-f]+$/i.test(plain)) return Number(plain);
  if (/^0[0-7]+$/.test(plain)) return Number.parseInt(plain, 8);
  if (!/^[A-Za-z_]\w*$/.test(plain) || depth > 8) return undefined;
  const known = scope.get(plain);
  return known === undefined ? undefined : numberOf(known, scope, depth + 1);
}

/** Value of the words behind `expr`: numbers and operators, products before sums. */
export function valueOfExpr(words: readonly (string | undefined)[]): number | undefined {
  const number = (word: string | undefined) =>
    word !== undefined && /^-?\d+$/.test(word) ? Number(word) : undefined;
  const terms: number[] = [];
  let value = number(words[0]);
  let sign = '+';
  const close = () => {
    if (value !== undefined) terms.push(sign === '-' ? -value : value);
  };
  for (let i = 1; i < words.length; i += 2) {
    const operator = words[i] ?? '';
    const next = number(words[i + 1]);
    if (value === undefined || next === undefined) return undefined;
    if (operator === '+' || operator === '-') {
      close();
      sign = operator;
      value = next;
    } else if (['*', '/', '%'].includes(operator)) value = binary(operator, value, next);
    else return undefined;
  }
  if (value === undefined) return undefined;
  close();
  return terms.reduce((sum, term) => sum + term, 0);
}

/** Of whole numbers; undefined beyond those that are exact here, where the shell goes on to 2^63. */
function binary(operator: string, a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  const value = plain(operator, a, b);
  return value === undefined || Number.isSafeInteger(value) ? value : undefined;
}

function plain(operator: string, a: number, b: number): number | undefined {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return b === 0 ? undefined : Math.trunc(a / b);
    case '%':
      return b === 0 ? undefined : a % b;
    case '**':
      return a ** b;
    case '<<':
      return a * 2 ** b;
    case '>>':
      return Math.floor(a / 2 ** b);
    case '<':
      return Number(a < b);
    case '>':
      return Number(a > b);
    case '<=':
      return Number(a <= b);
    case '>=':
      return Number(a >= b);
    case '==':
      return Number(a === b);
    case '!=':
      return Number(a !== b);
    case '&':
      return a & b;
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case ',':
      return b;
    default:
      return undefined;
  }
}
