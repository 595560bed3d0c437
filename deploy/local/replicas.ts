/** The processes for gateway and inference-svc, and the reason for this choice. */

export interface Replicas {
  /** Inference processes; 0 when inference-svc runs in the process of the gateway. */
  readonly count: number;
  /** The chosen processes and the reason, in words for the operator. */
  readonly account: string;
}

/**
 * Follows the operator, else the number of processors: on a single processor, two processes only wake each other. The package is tried on laptops first, and
 * one process takes 100 MB less.
 * @param wanted SLUICE_INFERENCE_REPLICAS
 * @param processors available to Sluice
 */
export function chooseReplicas(wanted: number | undefined, processors: number, isCheckout: boolean): Replicas {
  if (wanted !== undefined)
    return { count: wanted, account: `${whoHas(wanted)}: SLUICE_INFERENCE_REPLICAS is ${wanted}` };
  const count = processors === 1 || !isCheckout ? 0 : 1;
  return { count, account: `${whoHas(count)}: ${reason(processors, isCheckout)}` };
}

function whoHas(count: number): string {
  if (count === 0) return "gateway and inference-svc share one process";
  return count === 1 ? "gateway and inference-svc have a process each" : `a gateway and ${count} inference processes`;
}

function reason(processors: number, isCheckout: boolean): string {
  if (!isCheckout)
    return "that takes less memory; SLUICE_INFERENCE_REPLICAS=1 gives each its own, which suits a shared service";
  return processors === 1
    ? "this machine gives Sluice one processor; SLUICE_INFERENCE_REPLICAS=1 gives each its own"
    : `this machine gives Sluice ${processors} processors; SLUICE_INFERENCE_REPLICAS=0 puts both into one`;
}
