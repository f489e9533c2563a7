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
