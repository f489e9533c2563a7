import {
  CodeLens,
  Disposable,
  EventEmitter,
  l10n,
  languages,
  Range,
  type TextDocument,
  Uri,
  workspace,
} from 'vscode';
import type { StatusParams } from '../../../server/src/shared/protocol';
import { CONFIG_SELECTOR, isProjectFile } from '../config-documents';
import type { LanguageServer } from '../language-server';
import { committed, headOf, onRepositoryOf, textInGit } from './git';

/** Compares a config with its last commit, in the panel. */
export const COMPARE_WITH_HEAD_COMMAND = 'oomlint.compareWithHead';

const FIRST_LINE = new Range(0, 0, 0, 0);

/** Above a config, or a project file, that differs from its last commit: what the difference costs, and the way to the comparison. */
export function showsCostAgainstHead(server: LanguageServer): Disposable {
  /** What was announced last of each config. */
  const configs = new Map<string, StatusParams>();
  const changed = new EventEmitter<void>();
  const versions = new HeadVersions(() => changed.fire());
  const provideCodeLenses = async (document: TextDocument): Promise<CodeLens[]> => {
    const { uri } = document;
    const enabled = workspace.getConfiguration('oomlint', uri).get<boolean>('codeLens.enabled') ?? true;
    const isProject = isProjectFile(uri);
    if (!enabled || server.state !== 'running' || !(isProject || configs.has(uri.toString()))) return [];
    const before = await versions.of(document);
    if (before === undefined || before === document.getText()) return [];
    const cost = await server.changeCost({ uri: uri.toString(), before }).catch(() => null);
    if (!cost) return [];
    const command = {
      title: l10n.t('{0} vs HEAD', cost.short),
      tooltip: l10n.t('Against HEAD: {0}', cost.words),
      // Runs of several configs are compared in their text: what each line costs stands there.
      ...(isProject
        ? { command: 'vscode.diff', arguments: [await committed(uri), uri] }
        : { command: COMPARE_WITH_HEAD_COMMAND, arguments: [{ uri: uri.toString() }] }),
    };
    return [new CodeLens(FIRST_LINE, command)];
  };
  return Disposable.from(
    changed,
    versions,
    server.onStatus((now) => {
      const before = configs.get(now.uri);
      if (now.status === undefined) configs.delete(now.uri);
      else configs.set(now.uri, now);
      // After an edit the editor asks by itself once it has waited: an event would have all lenses wait from the start again.
      const isOfEdit = before && now.status && before.version !== now.version;
      if (!isOfEdit && JSON.stringify(before?.status) !== JSON.stringify(now.status)) changed.fire();
    }),
    languages.registerCodeLensProvider([...CONFIG_SELECTOR], {
      onDidChangeCodeLenses: changed.event,
      provideCodeLenses,
    }),
  );
}

/** The committed texts of files, read once for each commit. */
class HeadVersions implements Disposable {
  readonly #changed: () => void;
  readonly #texts = new Map<
    string,
    { readonly head: string | undefined; readonly text: string | undefined }
  >();
  readonly #repositories = new Map<string, Disposable>();
  /** Files whose repository is listened to: that of others may not be open yet. */
  readonly #heard = new Set<string>();

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  async of({ uri }: TextDocument): Promise<string | undefined> {
    const key = uri.toString();
    const head = await headOf(uri);
    if (!this.#heard.has(key)) await this.#listen(uri);
    const known = this.#texts.get(key);
    if (known && known.head === head) return known.text;
    const text = head === undefined ? undefined : await textInGit(uri, head);
    this.#texts.set(key, { head, text });
    return text;
  }

  /** Commits and checkouts change what a file is held to. */
  async #listen(uri: Uri): Promise<void> {
    const repository = await onRepositoryOf(uri, () => this.#headMoved());
    if (!repository) return;
    this.#heard.add(uri.toString());
    if (this.#repositories.has(repository.root)) repository.listening.dispose();
    else this.#repositories.set(repository.root, repository.listening);
  }

  /** A repository tells of every file that changes: only another commit counts. */
  #headMoved(): void {
    void Promise.all(
      [...this.#texts].map(async ([key, { head }]) => (await headOf(Uri.parse(key))) !== head),
    ).then((moved) => {
      if (moved.some(Boolean)) this.#changed();
    });
  }

  dispose(): void {
    for (const listening of this.#repositories.values()) listening.dispose();
  }
}
