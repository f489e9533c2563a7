import type { Range } from '../text/place';
import { parseRequirement, type Requirement } from './requirement';

/**
 * PyTorch in NVIDIA's containers, by release: first one with each minor version (support matrix of NVIDIA's optimized
 * frameworks, https://docs.nvidia.com/deeplearning/frameworks/support-matrix/).
 */
const NVIDIA_PYTORCH: readonly (readonly [release: string, torch: string])[] = [
  ['22.12', '1.14'],
  ['23.03', '2.0'],
  ['23.04', '2.1'],
  ['23.12', '2.2'],
  ['24.02', '2.3'],
  ['24.05', '2.4'],
  ['24.08', '2.5'],
  ['24.11', '2.6'],
  ['25.02', '2.7'],
  ['25.05', '2.8'],
  ['25.09', '2.9'],
];
/** The table ends with this release: what came after is not known here. */
const LAST_NVIDIA = '25.09';

/** Versions that the name of a container image tells: `pytorch/pytorch:2.4.0-cuda12.1-...`, `nvcr.io/nvidia/pytorch:24.07-py3`. */
export const imageVersions = (image: string, range: Range): Requirement[] =>
  versionsOf(image, range).map((requirement) => ({ ...requirement, of: image }));

function versionsOf(image: string, range: Range): Requirement[] {
  const official = /(?:^|\/)pytorch\/pytorch:(\d+\.\d+(?:\.\d+)?)/.exec(image)?.[1];
  if (official !== undefined) return of('torch', official, range);
  // AMD's, `rocm/pytorch:rocm6.4.1_ubuntu24.04_py3.12_pytorch_release_2.6.0`.
  const rocm =
    /(?:^|\/)rocm\/pytorch(?:-training)?:rocm[\w.]*_pytorch_(?:release_)?v?(\d+\.\d+(?:\.\d+)?)/.exec(
      image,
    )?.[1];
  if (rocm !== undefined) return of('torch', rocm, range);
  const release = /(?:^|[/#])nvidia\/pytorch:(\d\d\.\d\d)/.exec(image)?.[1];
  if (release !== undefined && release <= LAST_NVIDIA) {
    const torch = NVIDIA_PYTORCH.findLast(([first]) => first <= release)?.[1];
    return torch === undefined ? [] : of('torch', `${torch}.*`, range);
  }
  // `huggingface/transformers-pytorch-gpu:4.41.2`, and AWS's `...:2.5.1-transformers4.49.0-gpu-...`.
  const hub = /huggingface\/(?:transformers|trl|accelerate)[\w-]*:v?(\d+\.\d+(?:\.\d+)?)/.exec(image);
  const which = /huggingface\/(transformers|trl|accelerate)/.exec(image)?.[1];
  if (hub?.[1] && which) return of(which, hub[1], range);
  const aws = /pytorch-training:(\d+\.\d+\.\d+)(?:-transformers(\d+\.\d+\.\d+))?/.exec(image);
  return [
    ...(aws?.[1] ? of('torch', aws[1], range) : []),
    ...(aws?.[2] ? of('transformers', aws[2], range) : []),
  ];
}

function of(name: string, version: string, range: Range): Requirement[] {
  const found = parseRequirement(`${name}==${version}`, range);
  return found ? [found] : [];
}
