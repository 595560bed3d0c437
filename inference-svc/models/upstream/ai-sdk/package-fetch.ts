/** The `fetch` that AI SDK packages use. Packages parse answers themselves, so the JSON values of an answer are counted before. */
import { ValueCount, tooManyValues } from "@sluice/proto/lib/json/values.js";
import { answerTooLarge } from "../failure.ts";

/** Fetches a URL. Redirects are refused, because their targets would receive the credentials. */
export const packageFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "error" });
  const { body, headers, status, statusText } = response;
  if (body === null) return response;
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  const count = isStream ? new EventCount() : new ValueCount();
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      count.add(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      if (count.isTooMany) controller.error(answerTooLarge(tooManyValues));
      else controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(counted), { headers, status, statusText });
};

const newline = 0x0a;
const carriageReturn = 0x0d;

/** Counts the JSON values in each event of a stream. A blank line ends an event, whose lines of data are one text. */
class EventCount {
  #values = new ValueCount();
  /** Whether the line has had no character other than a carriage return so far. */
  #isBlank = true;
  isTooMany = false;

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(newline, at);
      const line = bytes.subarray(at, end === -1 ? bytes.length : end);
      at += line.length + 1;
      this.#isBlank &&= line.length === 0 || (line.length === 1 && line[0] === carriageReturn);
      this.#values.add(line);
      this.isTooMany ||= this.#values.isTooMany;
      if (end === -1) return;
      if (this.#isBlank) this.#values = new ValueCount();
      this.#isBlank = true;
    }
  }
}
