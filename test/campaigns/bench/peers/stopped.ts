/** Pauses the other gateways while one is measured: LiteLLM, for example, regularly asks its upstream for models, on the shared processor. */
import type { LoadSubject } from "../subject.ts";

/**
 * @param gateways gateways that can be paused. Sluice is not among them: it would take a pause for overload, and refuse the next requests.  @param
 * measured gateway that keeps running, with all of its processes
 */
export async function withOtherGatewaysStopped<Result>(
  gateways: readonly LoadSubject[],
  measured: LoadSubject,
  measure: () => Promise<Result>,
): Promise<Result> {
  const stopped = gateways.filter((gateway) => gateway !== measured).flatMap(({ pids }) => pids);
  for (const pid of stopped) signal(pid, "SIGSTOP");
  try {
    return await measure();
  } finally {
    for (const pid of stopped) signal(pid, "SIGCONT");
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The worker process may have ended meanwhile.
  }
}
