import type { ArithmeticExpression } from 'unbash';

/** Value of a shell expression, in whole numbers; undefined where something in it is not known. */
export function valueOfArithmetic(
  expression: ArithmeticExpression | undefined,
  variable: (name: string) => string | undefined,
): number | undefined {
  const of = (inner: ArithmeticExpression) => valueOfArithmetic(inner, variable);
  switch (expression?.type) {
    case 'ArithmeticWord': {
      const text = expression.value.replace(/^\$\{?(\w+)\}?$/, '$1');
      const known = /^\d+$/.test(text) ? text : variable(text);
      return known !== undefined && /^-?\d+$/.test(known.trim()) ? Number(known) : undefined;
    }
    case 'ArithmeticGroup':
      return of(expression.expression);
    case 'ArithmeticUnary': {
      const value = of(expression.operand);
      if (value === undefined) return undefined;
      return expression.operator === '-' ? -value : expression.operator === '+' ? value : undefined;
    }
    case 'ArithmeticTernary': {
      const test = of(expression.test);
      return test === undefined ? undefined : of(test !== 0 ? expression.consequent : expression.alternate);
    }
    case 'ArithmeticBinary':
      return binary(expression.operator, of(expression.left), of(expression.right));
    default:
      return undefined;
  }
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

function binary(operator: string, a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
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
    default:
      return undefined;
  }
}
