import type { ConfigDocument } from '../../config/node';
import type { ConditionWay } from '../../config/python/condition-ways';
import type { Install } from '../../config/python/magics';
import { normalName } from '../../environment/requirement';

/** Builds of PyTorch for AMD's GPUs, by their index (https://pytorch.org/get-started/locally) and by their local version. */
const ROCM = /\/(?:nightly\/)?rocm(?:[\d.$/-]|$)|\brepo\.radeon\.com\//;
const ROCM_VERSION = /\+(?:git\w*\.)?rocm\d/;
const CUDA = /\/(?:nightly\/)?cu\d+/;
/** The Triton that builds for ROCm require (their wheels' `Requires-Dist`). */
const ROCM_TRITON = /^(?:pytorch-)?triton-rocm$/;
/** What Unsloth asks for AMD's GPUs by (`pyproject.toml`, `amd`). */
const OF_UNSLOTH = /^unsloth(?:-zoo)?$/;

/**
 * Whether cells install PyTorch for AMD's GPUs, and nowhere for those of NVIDIA: the one does not run on the other. What a condition decides
 * tells nothing of the GPU, unless all its ways install it: another may install none.
 */
export function installsRocm({ installs = [] }: Pick<ConfigDocument, 'installs'>): boolean {
  const own = installs.filter(({ commented }) => !commented);
  if (own.some(({ index }) => index !== undefined && CUDA.test(index))) return false;
  const found = own.filter(isOfRocm);
  return found.some(({ conditional, way }) => conditional !== true || (way && goesEveryWay(way, found)));
}

/** Whether all ways of a condition are among those of some commands. */
function goesEveryWay({ of, ways }: ConditionWay, installs: readonly Install[]): boolean {
  const gone = installs.flatMap(({ way }) => (way?.of === of ? [way.at] : []));
  return new Set(gone).size === ways;
}

/** Whether a command installs PyTorch for AMD's GPUs, or what goes with that alone. */
export function isOfRocm({ name, specifier, extras = [], index = '' }: Install): boolean {
  return (
    ROCM.test(index) ||
    ROCM_VERSION.test(specifier) ||
    ROCM_TRITON.test(normalName(name)) ||
    (OF_UNSLOTH.test(normalName(name)) && extras.includes('amd'))
  );
}
