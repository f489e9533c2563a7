import type { Estimate, EstimateInput } from '../../estimate-types';
import { formatBytes } from '../../wording/figures';
import { communicators, outsideAllocator } from '../device';
import { contextFormula } from '../explain';
import { BAND } from '../reserved';
import { SOURCES, type Source } from '../sources';
import type { DetailNode, Draft } from './node';
import { settleIntegers } from './node';

const percent = (share: number) => `${Number((100 * share).toFixed(1))} %`;

/** Capacity, bounds, and what PyTorch and the driver would report. Bytes per GPU, host memory per node. */
export function deviceFigures(estimate: Estimate, { run, accelerator }: EstimateInput): DetailNode[] {
  const { peak, capacityBytes } = estimate;
  const { allocatedBytes, reservedBytes, processBytes, lowerBytes, upperBytes } = peak;
  const outside = outsideAllocator(run);
  const groups = communicators(run);
  const stated = run['hardware.gpuMemory'] !== undefined;
  const allocated: Draft = {
    name: 'allocated',
    value: allocatedBytes,
    unit: 'bytes',
    formula: `highest point of the walked step: ${peak.label}`,
    source: SOURCES.memoryStatistics,
  };
  const overhead: Draft = {
    name: 'allocator overhead',
    value: reservedBytes - allocatedBytes,
    unit: 'bytes',
    formula: 'blocks that the caching allocator keeps beyond what is handed out, from playing steps on it',
    source: SOURCES.allocator,
  };
  const context: Draft = {
    name: 'CUDA context',
    value: processBytes - reservedBytes,
    unit: 'bytes',
    formula: contextFormula(run),
    source: groups > 0 ? SOURCES.nccl : SOURCES.cudaContext,
  };
  const reserved: Draft = {
    name: 'reserved',
    value: reservedBytes,
    unit: 'bytes',
    formula: 'allocated + allocator overhead: torch.cuda.max_memory_reserved',
    source: SOURCES.allocator,
    children: [allocated, overhead],
  };
  const figures: Draft[] = [
    {
      name: 'process',
      value: processBytes,
      unit: 'bytes',
      formula: 'reserved + CUDA context: what nvidia-smi shows',
      source: SOURCES.cudaContext,
      children: [reserved, context],
    },
    {
      name: 'usable memory',
      value: capacityBytes,
      unit: 'bytes',
      formula: stated
        ? 'stated by hardware.gpuMemory'
        : `of ${formatBytes(accelerator.totalBytes)} on ${accelerator.name}, what the driver leaves to a process`,
      source: cardSource(accelerator.name, accelerator.sources),
    },
    {
      name: 'lower bound',
      value: lowerBytes,
      unit: 'bytes',
      why: 'the run does not fit where even this exceeds the usable memory',
      formula: `allocated ${formatBytes(allocatedBytes)} less ${percent(BAND.lower)}, within which 90 % of published runs lie, + ${formatBytes(outside.lower)} outside the allocator`,
      source: SOURCES.accuracy,
    },
    {
      name: 'upper bound',
      value: upperBytes,
      unit: 'bytes',
      why: 'the run fits where even this is within the usable memory',
      formula: `allocated ${formatBytes(allocatedBytes)} and the larger of ${percent(BAND.upper)}, beyond which no published run lies, and the allocator overhead, + ${formatBytes(outside.upper)} outside the allocator`,
      source: SOURCES.accuracy,
    },
  ];
  if (estimate.hostBytesPerNode > 0) {
    figures.push({
      name: 'host memory',
      value: estimate.hostBytesPerNode,
      unit: 'bytes',
      formula: `${estimate.hostParts.map(({ label }) => label).join(' + ')}, per node`,
      source: hostSource(estimate.hostParts[0]?.label ?? ''),
      children: estimate.hostParts.map(({ label, bytes }) => ({
        name: label,
        value: bytes,
        unit: 'bytes',
        formula: `${formatBytes(bytes)} over the processes of one node`,
        source: hostSource(label),
      })),
    });
  }
  return figures.map((figure) => settleIntegers(figure));
}

/** Checkpoints are read and written by the library of the model; what a step keeps on the host is offloaded. */
function hostSource(label: string): Source {
  return /checkpoint|load|sav/.test(label) ? SOURCES.loading : SOURCES.zeroOffload;
}

/** The first source of a card that has an address: a page, or a file of a repository at a commit. */
function cardSource(name: string, sources: readonly string[]): Source | undefined {
  for (const source of sources) {
    const [, page] = /(https:\/\/\S+)/.exec(source) ?? [];
    if (page) return { label: name, url: page };
    const [, repository, commit, file] = /^([\w.-]+\/[\w.-]+)@([0-9a-f]{7,40}) (\S+)/.exec(source) ?? [];
    if (file) return { label: name, url: `https://github.com/${repository}/blob/${commit}/${file}` };
  }
  return undefined;
}
