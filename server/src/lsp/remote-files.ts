import type { Connection } from 'vscode-languageserver';
import { nextTurn } from '../advice/next-turn';
import {
  FILES_REQUEST,
  type FilesAnswer,
  type FilesParams,
  type FolderNames,
} from '../features/workspace-protocol';
import { canonicalUri, fileName, isInside, parentUri } from '../text/uri';
import type { Host } from '../workspace/host';

/** Larger files are data, not configs. Characters. */
const LONGEST = 4 * 2 ** 20;
/** How long the names in a folder are believed without news of a change: each question is a call over a network. Milliseconds. */
const FRESH_MS = 30_000;

interface Listed {
  readonly names: Promise<FolderNames | undefined>;
  readonly at: number;
}

/**
 * Files of schemes that only the editor can read, such as those of a repository that is opened without a checkout. Questions
 * that come together are one request, and what a folder does not hold is not asked for.
 */
export class RemoteFiles implements Pick<Host, 'readText' | 'exists' | 'list' | 'listFolders'> {
  readonly #connection: Connection;
  readonly #roots: () => readonly string[];
  readonly #listed = new Map<string, Listed>();
  #texts = new Map<string, Question<string>>();
  #folders = new Map<string, Question<FolderNames>>();
  #sending: Promise<void> | undefined;

  /** Above `roots`, the folders of the workspace, nothing is listed that nobody asked for. */
  constructor(connection: Connection, roots: () => readonly string[]) {
    this.#connection = connection;
    this.#roots = roots;
  }

  async readText(uri: string): Promise<string | undefined> {
    // Weights come whole over the connection, and their header alone is wanted.
    if (uri.endsWith('.safetensors') || !(await this.#mayBe(uri))) return undefined;
    const text = await this.#ask(this.#texts, uri);
    return typeof text === 'string' && text.length <= LONGEST ? text : undefined;
  }

  async exists(uri: string): Promise<boolean> {
    const folder = parentUri(uri);
    const around = folder === undefined ? undefined : await this.#names(folder);
    if (around === undefined) return (await this.#names(uri)) !== undefined;
    return holds(around, fileName(uri));
  }

  async list(uri: string): Promise<readonly string[] | undefined> {
    return (await this.#names(uri))?.files;
  }

  async listFolders(uri: string): Promise<readonly string[] | undefined> {
    return (await this.#names(uri))?.folders;
  }

  /** Files came, went or changed. */
  forget(): void {
    this.#listed.clear();
  }

  async #names(folder: string): Promise<FolderNames | undefined> {
    const key = canonicalUri(folder).replace(/\/$/, '');
    const known = this.#listed.get(key);
    if (known && Date.now() - known.at < FRESH_MS) return known.names;
    const names = this.#listedNow(folder);
    this.#listed.set(key, { names, at: Date.now() });
    return names;
  }

  async #listedNow(folder: string): Promise<FolderNames | undefined> {
    if (!(await this.#mayBe(folder))) return undefined;
    const names = await this.#ask(this.#folders, folder);
    return names && isNames(names.files) && isNames(names.folders) ? names : undefined;
  }

  /** False where the folder around a place does not hold it. Of places outside the workspace nothing is known. */
  async #mayBe(uri: string): Promise<boolean> {
    const folder = parentUri(uri);
    if (folder === undefined || !isInside(folder, this.#roots())) return true;
    const around = await this.#names(folder);
    return around !== undefined && holds(around, fileName(uri));
  }

  /** An editor that cannot say counts as one that has no such file. */
  #ask<T>(waiting: Map<string, Question<T>>, uri: string): Promise<T | null | undefined> {
    const asked = waiting.get(uri);
    if (asked) return asked.answer;
    const question = new Question<T>();
    waiting.set(uri, question);
    this.#sending ??= nextTurn().then(() => this.#send());
    return question.answer;
  }

  async #send(): Promise<void> {
    const [texts, folders] = [this.#texts, this.#folders];
    this.#texts = new Map();
    this.#folders = new Map();
    this.#sending = undefined;
    const params: FilesParams = { texts: [...texts.keys()], folders: [...folders.keys()] };
    const answer = await this.#connection
      .sendRequest<FilesAnswer | null>(FILES_REQUEST, params)
      .catch(() => undefined);
    for (const [index, question] of [...texts.values()].entries()) question.settle(answer?.texts?.[index]);
    for (const [index, question] of [...folders.values()].entries())
      question.settle(answer?.folders?.[index]);
  }
}

class Question<T> {
  readonly answer: Promise<T | null | undefined>;
  settle: (answer: T | null | undefined) => void = () => undefined;

  constructor() {
    this.answer = new Promise((resolve) => {
      this.settle = resolve;
    });
  }
}

const isNames = (names: unknown) => Array.isArray(names) && names.every((name) => typeof name === 'string');

const holds = ({ files, folders }: FolderNames, name: string) =>
  files.includes(name) || folders.includes(name);
