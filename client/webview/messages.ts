import type { RunValues } from '../../server/src/shared/fields';
import type {
  Breakdown,
  Category,
  Comparison,
  FixCard,
  Opened,
  Planned,
  Tried,
  Turned,
} from '../../server/src/shared/protocol';

/** What the panel shows. Every request ends in one of these, so the page never waits for ever. */
export type PanelContent =
  | { readonly kind: 'loading'; readonly file: string }
  | { readonly kind: 'breakdown'; readonly file: string; readonly breakdown: Breakdown }
  | { readonly kind: 'empty'; readonly file?: string; readonly configs?: readonly ListedConfig[] }
  | { readonly kind: 'error'; readonly file?: string; readonly message: string };

/** A config of the workspace, and how it comes out. */
interface ListedConfig {
  readonly uri: string;
  readonly name: string;
  readonly text: string;
}

/** Extension to page. */
export type EditorMessage =
  | ShowMessage
  | OpenedMessage
  | TriedMessage
  | ComparedMessage
  | AppliedMessage
  | PlannedMessage
  | FixesMessage
  | PresetMessage
  | CursorMessage
  | AskedMessage;

/** Extension to page. */
export interface ShowMessage {
  readonly type: 'show';
  /** File that the content is about; kept by the page for the next start of the window. */
  readonly uri?: string;
  readonly locked?: boolean;
  /** Tag of the display language, `ru`; and its texts by the English ones. */
  readonly language?: string;
  readonly bundle?: Readonly<Record<string, string>>;
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

/** Extension to page: the answer to `try`; those to outdated ones never come. */
interface TriedMessage {
  readonly type: 'tried';
  readonly tried?: Tried;
  readonly error?: string;
}

/**
 * What a config is compared with: its last commit, another commit or branch, or another config. What is not named the person
 * picks.
 */
export type ComparedWith =
  | { readonly with: 'git' }
  | { readonly with: 'releases' }
  | { readonly with: 'commit'; readonly ref?: string }
  | { readonly with: 'file'; readonly uri?: string };

/** Extension to page: the answer to `compare`. */
export interface ComparedMessage {
  readonly type: 'compared';
  /** With what, to be asked for again. */
  readonly other?: ComparedWith;
  /** Names of the two, for people. */
  readonly before?: string;
  readonly after?: string;
  readonly comparison?: Comparison;
  /** Why there is none; absent too where the person chose nothing. */
  readonly error?: string;
  /** It was asked for outside of the page, which turns to it. */
  readonly turns?: boolean;
}

/** Extension to page: the answer to `apply`. */
export interface AppliedMessage {
  readonly type: 'applied';
  /** Values that were not written, for people. */
  readonly left?: readonly string[];
  /** What is still to be done by hand, as sentences. */
  readonly byHand?: readonly string[];
  readonly error?: string;
}

/** Extension to page: the answer to `plan`. */
interface PlannedMessage {
  readonly type: 'planned';
  readonly planned?: Planned;
  readonly error?: string;
}

/** Extension to page: what makes the run fit; without `fixes`, it is looked for. */
interface FixesMessage {
  readonly type: 'fixes';
  readonly fixes?: readonly FixCard[];
}

/** Which of the runs that fit: on the GPUs of the run, or on the cloud machine that is cheapest for it. */
export type Preset = 'fastest' | 'cheapest';

/** Extension to page: the answer to `preset`. */
export interface PresetMessage {
  readonly type: 'preset';
  readonly found?: { readonly name: string; readonly values: RunValues };
  /** Why there is none, for people. */
  readonly error?: string;
}

/** Extension to page: the cursor of the editor is on a key that shapes these parts; on none without. */
export interface CursorMessage {
  readonly type: 'cursor';
  readonly key?: string;
  readonly categories?: readonly Category[];
}

/** Extension to page: a person asks for what the page makes of itself, from the title bar of the panel or its menu. */
interface AskedMessage {
  readonly type: 'asked';
  readonly action: PanelAction;
}

/** What is made of the page as a whole. */
export type PanelAction = { readonly kind: 'copy' } | { readonly kind: 'save'; readonly format: SaveFormat };

/** Page to extension. */
export type PageMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'retry' }
  | { readonly type: 'open-file' }
  | { readonly type: 'show-config'; readonly uri: string }
  | {
      readonly type: 'open-figures';
      readonly sample?: number;
      readonly turned?: Turned;
      readonly values?: RunValues;
    }
  | { readonly type: 'show-output' }
  | { readonly type: 'supply'; readonly fields: readonly string[] }
  | { readonly type: 'try'; readonly turned: Turned; readonly values?: RunValues }
  | { readonly type: 'preset'; readonly which: Preset }
  | { readonly type: 'plan'; readonly values: RunValues }
  | { readonly type: 'apply'; readonly values: RunValues; readonly fix?: string }
  | ({ readonly type: 'compare' } & ComparedWith)
  /** Position in the breakdown's `keys`. */
  | { readonly type: 'reveal'; readonly key: number }
  | { readonly type: 'copy'; readonly text: string }
  | { readonly type: 'save'; readonly format: SaveFormat; readonly data: string };

/** SVG, JSON and HTML travel as text, PNG in base64. */
export type SaveFormat = 'svg' | 'png' | 'json' | 'html';

/** What the page keeps over a reload of the window. */
export interface PageState {
  readonly uri?: string;
  readonly locked?: boolean;
  readonly tab?: string;
  readonly turned?: Turned;
  readonly keepsBatch?: boolean;
  readonly compared?: ComparedWith;
  /** Keys of open rows and of unfolded tables. */
  readonly rows?: readonly string[];
  readonly unfolded?: readonly string[];
  /** The sample of the timeline that is opened. */
  readonly sample?: number;
  /** Pixels that the page is scrolled down. */
  readonly scroll?: number;
}
