import type { FileChange, Planned } from '../../server/src/shared/protocol';

/** The words of the list that is shown before anything is written. */
interface WriteWords {
  readonly write: string;
  /** In place of it, where nothing is written but notes that change no training. */
  readonly note: string;
  readonly written: string;
  readonly byHand: string;
  newFile(name: string): string;
  noteIn(name: string): string;
}

/** A row: what is decided, what is written into a file, or what is left to do; a heading has nothing but its label. */
interface WriteRow {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  readonly heading?: boolean;
  readonly write?: boolean;
  readonly uri?: string;
}

/** Everything that happens when the first row is chosen: every file with its lines, which of them Oomlint alone reads, and what is done by hand. */
export function writeRows({ files, byHand }: Planned, label: string, words: WriteWords): WriteRow[] {
  const onlyNotes = files.every(({ note }) => note);
  return [
    { label: `$(check) ${onlyNotes ? words.note : words.write}`, description: label, write: true },
    ...(byHand.length > 0 ? [{ label: words.byHand, heading: true }] : []),
    ...byHand.map((line) => ({ label: `$(tools) ${line.replaceAll('`', '')}` })),
    { label: words.written, heading: true },
    ...files.map((file) => ({
      label: `$(${file.note ? 'note' : 'file'}) ${nameOf(file, words)}`,
      detail: linesOf(file),
      // There is nothing to open of what is not there yet.
      ...(file.create ? {} : { uri: file.uri }),
    })),
  ];
}

function nameOf({ name, note, create }: FileChange, words: WriteWords): string {
  if (note) return words.noteIn(name);
  return create ? words.newFile(name) : name;
}

/** `− "stage": 2, + "stage": 3,`. */
function linesOf({ removed, added }: FileChange): string {
  const marked = (mark: string, lines: readonly string[]) => lines.map((line) => `${mark} ${line.trim()}`);
  return [...marked('−', removed), ...marked('+', added)].join('  ');
}
