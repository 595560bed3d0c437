/** Stops the other gateways while one is measured: LiteLLM queries its upstream for models in between, on the shared processor. */
import type { LoadSubject } from "../subject.ts";

/**
 * @param gateways those safe to stop. Sluice goes on: it would take a stop for overload, and refuse the following requests.
 * @param measured keeps running, like everything else in its processes
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
    // A worker may have ended meanwhile; then it uses no processor either.
  }
}
