/**
 * The process that reads PDFs: one after the other, each as a message in and its text, or why there is none, out. In a process of its own because
 * what a PDF makes of memory ends all of it: a thread that runs out of its heap takes its process along (`new Map` that grows, Node 20 and 24).
 */
import { setPriority } from "node:os";
import { Worker } from "node:worker_threads";
import { boundBuffers } from "./allowance.ts";
import type { Said } from "./readers.ts";

const say = (said: Said): void => void process.send?.(said);

/** Whoever began this process may be killed while a PDF keeps it busy for good: then a thread ends it. */
const watch = `
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 1000);
`;
new Worker(watch, { eval: true, stdout: true, stderr: true }).unref();
process.on("disconnect", () => process.exit());

/** Whoever serves comes first: three quarters of a processor that both want. */
setPriority(5);

boundBuffers();
const { Unreadable, textOfPdf } = await import("./document.ts");

process.on("message", (bytes: Uint8Array) => {
  textOfPdf(new Uint8Array(bytes), (pages) => say({ type: "opened", pages })).then(
    (read) => say({ type: "read", read }),
    (error: unknown) =>
      say({ type: "unreadable", why: error instanceof Unreadable ? error.message : "is damaged, or no PDF" }),
  );
});
say({ type: "ready" });
