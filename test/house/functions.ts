import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourcesOf } from './imports';

const FUNCTION = /^(?:export )?(?:default )?(?:async )?function\*? (?<name>\w+)/;
const CLASS = /^(?:export )?(?:abstract )?class \w/;
/** A member of a class that takes arguments; inside of one nothing else stands at this margin. */
const METHOD =
  /^ {2}(?:(?:private|protected|public|static|override|get|set|async) )*\*?(?<name>#?\w+)(?:<.*)?\(/;

export interface MeasuredFunction {
  readonly name: string;
  readonly lines: number;
}

/** Functions and methods of a formatted source with the lines from their first to their closing brace. */
export function functionsOf(source: string): MeasuredFunction[] {
  const lines = source.split('\n');
  let inClass = false;
  return lines.flatMap((line, index) => {
    inClass = line === '}' ? false : inClass || CLASS.test(line);
    const name = (inClass ? METHOD : FUNCTION).exec(line)?.groups?.name;
    if (name === undefined) return [];
    const end = lines.indexOf(inClass ? '  }' : '}', index);
    return [{ name, lines: end - index + 1 }];
  });
}

/** All of the engine's and the client's, their names behind those of their files. */
export function allFunctions(root = '.'): MeasuredFunction[] {
  return ['server/src', 'client/src', 'client/webview']
    .flatMap((folder) => sourcesOf(folder, root))
    .flatMap((file) =>
      functionsOf(readFileSync(path.join(root, file), 'utf8')).map(({ name, lines }) => ({
        name: `${file} ${name}`,
        lines,
      })),
    );
}
