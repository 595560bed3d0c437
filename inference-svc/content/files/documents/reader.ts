/**
 * The process that reads documents, one at a time. Each document arrives as a message, and its text or an error is sent
 * back. A separate process, because a document that exhausts the heap ends the whole process even from a thread (a
 * growing `new Map`, Node 20 and 24).
 */
import { setPriority } from "node:os";
import { Worker } from "node:worker_threads";
import { boundBuffers } from "./allowance.ts";
import type { DocumentMessage, DocumentText, ReaderMessage } from "./readers.ts";

const send = (message: ReaderMessage): void => void process.send?.(message);

/** Code of a thread that ends this process after its parent was killed, even while a document keeps the main thread busy for good. */
const watch = `
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 1000);
`;
new Worker(watch, { eval: true, stdout: true, stderr: true }).unref();
process.on("disconnect", () => process.exit());

/** Lowers the priority in favour of serving processes: niceness 5 leaves them three quarters of a contended processor. */
setPriority(5);

boundBuffers();
const { UnreadableDocument } = await import("./unreadable.ts");

/** Reads a document. Each parser is loaded with the first document of its kind, because pdfjs alone takes a third of a second. */
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
