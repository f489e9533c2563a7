import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Lines of the longest function of the engine and of the client, and how many have more than 80: both go down as functions are split, and never up. */
const LONGEST = { server: 100, client: 131 };
const OVER_80 = 18;

const FUNCTION = /^(?:export )?(?:default )?(?:async )?function\*? (?<name>\w+)/;
const CLASS = /^(?:export )?(?:abstract )?class \w/;
/** A member of a class that takes arguments; inside of one nothing else stands at this margin. */
const METHOD =
  /^ {2}(?:(?:private|protected|public|static|override|get|set|async) )*\*?(?<name>#?\w+)(?:<.*)?\(/;

interface Measured {
  readonly name: string;
  readonly lines: number;
}

/** Functions and methods of a formatted source with the lines from their first to their closing brace. */
function functionsOf(source: string): Measured[] {
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

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.d)\.ts$/.test(name) && !/(^|[\\/])(dist|node_modules)[\\/]/.test(name))
    .map((name) => path.join(folder, name));
}

describe('functions', () => {
  it('stay short enough to be read at once', () => {
    const all = ['server/src', 'client/src', 'client/webview'].flatMap(sources).flatMap((file) =>
      functionsOf(readFileSync(file, 'utf8')).map(({ name, lines }) => ({
        name: `${file} ${name}`,
        lines,
      })),
    );
    assert.ok(all.length > 3000, `only ${all.length} functions were found`);
    const long = all.filter(({ lines }) => lines > 80).sort((a, b) => b.lines - a.lines);
    const words = long.map(({ name, lines }) => `${lines} ${name}`).join('\n');
    for (const [wing, longest] of Object.entries(LONGEST)) {
      const lines = long.find(({ name }) => name.startsWith(wing))?.lines ?? 0;
      assert.ok(lines <= longest, words);
    }
    assert.ok(long.length <= OVER_80, words);
  });

  it('are measured from their names to their closing braces', () => {
    const source =
      'export function a(\n  b: number,\n): void {\n  if (b) {\n  }\n}\n\nclass C {\n  d(): void {\n  }\n}\n';
    assert.deepEqual(functionsOf(source), [
      { name: 'a', lines: 6 },
      { name: 'd', lines: 2 },
    ]);
  });
});
