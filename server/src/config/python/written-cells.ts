import { readJson } from '../json';
import { Lines } from '../lines';
import type { ConfigNode } from '../node';
import { readYaml } from '../yaml';
import { cellsOf, markOf, shellStart } from './cells';

/** `%%writefile ds.json`, the whole cell. */
const CELL = /^\s*%%(?:writefile|file)[ \t]+(?<path>["']?[^\s"']+["']?)[ \t]*(?:\r?\n|$)/;
/** `cat > ds.json << 'EOF'` and `cat << EOF > ds.json` of a cell for the shell. */
const HEREDOC =
  /\bcat[ \t]*(?:>[ \t]*(?<before>\S+)[ \t]*<<-?[ \t]*(?<q1>["']?)(?<e1>\w+)\k<q1>|<<-?[ \t]*(?<q2>["']?)(?<e2>\w+)\k<q2>[ \t]*>[ \t]*(?<after>\S+))[ \t]*\r?\n/g;

/**
 * Settings that cells of a notebook write into files, by path and with their places in the text; undefined where they are no JSON
 * and no YAML. `%%writefile -a` adds to a file, whose whole nobody sees: it is left out.
 */
export function writtenCells(text: string): Map<string, ConfigNode | undefined> {
  const found = new Map<string, ConfigNode | undefined>();
  if (!/^\s*%%(?:writefile|file|bash|sh|script)\b/m.test(text)) return found;
  let at = 0;
  for (const cell of cellsOf(text)) {
    const start = at + markOf(cell).length;
    const body = cell.slice(start - at);
    at += cell.length;
    const whole = CELL.exec(body);
    const path = whole?.groups?.path?.replaceAll(/["']/g, '');
    if (whole && path) found.set(path, settingsIn(text, path, start + whole[0].length, at));
    if (shellStart(body) === undefined) continue;
    for (const heredoc of body.matchAll(HEREDOC)) {
      const { before, after, e1, e2 } = heredoc.groups ?? {};
      const file = (before ?? after ?? '').replaceAll(/["']/g, '');
      const from = heredoc.index + heredoc[0].length;
      const end = body.slice(from).search(new RegExp(`^[ \\t]*${e1 ?? e2}[ \\t]*\\r?$`, 'm'));
      if (end >= 0) found.set(file, settingsIn(text, file, start + from, start + from + end));
    }
  }
  return found;
}

/** A stretch of the text as JSON or YAML: the rest is blank, so that places stay. */
function settingsIn(text: string, path: string, from: number, to: number): ConfigNode | undefined {
  if (!/\.(?:json|ya?ml)$/i.test(path)) return undefined;
  const blank = (part: string) => part.replace(/[^\r\n]/g, ' ');
  const alone = blank(text.slice(0, from)) + text.slice(from, to) + blank(text.slice(to));
  const lines = new Lines(alone);
  const { root, problems } = /\.json$/i.test(path) ? readJson(lines, path) : readYaml(lines, path);
  return problems.some(({ severity }) => severity === 'error') ? undefined : (root ?? undefined);
}
