/**
 * Checks for a free file descriptor, and keeps a spare one for Node. Without free descriptors, Node uses its spare one
 * to accept and close new connections at once. A thread, for example a name lookup, can take the spare one while Node
 * uses it; from then on each new connection would wait in silence and keep a processor busy until descriptors are free
 * again.
 */
import { closeSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { HindranceFinding } from "@sluice/proto/lib/process/hindrances.js";

const anyFile = "/dev/null";
let spare: number | undefined;

/** Checks by opening a file synchronously, not in a thread: threads may all be busy, and may take the descriptor that Node needs. */
export function checkDescriptors(): HindranceFinding | undefined {
  try {
    closeSync(openSync(anyFile, "r"));
    spare ??= openSync(anyFile, "r");
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EMFILE" && code !== "ENFILE") return undefined;
    offerSpare();
    return { reason: `no file descriptor is left (${code})`, isPartial: false };
  }
}

/** Lets Node open its spare descriptor again, as it does with each new socket. A socket destroyed at once opens no connection. */
function offerSpare(): void {
  if (spare === undefined) return;
  closeSync(spare);
  spare = undefined;
  new Socket()
    .on("error", () => {})
    .connect({ host: "127.0.0.1", port: 1 })
    .destroy();
  try {
    spare = openSync(anyFile, "r");
  } catch {
    // No descriptor is left for this socket: Node has taken the last one as its spare, and needs it more.
  }
}
