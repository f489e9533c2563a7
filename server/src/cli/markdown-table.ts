/** Text in a cell of a Markdown table, on one line. */
export const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');

/** A Markdown table of rows whose cells are texts already; nothing where there are no rows. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return rows.length === 0
    ? []
    : [`${line(head)}\n|${' --- |'.repeat(head.length)}\n${rows.map(line).join('\n')}`];
}
