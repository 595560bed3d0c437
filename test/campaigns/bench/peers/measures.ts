/** The measurements of each gateway, in order. */
import type { Bench } from "../bench.ts";
import { cancelScript } from "../scenarios/cancel.ts";
import type { Script } from "../script.ts";
import type { LoadSubject } from "../subject.ts";
import { measureCosts, pacedLoad } from "./costs.ts";
import { measureDelays } from "./delays.ts";
import type { PeerPart, PeerRow } from "./rows.ts";
import { cancelLoad, measureCancels, measureMemory, watchStalls } from "./streams.ts";
import { warmUp } from "./warm-up.ts";

export const peerScripts: readonly Script[] = [pacedLoad.script, cancelScript(cancelLoad)];

/** @param subjects the gateways to measure */
export async function measurePeers(
  bench: Bench,
  subjects: readonly LoadSubject[],
  parts: ReadonlySet<PeerPart>,
): Promise<readonly PeerRow[]> {
  // Memory is measured first: in a used heap, free space would hide the memory of streams.
  const memory = parts.has("memory") ? await measureMemory(bench, subjects) : [];
  const stalls = parts.has("silence") ? watchStalls(bench, subjects) : undefined;
  await warmUp(bench, subjects);
  // The watch ends here: from now on gateways are stopped in turn, which would look like their silence.
  const silence = await stalls;
  return [
    ...(await measureCosts(bench, subjects, parts)),
    ...(parts.has("delays") ? await measureDelays(bench, subjects) : []),
    ...memory,
    ...(parts.has("cancel") ? [await measureCancels(bench, subjects)] : []),
    ...(silence ? [silence] : []),
  ];
}
