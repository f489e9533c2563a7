/** A row as the editor's window has it: no object of an extension, but its place among the rows that it got. */
interface DrawnRow {
  readonly handle: number;
  readonly label: string;
  readonly alwaysShow: boolean;
}

interface Row {
  readonly label: string;
  readonly alwaysShow?: boolean;
}

/**
 * VS Code's `QuickPick`, both sides of it, and two queues between them that a test moves on message by message. As in VS Code 1.139: the
 * window filters the rows that it has with each letter, goes to the first of its own order, and reports that before the letter; Enter
 * reports the row and then itself; rows that are set go out together, later, and a place is looked up among the rows that the extension
 * set last (`extHostQuickOpen.ts`, `quickInput.ts`, `mainThreadQuickOpen.ts`).
 */
export class FakePicker<R extends Row> {
  readonly #toWindow: (() => void)[] = [];
  readonly #toExtension: (() => void)[] = [];
  #listener: () => unknown = () => undefined;
  #pending: { items?: readonly DrawnRow[]; active?: number } | undefined;

  // The extension's side.
  value = '';
  selectedItems: readonly R[] = [];
  #items: readonly R[] = [];
  #active: readonly R[] = [];

  // The window's side.
  text = '';
  #rows: readonly DrawnRow[] = [];
  #focused: DrawnRow | undefined;

  get items(): readonly R[] {
    return this.#items;
  }

  set items(rows: readonly R[]) {
    this.#items = [...rows];
    const items = rows.map(({ label, alwaysShow = false }, handle) => ({ handle, label, alwaysShow }));
    this.#pending = { ...this.#pending, items };
  }

  get activeItems(): readonly R[] {
    return this.#active;
  }

  set activeItems(rows: readonly R[]) {
    this.#active = rows;
    const [row] = rows;
    this.#pending = { ...this.#pending, active: row ? this.#items.indexOf(row) : undefined };
  }

  onDidChangeValue(listener: () => unknown): void {
    this.#listener = listener;
  }

  /** What was set goes out, and a command behind it: settles when that was answered. */
  async drawn(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    this.flush();
    await new Promise<void>((resolve) => {
      this.#toWindow.push(() => this.#toExtension.push(resolve));
    });
  }

  flush(): void {
    const { items, active } = this.#pending ?? {};
    this.#pending = undefined;
    if (items)
      this.#toWindow.push(() => {
        this.#rows = items;
        this.#focusFirst();
      });
    if (active !== undefined)
      this.#toWindow.push(() => this.#focus(this.#rows.find(({ handle }) => handle === active)));
  }

  /** Lets one message reach the window; whether there was one. */
  reachWindow(): boolean {
    const message = this.#toWindow.shift();
    message?.();
    return message !== undefined;
  }

  reachExtension(): boolean {
    const message = this.#toExtension.shift();
    message?.();
    return message !== undefined;
  }

  /** What a person sees marked. */
  get shown(): string | undefined {
    return this.#focused?.label;
  }

  type(letter: string): void {
    this.text += letter;
    this.#focusFirst();
    const { text } = this;
    this.#toExtension.push(() => {
      this.value = text;
      this.#listener();
    });
  }

  down(): void {
    const seen = this.#seen();
    const at = this.#focused ? seen.indexOf(this.#focused) : -1;
    this.#focus(seen[(at + 1) % Math.max(seen.length, 1)]);
  }

  enter(accept: () => void): void {
    const focused = this.#focused;
    if (focused)
      this.#toExtension.push(() => {
        const row = this.#items[focused.handle];
        this.selectedItems = row ? [row] : [];
      });
    this.#toExtension.push(accept);
  }

  /** Rows that the window shows: those that it finds by itself, the shortest first. */
  #seen(): readonly DrawnRow[] {
    if (this.text === '') return this.#rows;
    const typed = this.text.trim().toLowerCase();
    return this.#rows
      .filter(({ label, alwaysShow }) => alwaysShow || label.toLowerCase().includes(typed))
      .sort((one, other) => one.label.length - other.label.length || one.label.localeCompare(other.label));
  }

  #focusFirst(): void {
    this.#focus(this.#seen()[0]);
  }

  #focus(row: DrawnRow | undefined): void {
    if (row === this.#focused) return;
    this.#focused = row;
    this.#toExtension.push(() => {
      const active = row && this.#items[row.handle];
      this.#active = active ? [active] : [];
    });
  }
}
