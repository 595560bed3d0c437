/**
 * Bounds the buffers of this process: nothing else does, and a few kilobytes can unpack to gigabytes. Whoever takes too many is refused, and
 * known to have been, since what reads a PDF goes on without what it could not unpack.
 */
import { pdfLimits } from "./limits.ts";

const names = [
  "ArrayBuffer",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int8Array",
  "Uint16Array",
  "Int16Array",
  "Uint32Array",
  "Int32Array",
  "Float32Array",
  "Float64Array",
] as const;

let taken = 0;
let exceeded = false;

/** For a new file. */
export function resetAllowance(): void {
  taken = 0;
  exceeded = false;
}

export const isAllowanceExceeded = (): boolean => exceeded;

/** Before anything is loaded that shall be bound by it. */
export function boundBuffers(): void {
  for (const name of names) {
    const original = globalThis[name];
    const bytesEach = "BYTES_PER_ELEMENT" in original ? original.BYTES_PER_ELEMENT : 1;
    const bound: object = new Proxy(original, {
      construct(target, args: unknown[], asked) {
        const [size] = args;
        if (typeof size === "number") take(size * bytesEach);
        return Reflect.construct(target, args, asked === bound ? target : asked) as object;
      },
    });
    Object.defineProperty(globalThis, name, { value: bound, writable: true, configurable: true });
  }
}

function take(bytes: number): void {
  taken += bytes;
  if (bytes <= pdfLimits.bufferBytes && taken <= pdfLimits.allBufferBytes) return;
  exceeded = true;
  throw new RangeError("the file takes too much memory");
}
