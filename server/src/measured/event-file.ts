/** A scalar of a TensorBoard event file. */
export interface Scalar {
  readonly tag: string;
  readonly step: number;
  readonly value: number;
}

/** Larger records hold pictures and graphs. */
const LARGEST_RECORD = 2 ** 24;
const HEADER = 12;
const FOOTER = 4;

/**
 * Scalars of a TensorBoard event file: records of TFRecord (length, checksum, data, checksum) with `Event` messages
 * (https://github.com/tensorflow/tensorboard/blob/2.20.0/tensorboard/compat/proto/event.proto). Checksums are not looked at; what is
 * cut off or is no record ends the reading.
 */
export function* scalarsOf(bytes: Uint8Array): Generator<Scalar> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + HEADER + FOOTER <= bytes.length) {
    const length = Number(view.getBigUint64(at, true));
    const start = at + HEADER;
    const end = start + length;
    if (!(end + FOOTER <= bytes.length)) return;
    if (length <= LARGEST_RECORD) yield* scalarsOfEvent(bytes.subarray(start, end));
    at = end + FOOTER;
  }
}

interface Field {
  readonly number: number;
  /** Varints as numbers; fixed 32 and 64 bits as bytes, as what is delimited. */
  readonly value: number | Uint8Array;
}

/** Fields of a protobuf message; ends at what is none. */
function* fieldsOf(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number | undefined => {
    let result = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) return undefined;
      result += (byte & 127) * 2 ** shift;
      if (byte < 128) return result;
    }
    return undefined;
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag === undefined) return;
    const number = Math.floor(tag / 8);
    const kind = tag % 8;
    if (kind === 0) {
      const value = varint();
      if (value === undefined) return;
      yield { number, value };
      continue;
    }
    const size = kind === 2 ? varint() : kind === 5 ? 4 : kind === 1 ? 8 : undefined;
    if (size === undefined || at + size > bytes.length) return;
    yield { number, value: bytes.subarray(at, at + size) };
    at += size;
  }
}

const EVENT_STEP = 2;
const EVENT_SUMMARY = 5;
const SUMMARY_VALUE = 1;
const VALUE_TAG = 1;
const VALUE_SIMPLE = 2;
const VALUE_TENSOR = 8;
const TENSOR_CONTENT = 4;
const TENSOR_FLOATS = 5;

function* scalarsOfEvent(event: Uint8Array): Generator<Scalar> {
  let step = 0;
  const values: Uint8Array[] = [];
  for (const { number, value } of fieldsOf(event)) {
    if (number === EVENT_STEP && typeof value === 'number') step = value;
    if (number !== EVENT_SUMMARY || typeof value === 'number') continue;
    for (const { number: inner, value: one } of fieldsOf(value)) {
      if (inner === SUMMARY_VALUE && typeof one !== 'number') values.push(one);
    }
  }
  for (const message of values) {
    let tag = '';
    let value: number | undefined;
    for (const { number, value: held } of fieldsOf(message)) {
      if (typeof held === 'number') continue;
      if (number === VALUE_TAG) tag = new TextDecoder().decode(held);
      if (number === VALUE_SIMPLE) value = float(held);
      if (number === VALUE_TENSOR) value ??= tensorValue(held);
    }
    if (tag !== '' && value !== undefined) yield { tag, step, value };
  }
}

function tensorValue(tensor: Uint8Array): number | undefined {
  for (const { number, value } of fieldsOf(tensor)) {
    if (typeof value !== 'number' && (number === TENSOR_CONTENT || number === TENSOR_FLOATS))
      return float(value);
  }
  return undefined;
}

function float(bytes: Uint8Array): number | undefined {
  if (bytes.length !== 4) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true);
}
