/** What VS Code's `QuickPick` has of a list with a field to type into. */
interface TypedPick<Row> {
  readonly value: string;
  items: readonly Row[];
  activeItems: readonly Row[];
  readonly selectedItems: readonly Row[];
  onDidChangeValue(listener: () => unknown): unknown;
}

interface Following<Row> {
  /** The rows for what is typed, and which of them Enter is to take. */
  readonly rowsFor: (text: string) => { readonly rows: readonly Row[]; readonly best: Row | undefined };
  /** Whether two rows, of before and of now, stand for the same. */
  readonly isSame: (one: Row, other: Row) => boolean;
  /** Settles when the editor shows what was set before, and all that it had to say of the rows until then was heard. */
  readonly untilDrawn: () => Promise<void>;
  /** Settles when all rows are known; asked only where a better one than the best so far may come. */
  readonly untilWhole: (text: string) => Promise<void> | undefined;
}

interface Followed<Row> {
  /** Shows what is known now; a person who went to a row stays on it. */
  more(): void;
  /** What the key Enter stands for. */
  answer(): Promise<Row | undefined>;
}

/**
 * Keeps the rows of a list those for what is typed. Keys, rows and Enter cross each other between the editor's window and its extensions,
 * and the window names a row by its place among those that it shows: until the rows that were set last are drawn, what it reports of them is
 * about others.
 */
export function followTyping<Row>(pick: TypedPick<Row>, by: Following<Row>): Followed<Row> {
  /** The row that a person is on who goes to no other. */
  let start: Row | undefined = by.rowsFor('').best;
  /** Until the rows that were set last are drawn; undefined from then on. */
  let drawing: Promise<void> | undefined;
  const show = (own: Row | undefined) => {
    const { rows, best } = by.rowsFor(pick.value.trim());
    // The editor sorts what matches by itself; what Enter takes is the best answer wherever it stands.
    const active = (own && rows.find((row) => by.isSame(row, own))) ?? best;
    start = best;
    pick.items = rows;
    if (active !== undefined) pick.activeItems = [active];
    const drawn = by.untilDrawn();
    drawing = drawn;
    void drawn.then(() => {
      if (drawing === drawn) drawing = undefined;
    });
  };
  const isStart = (row: Row) => start !== undefined && by.isSame(row, start);
  /** The row that a person went to themself, as far as that is known. */
  const goneTo = ([row]: readonly Row[]) =>
    drawing !== undefined || row === undefined || isStart(row) ? undefined : row;
  // With each letter the editor goes to a row by its own search: where a person was before counts no more.
  pick.onDidChangeValue(() => show(undefined));
  return {
    more: () => show(goneTo(pick.activeItems)),
    async answer() {
      const chosen = goneTo(pick.selectedItems);
      if (chosen !== undefined) return chosen;
      // Who types and presses Enter at once is faster than the rows: what is meant is the row that they are on once all are there.
      await by.untilWhole(pick.value.trim());
      while (drawing) await drawing;
      return pick.activeItems[0] ?? by.rowsFor(pick.value.trim()).best;
    },
  };
}
