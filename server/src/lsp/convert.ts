import {
  type CodeLens,
  type CompletionItem,
  CompletionItemKind,
  type DocumentLink,
  type Hover,
  type InlayHint,
  InsertTextFormat,
  type MarkupContent,
  MarkupKind,
} from 'vscode-languageserver';
import { WRITE_RUN_COMMAND, type WriteRunArguments } from '../features/advice-protocol';
import type { BatchLens } from '../features/batch-lens';
import type { Lens } from '../features/code-lens';
import type { Completion } from '../features/completion/completion';
import type { FileReference } from '../features/document-links';
import type { HoverText } from '../features/hover-text';
import type { KeyHint } from '../features/inlay-hints';
import { ESTIMATE_COMMAND, type EstimateArguments } from '../features/protocol';
import type { RunLens } from '../features/run-lens';
import type { Range } from '../text/place';
import { unbrokenFigures } from '../wording/figures';
import { say } from '../wording/say';

/** The one place where plain results become protocol types. */
export const SOURCE = 'oomlint';

/** What of the protocol the client understands. */
export interface ClientSupport {
  readonly related: boolean;
  readonly codeDescription: boolean;
  readonly tags: boolean;
  readonly markdown: boolean;
  /** Markdown is drawn as a page. A terminal shows it as it stands, `&nbsp;` as blocks. */
  readonly pages?: boolean;
  /** Completions have room beside their label on every row. */
  readonly labelDetails?: boolean;
}

export function toHover(hover: HoverText, support: ClientSupport): Hover {
  return { contents: toMarkup(hover.markdown, support), range: mutable(hover.range) };
}

export function toMarkup(markdown: string, support: ClientSupport): MarkupContent {
  return support.markdown
    ? {
        kind: MarkupKind.Markdown,
        value: support.pages ? unbrokenFigures(markdown) : withoutPageSpaces(markdown),
      }
    : { kind: MarkupKind.PlainText, value: plain(markdown) };
}

/** Gaps before cells go, a blank within one is a blank. */
const withoutPageSpaces = (markdown: string): string =>
  markdown.replaceAll('&nbsp;&nbsp;', '').replaceAll('&nbsp;', ' ');

/** For our own editor side the verdict goes along: it draws a sign, where other editors would show its name. */
export function toCodeLens(lens: Lens | RunLens, drawsSigns = false): CodeLens {
  const { title, command, argument } = lens;
  const tooltip = 'tooltip' in lens ? lens.tooltip : undefined;
  return {
    range: mutable(lens.range),
    command: { title, ...(tooltip !== undefined && { tooltip }), command, arguments: [argument] },
    ...(drawsSigns && 'judged' in lens && { data: lens.judged }),
  };
}

/** The lens of the largest micro batch, which carries its file: a click writes it, or leads to the panel where nothing is to be written. */
export function toBatchLens(lens: CodeLens, { title, writes }: BatchLens): CodeLens {
  const uri = String(lens.data);
  if (!writes) return { ...lens, command: { title, command: ESTIMATE_COMMAND, arguments: [{ uri }] } };
  const argument: WriteRunArguments = { uri, ...writes };
  return { ...lens, command: { title, command: WRITE_RUN_COMMAND, arguments: [argument] } };
}

/** What a hint carries until somebody asks for more: whose it is, of which text, and what its key states. */
export interface HintData {
  readonly uri: string;
  readonly version: number;
  readonly fields: readonly string[];
}

/** `commands`: the editor's side has the panel that a click opens. `cell`: the text that the positions are of, where it is not the file. */
export function toInlayHint(hint: KeyHint, data: HintData, commands: boolean, cell?: string): InlayHint {
  const argument: EstimateArguments = {
    uri: data.uri,
    position: { ...hint.place },
    ...(cell === undefined ? {} : { cell }),
  };
  const command = {
    title: say('Open the memory breakdown'),
    command: ESTIMATE_COMMAND,
    arguments: [argument],
  };
  return {
    position: { ...hint.position },
    label: commands ? [{ value: hint.label, command }] : hint.label,
    paddingLeft: true,
    data,
  };
}

export function toDocumentLink(link: FileReference): DocumentLink {
  return { range: mutable(link.range), target: link.target, tooltip: link.tooltip };
}

const KINDS: Readonly<Record<Completion['kind'], CompletionItemKind>> = {
  key: CompletionItemKind.Property,
  block: CompletionItemKind.Module,
  value: CompletionItemKind.Value,
  file: CompletionItemKind.File,
};

export function toCompletionItem(entry: Completion, support: ClientSupport): CompletionItem {
  const { label, kind, range, text, filter, sort, detail, outcome, preselect, documentation } = entry;
  // Details of an entry are drawn for the row in focus alone; those of its label on every row.
  const together =
    detail === undefined || outcome === undefined ? (outcome ?? detail) : `${outcome} (${detail})`;
  return {
    label,
    ...(outcome !== undefined && support.labelDetails ? { labelDetails: { description: outcome } } : {}),
    kind: KINDS[kind],
    insertTextFormat: InsertTextFormat.PlainText,
    textEdit: { range: mutable(range), newText: text },
    filterText: filter,
    sortText: sort,
    preselect,
    detail: support.labelDetails && outcome !== undefined ? detail : together,
    documentation: documentation
      ? support.markdown
        ? toMarkup(documentation, support)
        : plain(documentation)
      : undefined,
  };
}

export function mutable(range: Range) {
  return { start: { ...range.start }, end: { ...range.end } };
}

/** Markdown of our own making, read as text: for clients that cannot render it. */
function plain(markdown: string): string {
  return markdown
    .replace(/\[([^[\]]*)\]\(([^)]{0,2000})\)/g, '$1 ($2)')
    .replace(/\*\*/g, '')
    .replace(/`/g, '')
    .replaceAll('&nbsp;', ' ')
    .replace(/&#(\d{2,3});/g, (_, number) => String.fromCharCode(Number(number)))
    .replace(/\\([\\*_{}[\]()#+\-!|<>~&])/g, '$1');
}
