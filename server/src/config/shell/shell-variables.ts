import { type Assignment, type Command, parse } from 'unbash';
import { ControlFlow, outcomeOf, plainWord } from './control-flow';
import { MOST_WORDS } from './job';
import { isUnset, type PlacedText, splitAtBlanks, splitBy, splitOnce, textOfPieces } from './placed-text';
import { firstLine, trimmed } from './printed-text';
import type { Variable } from './scope';
import { ScriptSource } from './script-source';

/** What gives variables their values: assignments, declarations, `read` and `let`. */
export abstract class ShellVariables extends ControlFlow {
  /** Variables of the callers that the function at hand hides. */
  protected locals: Map<string, Variable | undefined> | undefined;

  /** `let N=N+1` */
  protected let(word: PlacedText): void {
    const source = new ScriptSource([plainWord('((').text, word, plainWord('))').text].flat());
    const command = parse(source.text).commands[0]?.command;
    if (command?.type !== 'ArithmeticCommand') return;
    this.within(source, () => {
      this.outcome = outcomeOf(this.expander.arithmetic(command.expression));
    });
  }

  protected unknown(text: PlacedText) {
    const [first] = text;
    return {
      text: textOfPieces(text),
      start: first?.start ?? 0,
      end: first?.end ?? 0,
      exact: false,
      opaque: true,
    };
  }

  /** `read -r -d '' NAME <<EOF`, `IFS=, read -ra NAMES <<< "$LIST"`; without an input that is known the names are not, either. */
  protected read(
    words: readonly PlacedText[],
    input: PlacedText | undefined,
    split: PlacedText | undefined,
  ): void {
    let array = false;
    let whole = false;
    const names: string[] = [];
    for (let i = 0; i < words.length; i++) {
      const text = textOfPieces(words[i] ?? []);
      if (!text.startsWith('-')) names.push(text);
      else {
        array ||= /a/.test(text);
        whole ||= /d/.test(text);
        if (/[dnptNiu]$/.test(text)) i++;
      }
    }
    const [name] = names;
    if (name === undefined) return;
    if (!input) {
      for (const each of names)
        if (!this.scope.get(each)) this.scope.put(each, { text: [this.unknown(words.flat())] });
      return;
    }
    if (array) {
      const by = split ? textOfPieces(split) : ' ';
      const items = by.trim() === '' ? splitAtBlanks(input).fields : splitBy(input, by, MOST_WORDS);
      this.scope.put(name, { items: new Map(items.map((item, i) => [String(i), item])) });
      return;
    }
    if (whole || names.length === 1) this.scope.set(name, whole ? trimmed(input) : firstLine(input));
    else {
      const by = split ? textOfPieces(split) : ' ';
      const fields =
        by.trim() === '' ? splitAtBlanks(firstLine(input)).fields : splitBy(firstLine(input), by, MOST_WORDS);
      for (const [i, each] of names.entries()) this.scope.set(each, fields[i] ?? []);
    }
  }

  protected declare(name: string, node: Command): void {
    const flags = node.args.flatMap((argument) =>
      argument.type === 'Word' && /^[-+]/.test(argument.value) ? [argument.value] : [],
    );
    const exported = name === 'export' ? !flags.includes('-n') : flags.some((flag) => /x/.test(flag));
    for (const argument of node.args) {
      if (argument.type === 'Assignment') {
        this.hide(name, argument.name);
        this.assign(
          argument,
          flags.some((flag) => /A/.test(flag)),
        );
        if (exported) this.scope.export(argument.name, true);
        else if (name === 'export') this.scope.export(argument.name, false);
        continue;
      }
      if (/^[-+]/.test(argument.value)) continue;
      for (const field of this.expander.fields(argument)) {
        const split = splitOnce(field, '=');
        const variable = textOfPieces(split?.before ?? field);
        this.hide(name, variable);
        if (split) this.scope.put(variable, { text: split.after });
        else if (name !== 'export' && name !== 'readonly' && !this.scope.get(variable))
          this.scope.put(
            variable,
            flags.some((flag) => /a/i.test(flag)) ? { items: new Map() } : { text: [] },
          );
        if (name === 'export' || exported) this.scope.export(variable, exported);
      }
    }
  }

  /** A local variable hides the caller's. */
  protected hide(declared: string, variable: string): void {
    if (!this.locals || declared === 'export' || declared === 'readonly' || this.locals.has(variable)) return;
    this.locals.set(variable, this.scope.get(variable));
    if (declared === 'local') this.scope.unset(variable);
  }

  /** `key=value` behind a command is an argument like any other. */
  protected asWord(assignment: Assignment): PlacedText {
    const { value, pos } = assignment;
    if (value.type !== 'Word') return this.source.slice(pos, assignment.end);
    return [...this.source.slice(pos, value.pos), ...this.expander.joined(value)];
  }

  protected assign(assignment: Assignment, associative = false): void {
    const { name, value, append, index } = assignment;
    const { scope, expander } = this;
    if (value.type === 'ArrayValue') {
      const known = scope.get(name);
      const items = new Map(append ? known?.items : undefined);
      let next = 1 + [...items.keys()].reduce((most, key) => Math.max(most, indexOf(key)), -1);
      for (const element of value.elements) {
        const keyed = /^\[([^\]]*)\]=/.exec(element.text);
        if (keyed) {
          const split = splitOnce(expander.joined(element), '=');
          const key = textOfPieces(split?.before ?? []).replace(/^\[|\]$/g, '');
          if (split) {
            items.set(key, split.after);
            next = Math.max(next, indexOf(key) + 1);
          }
          continue;
        }
        for (const field of expander.fields(element)) items.set(String(next++), field);
      }
      scope.put(name, { items });
      return;
    }
    // First what is assigned: it may set the variable itself, `A+=${A:=1}`.
    const text = expander.joined(value);
    const known = scope.get(name);
    if (index) {
      const items = new Map(known?.items ?? (known?.text ? [['0', known.text]] : []));
      const key =
        associative || known?.items ? expander.indexOf(index, known?.items) : expander.indexOf(index, items);
      if (key !== undefined) items.set(key, append ? [...(items.get(key) ?? []), ...text] : text);
      scope.put(name, { items });
      return;
    }
    if (append && known?.items) {
      scope.put(name, {
        items: new Map([...known.items, ['0', [...(known.items.get('0') ?? []), ...text]]]),
      });
      return;
    }
    const before = append ? (known?.text ?? []) : [];
    // A variable that is given what only its own value of before may be: `X=$X`.
    if (
      !append &&
      isUnset(text) &&
      text.length === 1 &&
      text[0]?.text.replace(/[${}]/g, '') === name &&
      !known
    )
      return;
    scope.set(name, [...before, ...text]);
  }
}

/** A key of an array as a number, -1 where it is a word. */
function indexOf(key: string): number {
  const index = Number(key);
  return Number.isInteger(index) ? index : -1;
}
