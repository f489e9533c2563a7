import type { Estimate } from './estimate';

/**
 * Whether figures are such as a run can have: finite and not negative. Sizes that nobody can mean, of some 10^15 tokens, go
 * beyond the numbers that are exact here; no verdict follows from those.
 */
export function isSound(estimate: Estimate): boolean {
  const { compute } = estimate;
  return (
    hasSoundMemory(estimate) &&
    Object.values(compute).every((figure) => typeof figure !== 'number' || isAmount(figure)) &&
    isAmount(compute.time?.stepSeconds.likely ?? 0)
  );
}

/** The same of memory alone, for those who show no other figure: FLOPs and time are worked out for who asks for them. */
export function hasSoundMemory({ peak, parts, timeline, host, model }: Estimate): boolean {
  const { allocatedBytes, reservedBytes, processBytes, lowerBytes, upperBytes } = peak;
  return (
    [allocatedBytes, reservedBytes, processBytes, lowerBytes, upperBytes].every(isBytes) &&
    parts.every(({ bytes }) => isBytes(bytes)) &&
    timeline.every(({ bytes, parts: held }) => isBytes(bytes) && held.every((part) => isBytes(part.bytes))) &&
    isBytes(host.bytesPerNode) &&
    Object.values(model).every((figure) => isAmount(figure))
  );
}

/** Beyond this sums are rounded by whole tensors. */
function isBytes(figure: number): boolean {
  return isAmount(figure) && figure <= Number.MAX_SAFE_INTEGER;
}

function isAmount(figure: number): boolean {
  return Number.isFinite(figure) && figure >= 0;
}
