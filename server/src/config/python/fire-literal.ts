/** A value as Python writes it: numbers, texts, `True`, `None`, lists and dictionaries of such. */
export type Literal =
  | string
  | number
  | boolean
  | null
  | readonly Literal[]
  | { readonly [key: string]: Literal };

const NUMBER = /^[+-]?(?:(?!0\d)\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?$/;
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const WORDS: Readonly<Record<string, boolean | null>> = { True: true, False: false, None: null };
/** Brackets in one another that are read. */
const DEEPEST = 20;

/**
 * What Fire makes of a word of the command: a literal of Python, in which bare names are texts (`fire/parser.py` of 0.7, `_LiteralEval`);
 * what is none is the text itself.
 */
export function fireLiteral(text: string): Literal {
  const reader = new Reader(text);
  const [first, ...others] = reader.items('');
  if (!reader.isSound || first === undefined) return text;
  return others.length > 0 || reader.endsInComma ? [first, ...others] : first;
}

/** The texts of a list that is written as Python writes one; undefined where it is none. */
export function textsOfList(text: string): readonly string[] | undefined {
  const list = /^\s*[[(][\s\S]*[\])]\s*$/.test(text) ? fireLiteral(text) : undefined;
  const isOfTexts = Array.isArray(list) && list.every((item) => typeof item === 'string');
  return isOfTexts ? (list as readonly string[]) : undefined;
}

class Reader {
  isSound = true;
  endsInComma = false;
  private at = 0;
  private depth = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Values with commas between, up to a bracket that closes them; the end of the text where that is empty. */
  items(close: string): Literal[] {
    const found: Literal[] = [];
    this.endsInComma = false;
    while (this.isSound && !this.closes(close)) {
      found.push(this.value());
      this.endsInComma = this.takes(',');
      if (!this.endsInComma && !this.closes(close)) this.isSound = false;
    }
    this.at += close.length;
    return found;
  }

  private closes(close: string): boolean {
    this.skipBlanks();
    return close === '' ? this.at >= this.text.length : this.text[this.at] === close;
  }

  private value(): Literal {
    this.skipBlanks();
    const opener = this.text[this.at] ?? '';
    if (++this.depth > DEEPEST) this.isSound = false;
    const value = this.isSound ? this.valueFrom(opener) : null;
    this.depth--;
    return value;
  }

  private valueFrom(opener: string): Literal {
    if (opener === '[' || opener === '(') {
      this.at++;
      const items = this.items(opener === '[' ? ']' : ')');
      const [only] = items;
      return opener === '(' && items.length === 1 && !this.endsInComma && only !== undefined ? only : items;
    }
    if (opener === '{') return this.dictionary();
    if (opener === '"' || opener === "'") return this.quoted(opener);
    const word = /^[^\s,:[\](){}'"]+/.exec(this.text.slice(this.at))?.[0] ?? '';
    this.at += word.length;
    if (Object.hasOwn(WORDS, word)) return WORDS[word] ?? null;
    if (NUMBER.test(word)) return Number(word.replaceAll('_', ''));
    // No number of Python begins with a zero before others.
    if (!NAME.test(word)) this.isSound = false;
    return word;
  }

  private dictionary(): Literal {
    this.at++;
    const entries: [string, Literal][] = [];
    while (this.isSound && !this.closes('}')) {
      const key = this.value();
      if (!this.takes(':')) this.isSound = false;
      entries.push([String(key), this.value()]);
      if (!this.takes(',') && !this.closes('}')) this.isSound = false;
    }
    this.at++;
    return Object.fromEntries(entries);
  }

  private quoted(mark: string): string {
    const end = this.text.indexOf(mark, this.at + 1);
    const inside = this.text.slice(this.at + 1, end);
    if (end < 0 || inside.includes('\\')) this.isSound = false;
    this.at = end < 0 ? this.text.length : end + 1;
    return inside;
  }

  private takes(mark: string): boolean {
    this.skipBlanks();
    if (this.text[this.at] !== mark) return false;
    this.at++;
    return true;
  }

  private skipBlanks(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++;
  }
}
