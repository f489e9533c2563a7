import type { Host } from '../workspace/host';

/** The files of one side of a difference, and from a moment on those of the other. Both have the same folders and surroundings. */
export class TurningHost implements Host {
  #now: Host;
  readonly #later: Host;

  constructor(before: Host, after: Host) {
    this.#now = before;
    this.#later = after;
  }

  turn(): void {
    this.#now = this.#later;
  }

  get folders(): readonly string[] {
    return this.#now.folders;
  }

  get environment(): Host['environment'] {
    return this.#now.environment;
  }

  get home(): string | undefined {
    return this.#now.home;
  }

  readText(uri: string): Promise<string | undefined> {
    return this.#now.readText(uri);
  }

  exists(uri: string): Promise<boolean> {
    return this.#now.exists(uri);
  }

  async list(uri: string): Promise<readonly string[] | undefined> {
    return this.#now.list?.(uri);
  }

  async listFolders(uri: string): Promise<readonly string[] | undefined> {
    return this.#now.listFolders?.(uri);
  }
}
