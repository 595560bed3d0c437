/** Decides how many processes gateway and inference-svc get, and gives the reason. */

export interface Replicas {
  /** Number of inference processes; 0 if inference-svc runs in the process of the gateway. */
  readonly count: number;
  /** The number of processes and its reason, as a text for the operator. */
  readonly account: string;
}

/**
 * Chooses the processes by the operator's setting, else by the number of processors: on a single processor, two processes only wake each other. The
 * package always gets one process, which takes 100 MB less, since it is first tried on laptops.  @param wanted value of SLUICE_INFERENCE_REPLICAS
 * @param processors number of processors available to Sluice
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
