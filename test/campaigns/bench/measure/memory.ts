/** Memory of streams: the memory of an installation with open streams, minus its memory before. */

/** Bytes of memory in each process after a garbage collection, in the order of the process ids. */
export interface InstallationMemory {
  /** Bytes in heap and buffers, exactly. V8 does not know the C++ memory of sockets. */
  readonly inUse: readonly number[];
  /** Bytes of resident memory in whole pages. Filling a page that was already resident adds nothing. */
  readonly resident: readonly number[];
}

/** KiB of memory for a stream, in each process. */
export function memoryOfStream(
  before: InstallationMemory,
  open: InstallationMemory,
  streams: number,
): InstallationMemory {
  const each = (kind: keyof InstallationMemory) =>
    open[kind].map((bytes, index) => (bytes - (before[kind][index] ?? Number.NaN)) / 1_024 / streams);
  return { inUse: each("inUse"), resident: each("resident") };
}

export const sum = (amounts: readonly number[]): number => amounts.reduce((whole, amount) => whole + amount, 0);

/** @param kib KiB in gateway and inference-svc, or in the one process for both */
export function kibText(kib: readonly number[]): string {
  const [gateway, inference] = kib.map((amount) => amount.toFixed(1));
  const parts = inference === undefined ? "" : ` (gateway ${gateway}, inference-svc ${inference})`;
  return `${sum(kib).toFixed(1)} KiB${parts}`;
}
