/**
 * GiB of a slice by the size that its profile names: the least that `nvidia-smi mig -lgip` lists for it over cards and drivers, and what
 * PyTorch reports where that is less. `1g.10gb` has 9.5 (A100 80 GB) to 9.75 (H100), `3g.40gb` 39.38 to 39.62, of which PyTorch sees 39.25.
 * Profiles: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html; lists are printed there and in the pages of
 * those who cut their cards: 94 GB for `12gb` and `24gb`, H200 for `18gb`, `35gb` and `141gb`. The whole card as one slice is smaller, too.
 */
const GIB: Readonly<Record<string, number>> = {
  '5gb': 4.75,
  '10gb': 9.5,
  '12gb': 10.62,
  '18gb': 16,
  '20gb': 19.5,
  '24gb': 21.5,
  '35gb': 32.5,
  '40gb': 39.25,
  '80gb': 79.12,
  '141gb': 140,
};

/** A profile of MIG in the name of a resource, of a type of Slurm's or of a node's label. */
const PROFILE = /(?<![a-z\d])(\d)g\.(\d+gb)(?![a-z\d])/i;

/** The slice of a GPU that a name stands for, with its memory in bytes; undefined where it names none whose memory is known. */
export function sliceCalled(name: string): { readonly profile: string; readonly bytes: number } | undefined {
  const [profile, , size = ''] = PROFILE.exec(name.toLowerCase()) ?? [];
  const gib = GIB[size];
  return profile === undefined || gib === undefined
    ? undefined
    : { profile, bytes: Math.floor(gib * 2 ** 30) };
}
