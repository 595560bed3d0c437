/** Controls when V8 collects its whole heap. */
import { setFlagsFromString } from "node:v8";

/**
 * Percentages of the room between the last full collection and the next at which V8 begins to mark the heap: in the background, and at once.
 *
 * V8's default is to begin a collection when less room is left than the young generation takes. Buffers outside of the heap count as well until a young
 * collection frees them, and requests of 20 KB fill this room between two young collections: inference-svc then marked its 48 MB up to four times a
 * second, a fifth of its processor time (Node 20, 2026-11-26).
 */
const settings = ["--incremental-marking-soft-trigger=80", "--incremental-marking-hard-trigger=95"];

/** Applies until the process ends. The limit of the heap stays unchanged. */
export function delayFullCollections(): void {
  for (const setting of settings) setFlagsFromString(setting);
}
