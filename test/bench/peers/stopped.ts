/** Stops the other gateways while one is measured: LiteLLM asks its upstream for models in between, on the processor that all of them share. */
import type { LoadSubject } from "../subject.ts";

/**
 * @param gateways those that may be stopped. Sluice goes on: when it is stopped it takes the pause for overload, and refuses what comes next.
 * @param measured keeps running, as does whatever else shares its processes
 */
export async function whileOthersStop<Result>(
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
    // A worker that has ended meanwhile uses no processor either.
  }
}
