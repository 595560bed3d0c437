/**
 * The process for reading documents: one at a time, each in as a message and out as its text or an error. It is a process because a document that
 * exhausts the heap ends the whole process, even from a thread (a growing `new Map`, Node 20 and 24).
 */
import { setPriority } from "node:os";
import { Worker } from "node:worker_threads";
import { boundBuffers } from "./allowance.ts";
import type { DocumentMessage, DocumentText, ReaderMessage } from "./readers.ts";

const send = (message: ReaderMessage): void => void process.send?.(message);

/** The parent may be killed while a document keeps this process busy for good: this thread then ends it. */
const watch = `
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 1000);
`;
new Worker(watch, { eval: true, stdout: true, stderr: true }).unref();
process.on("disconnect", () => process.exit());

/** Serving processes come first: niceness 5 leaves them three quarters of a contended processor. */
setPriority(5);

boundBuffers();
const { UnreadableDocument } = await import("./unreadable.ts");

/** Each parser is loaded with the first document of its kind; pdfjs by itself takes a third of a second. */
async function read({ kind, bytes }: DocumentMessage): Promise<DocumentText> {
  if (kind !== "pdf") return (await import("../office/document.ts")).readOfficeFile(kind, new Uint8Array(bytes));
  const { readPdf } = await import("../pdf/document.ts");
  return readPdf(new Uint8Array(bytes), (pages) => send({ type: "opened", pages }));
}

process.on("message", (message: DocumentMessage) => {
  read(message).then(
    (text) => send({ type: "read", text }),
    (error: unknown) =>
      send({ type: "unreadable", ...(error instanceof UnreadableDocument && { why: error.message }) }),
  );
});
send({ type: "ready" });
