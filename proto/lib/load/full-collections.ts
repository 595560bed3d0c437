/** Delays V8's collections of its whole heap. */
import { setFlagsFromString } from "node:v8";

/**
 * Flags that set when V8 begins to mark the heap, in percent of the room between the last full collection and the next:
 * in the background, and at once.
 *
 * By default, V8 begins a full collection when less room is left than the young generation takes. Buffers outside of
 * the heap count too until a young collection frees them, and requests of 20 KB fill this room between two young
 * collections: inference-svc then marked its 48 MB up to four times a second, which took a fifth of its processor time
 * (Node 20, 2026-11-26).
 */
const settings = ["--incremental-marking-soft-trigger=80", "--incremental-marking-hard-trigger=95"];

/** Takes effect until the process ends. The maximum size of the heap stays unchanged. */
export function delayFullCollections(): void {
  for (const setting of settings) setFlagsFromString(setting);
}
