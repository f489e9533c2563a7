import { canonicalUri } from '../text/uri';
import type { Host } from './host';

/** A host with other texts laid over some of its files. */
export class OverlaidHost implements Host {
  readonly folders: readonly string[];
  readonly apart?: readonly string[];
  readonly environment: Host['environment'];
  readonly home?: string;
  readonly confined?: Host['confined'];
  readonly isStill?: boolean;
  readonly list?: Host['list'];
  readonly listFolders?: Host['listFolders'];
  readonly #below: Host;
  readonly #texts: ReadonlyMap<string, string>;

  constructor(below: Host, texts: ReadonlyMap<string, string>) {
    this.#below = below;
    this.#texts = new Map([...texts].map(([uri, text]) => [canonicalUri(uri), text]));
    this.folders = below.folders;
    this.apart = below.apart;
    this.environment = below.environment;
    this.home = below.home;
    this.confined = below.confined;
    this.isStill = below.isStill;
    this.list = below.list && ((uri) => below.list?.(uri) ?? Promise.resolve(undefined));
    this.listFolders = below.listFolders && ((uri) => below.listFolders?.(uri) ?? Promise.resolve(undefined));
  }

  async readText(uri: string): Promise<string | undefined> {
    return this.#texts.get(canonicalUri(uri)) ?? this.#below.readText(uri);
  }

  async exists(uri: string): Promise<boolean> {
    return this.#texts.has(canonicalUri(uri)) || this.#below.exists(uri);
  }
}
