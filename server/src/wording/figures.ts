/** The one place where numbers become text for people: bytes, FLOPs, parameter counts. */
import { say } from './say';

const KIB = 1024;
const MIB = KIB * 1024;
const GIB = MIB * 1024;

/** `41.2 GiB`; below 1 GiB whole MiB, below 1 MiB whole KiB. */
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes);
  const sign = bytes < 0 ? '-' : '';
  // Thresholds are where rounding would carry into the next unit.
  if (size >= GIB - MIB / 2) {
    return `${sign}${(size / GIB).toFixed(1)} GiB`;
  }
  if (size >= MIB - KIB / 2) {
    return `${sign}${Math.round(size / MIB)} MiB`;
  }
  if (size >= KIB) {
    return `${sign}${Math.round(size / KIB)} KiB`;
  }
  return `${sign}${Math.round(size)} B`;
}

/** `41.2 of 79.2 GiB`. */
export function formatBytesOf(bytes: number, capacity: number): string {
  return say('{0} of {1} GiB', (bytes / GIB).toFixed(1), (capacity / GIB).toFixed(1));
}

const SI = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y', 'R', 'Q'] as const;

/** `3.2 PFLOP`, `412 TFLOP`. */
export function formatFlops(flops: number): string {
  let value = Math.abs(flops);
  let step = 0;
  while (value >= 999.5 && step < SI.length - 1) {
    value /= 1000;
    step += 1;
  }
  const digits = step === 0 || value >= 99.95 ? 0 : 1;
  return `${flops < 0 ? '-' : ''}${value.toFixed(digits)} ${SI[step]}FLOP`;
}

const COUNT = ['', 'K', 'M', 'B', 'T'] as const;

/** Parameter counts as people say them: `8.03B`, `671B`, `41.9M`. */
export function formatCount(count: number): string {
  let value = Math.abs(count);
  let step = 0;
  while (value >= 999.5 && step < COUNT.length - 1) {
    value /= 1000;
    step += 1;
  }
  const digits = step === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${count < 0 ? '-' : ''}${value.toFixed(digits)}${COUNT[step]}`;
}

/** `128,256`: digits grouped the same way whatever the locale of the machine. */
export function formatInteger(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}
