import type { Position } from '../../text/place';
import { Lines } from '../lines';

/** The first line of a notebook that Databricks keeps as a script. */
const HEAD = /^# Databricks notebook source[ \t]*(?:\r?\n|$)/;
/** As scripts that are edited in cells begin one. */
const CELL = '# %%';
const BETWEEN_CELLS = /^# COMMAND -{10}[ \t]*$/;
/** What is not Python of the notebook: magics and the lines of their cell. */
const MAGIC = /^# MAGIC(?: |$)/;
/** `# DBTITLE 1,Load the model`: the title of a cell. */
const TITLE = /^# DBTITLE\b/;
/** Magics that name the language of their whole cell, and stand before it with one percent sign. */
const LANGUAGE = /^[ \t]*%(?=(?:md|md-sandbox|sql|scala|r|sh|fs)(?:\s|$))/;
/** A cell of the notebook's own language, stated all the same. */
const PYTHON = /^[ \t]*%python[ \t]*$/;
/** Another notebook that runs here: what it defines is this one's too. Its path stands with or without quotes, arguments may follow. */
const RUN = /^[ \t]*%run[ \t]+(["']?)(\.{1,2}(?:\/[^\s"'$]+)+)\1(?:\s|$)/;

/** Lines of a script, each read as the line of a notebook that it stands for: a place is that in the script. */
class SourceLines extends Lines {
  constructor(
    text: string,
    /** Characters that each line has in the script, and those left out before it. */
    private readonly written: readonly { readonly length: number; readonly before: number }[],
  ) {
    super(text);
  }

  override position(offset: number): Position {
    const { line, character } = super.position(offset);
    const { length = character, before = 0 } = this.written[line] ?? {};
    return { line, character: Math.min(character + before, length) };
  }
}

/** Whether a text is the source of a notebook that Databricks exports. */
export const isDatabricks = (text: string): boolean => HEAD.test(text);

/** Lines of a Python file; of a notebook's source with its cells and magics as IPython has them. */
export function pythonLines(text: string): Lines {
  return isDatabricks(text) && !/\r(?!\n)/.test(text) ? sourceLines(text) : new Lines(text);
}

/** Source that Databricks exports: `# COMMAND ----------` begins a cell, and `# MAGIC` stands before lines that are no Python. */
function sourceLines(text: string): Lines {
  const read: string[] = [];
  const written: { length: number; before: number }[] = [];
  let begins = true;
  for (const whole of text.split('\n')) {
    const end = whole.endsWith('\r') ? '\r' : '';
    const line = end === '' ? whole : whole.slice(0, -1);
    const mark = MAGIC.exec(line)?.[0] ?? '';
    let own = mark === '' ? line : line.slice(mark.length);
    if (BETWEEN_CELLS.test(line) || read.length === 0) {
      own = CELL;
      begins = true;
    } else if (TITLE.test(line) || (begins && mark !== '' && PYTHON.test(own))) own = '';
    else if (mark !== '') own = magicOf(own, begins);
    if (own.trim() !== '' && own !== CELL) begins = false;
    read.push(`${own}${end}`);
    written.push({ length: line.length, before: own === line ? 0 : mark.length });
  }
  return new SourceLines(read.join('\n'), written);
}

/** A line behind `# MAGIC` as a notebook of Jupyter would have it; `begins`: nothing stands before it in its cell. */
function magicOf(line: string, begins: boolean): string {
  const [, , path] = RUN.exec(line) ?? [];
  if (path !== undefined) return importOf(path);
  return begins ? line.replace(LANGUAGE, '%%') : line;
}

/** `../setup/models` as the import that binds the same names; a blank line where no module has such a name. */
function importOf(path: string): string {
  const parts = path.replace(/\.py$/, '').split('/');
  const above = parts.findIndex((part) => !/^\.{1,2}$/.test(part));
  const names = parts.slice(above);
  if (above < 0 || names.some((name) => !/^[A-Za-z_]\w*$/.test(name))) return '';
  const dots = '.'.repeat(1 + parts.slice(0, above).filter((part) => part === '..').length);
  return `from ${dots}${names.join('.')} import *`;
}
