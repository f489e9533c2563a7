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
      /** The answer is newer than the one that stands above the text. */
      readonly ahead: boolean;
    };

/** Whether both look alike: after each key there is mostly nothing else to draw. */
export function looksLike(one: StatusView, other: StatusView): boolean {
  if (one.kind !== 'config' || other.kind !== 'config') return one.kind === other.kind;
  return (
    one.status === other.status &&
    one.busy === other.busy &&
    one.ahead === other.ahead &&
    one.document === other.document &&
    one.file.toString() === other.file.toString()
  );
}
