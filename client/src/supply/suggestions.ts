import type { QuickPickItem } from 'vscode';
import { accelerators } from '../../../server/data/gpus.json';

/** Common answers, so that most people pick instead of typing. Anything else can be typed. */
export const SUGGESTIONS: Readonly<Record<string, readonly QuickPickItem[]>> = {
  'hardware.gpu': gpus(),
  'batch.sequence': numbers([512, 1024, 2048, 4096, 8192, 16384, 32768], 'tokens'),
  'batch.micro': numbers([1, 2, 4, 8, 16, 32], 'samples per GPU'),
  'hardware.gpus': numbers([1, 2, 4, 8, 16, 32, 64], 'GPUs over all nodes'),
  'hardware.nodes': numbers([1, 2, 4, 8, 16], 'nodes'),
};

function numbers(values: readonly number[], description: string): QuickPickItem[] {
  return values.map((value) => ({ label: String(value), description }));
}

/** Fastest first: what most people train on stands on top. */
function gpus(): QuickPickItem[] {
  return accelerators
    .map(({ name, vendor, architecture, marketedGb, denseFlops }) => ({
      label: name,
      description: `${vendor} ${architecture}, ${marketedGb} GB`,
      flops: denseFlops.bf16 ?? denseFlops.fp16 ?? 0,
    }))
    .sort((a, b) => b.flops - a.flops)
    .map(({ label, description }) => ({ label, description }));
}
