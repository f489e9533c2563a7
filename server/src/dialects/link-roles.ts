/** What a file is to the one that names it. */
export type LinkRole = 'deepspeed' | 'accelerate' | 'fsdp' | 'model' | 'include';

/** What follows for a run from the role that one of its files has. */
interface RoleMeaning {
  /** Family that the file is read as, where its text does not show one. */
  readonly family?: string;
  /** It states how the run is sharded and offloaded. */
  readonly shards?: boolean;
  /** The file that names it has the last word. */
  readonly overridden?: boolean;
}

export const ROLES: Readonly<Record<LinkRole, RoleMeaning>> = {
  deepspeed: { family: 'deepspeed', shards: true },
  accelerate: { family: 'accelerate', shards: true, overridden: true },
  fsdp: { family: 'fsdp-config', shards: true },
  model: {},
  include: { overridden: true },
};
