import type { Breakdown, Opened } from '../../server/src/features/protocol';

/** What the panel shows. Every request ends in one of these, so the page never waits for ever. */
export type PanelContent =
  | { readonly kind: 'loading'; readonly file: string }
  | { readonly kind: 'breakdown'; readonly file: string; readonly breakdown: Breakdown }
  | { readonly kind: 'empty'; readonly file?: string }
  | { readonly kind: 'error'; readonly file?: string; readonly message: string };

/** Extension to page. */
export interface ShowMessage {
  readonly type: 'show';
  /** File that the content is about; kept by the page for the next start of the window. */
  readonly uri?: string;
  readonly content: PanelContent;
}

/** Extension to page: the answer to `open-figures`. */
export interface OpenedMessage {
  readonly type: 'opened';
  readonly sample?: number;
  readonly opened?: Opened;
  /** Why there is none. */
  readonly error?: string;
}

/** Page to extension. */
export type PageMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'retry' }
  | { readonly type: 'open-file' }
  | { readonly type: 'open-figures'; readonly sample?: number }
  | { readonly type: 'show-output' }
  | { readonly type: 'supply'; readonly fields: readonly string[] };

/** What the page keeps over a reload of the window. */
export interface PageState {
  readonly uri?: string;
}
