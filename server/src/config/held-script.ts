import type { Lines } from './lines';
import type { ConfigDocument } from './node';
import { readShell } from './shell';
import type { PlacedText } from './shell/placed-text';
import { ScriptSource } from './shell/script-source';

/**
 * A script that stands among other text, as a document of its own whose values have their places in that text. Undefined where `isWorth`,
 * which looks at the script first, turns it away, and where it does not parse: `--model <model>` is a pattern and no command.
 */
export function heldScript(
  uri: string,
  lines: Lines,
  script: PlacedText,
  isWorth: (script: string) => boolean,
): ConfigDocument | undefined {
  const source = new ScriptSource(script);
  if (!isWorth(source.text)) return undefined;
  const { root, problems, otherWays, runs } = readShell(lines, source);
  if (problems.length > 0) return undefined;
  const ways = otherWays ? { otherWays } : {};
  const others = runs ? { runs, heldIn: { lines, script } } : {};
  return { uri, format: 'shell', root, problems, directives: [], relaxedJson: false, ...ways, ...others };
}
