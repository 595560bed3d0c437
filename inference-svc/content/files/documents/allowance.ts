/**
 * Bounds the memory of buffers in the reader process for documents: Node has no limit for buffers, and a few kilobytes
 * can unpack to gigabytes. An exceeded limit is remembered, because pdfjs swallows the error and goes on without the
 * stream.
 */
import { documentLimits } from "./limits.ts";

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

let allocated = 0;
let exceeded = false;

/** Starts the count again for a new file. */
export function resetAllowance(): void {
  allocated = 0;
  exceeded = false;
}

export const isAllowanceExceeded = (): boolean => exceeded;

/** Installs the bounds. Must run before any module that makes buffers is loaded. */
export function boundBuffers(): void {
  for (const name of names) {
    const original = globalThis[name];
    const bytesEach = "BYTES_PER_ELEMENT" in original ? original.BYTES_PER_ELEMENT : 1;
    const bound: object = new Proxy(original, {
      construct(target, args: unknown[], newTarget) {
        const [size] = args;
        if (typeof size === "number") allocate(size * bytesEach);
        return Reflect.construct(target, args, newTarget === bound ? target : newTarget) as object;
      },
    });
    Object.defineProperty(globalThis, name, { value: bound, writable: true, configurable: true });
  }
}

function allocate(bytes: number): void {
  allocated += bytes;
  if (bytes <= documentLimits.bufferBytes && allocated <= documentLimits.allBufferBytes) return;
  exceeded = true;
  throw new RangeError("the file takes too much memory");
}
