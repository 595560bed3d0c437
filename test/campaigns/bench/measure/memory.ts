/** Memory of streams: an installation's memory while they are open, minus its memory before. */

/** Bytes of each process, in the order of the pids, once its garbage has been collected. */
export interface InstallationMemory {
  /** Heap and buffers, exactly; C++ memory for sockets is unknown to V8. */
  readonly inUse: readonly number[];
  /** All memory in whole pages; filling pages that were free before adds nothing. */
  readonly resident: readonly number[];
}

/** KiB per stream in each process. */
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

/** @param kib of gateway and inference-svc, or of the single process */
export function kibText(kib: readonly number[]): string {
  const [gateway, inference] = kib.map((amount) => amount.toFixed(1));
  const parts = inference === undefined ? "" : ` (gateway ${gateway}, inference-svc ${inference})`;
  return `${sum(kib).toFixed(1)} KiB${parts}`;
}
