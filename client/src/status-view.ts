import type { TextDocument, Uri } from 'vscode';
import type { StatusParams } from '../../server/src/shared/protocol';

/** What there is to say about the active editor. */
export type StatusView =
  | { readonly kind: 'none' }
  /** The server is gone, and a file is open that may be a config. */
  | { readonly kind: 'failed' }
  | {
      readonly kind: 'config';
      /** What was analysed: a notebook for its cells. */
      readonly file: Uri;
      /** The text that is typed in; none where a notebook's cells are looked at only. */
      readonly document: TextDocument | undefined;
      readonly status: NonNullable<StatusParams['status']>;
      /** The answer is that of an older text. */
      readonly busy: boolean;
    };
