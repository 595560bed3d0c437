/** Random responses as servers send them, and as they should not: in pieces, cut short, or broken. */
import type { Random } from "../../../support/random.ts";
import { breakResponse } from "./mutate.ts";

/** What happens to the connection after the last piece. */
export type ConnectionEnd = "keep" | "close" | "reset";

export interface ScriptedResponse {
  /** Bytes of the response in pieces, each written separately. */
  readonly pieces: readonly Buffer[];
  /** Turns of the event loop, or milliseconds, to wait before each piece. */
  readonly waits: readonly number[];
  readonly ending: ConnectionEnd;
  /** Whether the client pauses reading now and then. */
  readonly isPaused: boolean;
}

const statuses = [200, 200, 200, 200, 200, 200, 201, 204, 206, 299, 302, 304, 400, 401, 404, 429, 500, 503, 599, 999];
const fields = [
  "Content-Type: application/json",
  "content-type: text/event-stream; charset=utf-8",
  "CONTENT-TYPE:text/plain",
  "content-type: ",
  "Retry-After: 7",
  "retry-after:   9  \t",
  "retry-after-ms: 12.5",
  "date: Mon, 23 Nov 2026 08:00:00 GMT",
  "x-amzn-errortype: ThrottlingException",
  "content-encoding: identity",
  "x-empty:",
  "x-latin: gr\u00fc\u00dfe",
  "x-odd!#$%&'*+-.^_`|~: a:b\"c",
  "x-request-id: 0123456789abcdef0123456789abcdef",
];
const connectionFields = [
  "connection: close",
  "Connection: keep-alive",
  "connection: Keep-Alive, x-thing",
  "connection: x-thing ,close",
  "Connection:CLOSE",
  "keep-alive: timeout=1",
  "keep-alive: timeout=2, max=5",
  "Keep-Alive: timeout=30",
  "keep-alive: timeout=60",
  "keep-alive: max=1",
];
const informational = ["103 Early Hints\r\nlink: </a>; rel=preload", "102 Processing", "199 Something", "100 Continue"];
const extensions = ["", "", "", "", ";a", ";a=b", ';a="b c;d"', ";a;b=c"];

export function generateResponse(random: Random): ScriptedResponse {
  let bytes = wellFormed(random);
  if (random.chance(0.5)) bytes = breakResponse(random, bytes);
  if (random.chance(0.1)) bytes = bytes.subarray(0, random.below(bytes.length + 1));
  const pieces = cut(random, bytes);
  if (random.chance(0.05)) pieces.push(Buffer.from(random.pick(["\r\n", "\n", "x", "HTTP/1.1 200 OK\r\n\r\n", "\0"])));
  const ending = random.pick<ConnectionEnd>(["keep", "keep", "keep", "close", "reset"]);
  return {
    pieces,
    waits: pieces.map(() => (random.chance(0.02) ? 3 : random.below(3))),
    ending,
    // undici loses received data if the connection ends during a pause.
    isPaused: ending === "keep" && random.chance(0.2),
  };
}

function wellFormed(random: Random): Buffer {
  const status = random.pick(statuses);
  const isOld = random.chance(0.08);
  const isEmpty = status === 204 || status === 304;
  let head = "";
  for (let most = isOld ? 0 : 3; most > 0 && random.chance(0.05); most--)
    head += `HTTP/1.1 ${random.pick(informational)}\r\n\r\n`;
  head += `HTTP/1.${isOld ? 0 : 1} ${status}${random.pick([" OK", "", " ", " Not \u00fc, (fine)"])}\r\n`;
  const lines = Array.from({ length: random.below(6) }, () => random.pick(fields));
  if (random.chance(0.3)) lines.push(random.pick(connectionFields));
  const body = isEmpty ? Buffer.alloc(0) : Buffer.from(generateText(random));
  const [framing, framed] = isEmpty ? ["", body] : frame(random, body, isOld);
  if (framing !== "") lines.splice(random.below(lines.length + 1), 0, framing);
  return Buffer.concat([Buffer.from(`${head}${lines.map((line) => `${line}\r\n`).join("")}\r\n`, "latin1"), framed]);
}

function generateText(random: Random): string {
  const events = random.below(6);
  if (events === 0) return "";
  const size = random.chance(0.01) ? 30_000 : random.chance(0.1) ? 3_000 : 60;
  return Array.from({ length: events }, () => `data: {"a":"${"x\u00fc".repeat(random.below(size))}"}\n\n`).join("");
}

function frame(random: Random, body: Buffer, isOld: boolean): [field: string, framed: Buffer] {
  const kind = random.next();
  if (kind < 0.12) return ["", body];
  if (kind < 0.5 || isOld) return [`${random.pick(["content-length", "Content-Length"])}: ${body.length}`, body];
  const parts: Buffer[] = [];
  const most = Math.max(random.pick([3, 40, 500, 60_000]), body.length >> 7);
  for (let at = 0; at < body.length; ) {
    const end = Math.min(body.length, at + 1 + random.below(most));
    const size = (end - at).toString(16);
    const written = random.pick([size, size, size.toUpperCase(), `000${size}`]);
    parts.push(Buffer.from(`${written}${random.pick(extensions)}\r\n`), body.subarray(at, end), Buffer.from("\r\n"));
    at = end;
  }
  const trailers = random.chance(0.1) ? "x-trailer: 1\r\ndigest: abc\r\n" : "";
  parts.push(Buffer.from(`${random.pick(["0", "00"])}${random.pick(extensions)}\r\n${trailers}\r\n`));
  return [random.pick(["transfer-encoding: chunked", "Transfer-Encoding:Chunked "]), Buffer.concat(parts)];
}

function cut(random: Random, bytes: Buffer): Buffer[] {
  const few = random.below(7);
  const cuts =
    bytes.length < 400 && random.chance(0.1)
      ? Array.from(bytes, (_, at) => at)
      : Array.from({ length: few }, () => random.below(bytes.length + 1)).toSorted((a, b) => a - b);
  return [...cuts, bytes.length]
    .map((end, index, ends) => bytes.subarray(ends[index - 1] ?? 0, end))
    .filter(({ length }) => length > 0);
}
