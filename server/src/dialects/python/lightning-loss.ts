import { codeOf, type PyFunction, type PyProgram, type PyValue } from '../../config/python/value';

/** The statements of a function, a line each, without comments: lines inside brackets belong to the one before. */
function statements(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  for (const line of text.split('\n')) {
    const code = line.replace(/(^|\s)#.*$/, '').trim();
    const last = found.at(-1);
    if (depth > 0 && last !== undefined) found[found.length - 1] = `${last} ${code}`;
    else found.push(code);
    depth += (code.match(/[([{]/g)?.length ?? 0) - (code.match(/[)\]}]/g)?.length ?? 0);
  }
  return found;
}

/** Whether `forward` hands what it gets on to what the module holds, labels too. */
function handsOn(forward: PyFunction | undefined): boolean {
  const text = forward ? codeOf(forward) : '';
  return /\breturn\s+self\.\w+\([\s\S]*(?:\blabels\b|\*\*)/.test(text);
}

/**
 * Whether `training_step` of a Lightning module gives back the loss that the model which it holds computes of labels: `return outputs.loss`,
 * `outputs["loss"]` or `outputs[0]` of `self.model(..., labels=...)`, or of `self(...)` where `forward` hands labels on.
 */
export function returnsOwnLoss({ calls, classes }: PyProgram, module: PyValue | undefined): boolean {
  const made = module?.kind === 'object' && module.item === undefined ? calls[module.id] : undefined;
  const methods = classes.find(({ name }) => name === made?.subclass)?.methods;
  const step = methods?.get('training_step');
  if (!methods || !step) return false;
  const all = statements(codeOf(step));
  const assigned = (name: string) =>
    all.findLast((statement) => new RegExp(`^${name}\\s*=(?!=)`).test(statement))?.replace(/^\w+\s*=\s*/, '');
  const isOwn = (given: string): boolean => {
    const text = /^\w+$/.test(given) ? assigned(given) : given;
    const answer = /^(\w+|self(?:\.\w+)?\([\s\S]*\))(?:\.loss|\[(?:0|["']loss["'])\])$/.exec(text ?? '')?.[1];
    const call = answer !== undefined && /^\w+$/.test(answer) ? assigned(answer) : answer;
    const held = /^self(\.\w+)?\(([\s\S]*)\)$/.exec(call ?? '');
    if (!held || !/\blabels\s*=|\*\*/.test(held[2] ?? '')) return false;
    return held[1] !== undefined ? !methods.has(held[1].slice(1)) : handsOn(methods.get('forward'));
  };
  const returned = all.flatMap((statement) => /^return\s+([\s\S]+)$/.exec(statement)?.[1]?.trim() ?? []);
  return returned.length > 0 && returned.every(isOwn);
}
