import { ignoreComment } from '../rules/ignore-comment';
import type { RuleId } from '../rules/rule-id';
import type { Location, Range } from '../text/place';
import type { Problem } from '../text/problem';
import { closest, didYouMean } from '../wording/closest';
import { say } from '../wording/say';
import { FIELDS, type FieldSpec } from './fields';
import { modelField } from './model-field';
import type { Fact } from './origin';
import { fieldNames, findField, parseFact, unknownFieldMessage } from './parse-field';

/** What a directive comment states: `# oomlint: model=meta-llama/Llama-3.1-8B gpu=H100 gpus=8`, or `# oomlint: off`. */
interface DirectiveReading {
  /** True where the comment switches the whole file off. */
  readonly off: boolean;
  readonly facts: readonly Fact[];
  readonly problems: readonly Problem[];
}

const WORD = /(?<name>[^\s=,"']+)\s*=\s*(?<value>"[^"]*"|'[^']*'|[^\s,"']*)|(?<stray>[^\s,]+)/g;
/** More words are no comment of a person. */
const MOST_WORDS = 200;
/** Words that switch a file off; others are reported, not guessed at. */
const SWITCHES: readonly string[] = ['off', 'disable', 'ignore'];

/** Part of a range that lies on one line. */
function slice(range: Range, from: number, length: number): Range {
  const start = { line: range.start.line, character: range.start.character + from };
  return { start, end: { line: start.line, character: start.character + length } };
}

/** Reads the text after `oomlint:`; `location` is the place of that text. */
export function readDirective(text: string, location: Location): DirectiveReading {
  const facts: Fact[] = [];
  const problems: Problem[] = [];
  let off = false;
  const report = (code: RuleId, message: string, range: Range, replacement?: string) => {
    const data = replacement === undefined ? undefined : { replacement };
    problems.push({ code, severity: 'warning', message, range, data });
  };
  if (text.trim() === '') {
    report(
      'directive-empty',
      say('This directive says nothing: write name=value pairs, or "off".'),
      location.range,
    );
  }
  // What it silences is looked at when all problems are there.
  if (ignoreComment(text)) return { off, facts, problems };
  let words = 0;
  for (const match of text.matchAll(WORD)) {
    if (++words > MOST_WORDS) break;
    const range = slice(location.range, match.index, match[0].length);
    const { name, value, stray } = match.groups ?? {};
    if (stray !== undefined) {
      if (SWITCHES.includes(stray.toLowerCase())) {
        off = true;
      } else {
        const hint = didYouMean(stray, SWITCHES.slice(0, 1));
        report(
          'directive-word',
          say('"{0}" is not understood: write name=value pairs, or "off".{1}', stray, hint),
          range,
        );
      }
      continue;
    }
    const raw = (value ?? '').replace(/^(["'])(.*)\1$/, '$2');
    const named = findField(name ?? '');
    if (!named) {
      const nameRange = slice(location.range, match.index, (name ?? '').length);
      report(
        'unknown-field',
        unknownFieldMessage(name ?? ''),
        nameRange,
        closest(name ?? '', fieldNames(), 1)[0],
      );
      continue;
    }
    const field = named === 'model.id' ? modelField(raw) : named;
    if (facts.some((stated) => stated.field === field)) {
      report('directive-repeated', say('{0} is given twice; the first counts.', String(name)), range);
      continue;
    }
    const spec: FieldSpec = FIELDS[field];
    const valueStart = match[0].length - (value ?? '').length;
    const valueRange = slice(location.range, match.index + valueStart, (value ?? '').length);
    const parsed = parseFact(field, raw === '' && spec.type !== 'list' ? null : raw, {
      kind: 'directive',
      location: { uri: location.uri, range },
      key: name,
    });
    if ('error' in parsed) {
      report('bad-value', `${name}: ${parsed.error}.`, valueRange);
      facts.push(parsed.rejected);
    } else {
      facts.push(parsed.value);
    }
  }
  return { off, facts, problems };
}
