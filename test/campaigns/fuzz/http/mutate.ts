/** Breaks a response as broken and hostile servers do. */
import type { Random } from "../../../support/random.ts";

type Mutation = (random: Random, bytes: Buffer) => Buffer;

const splice = (bytes: Buffer, at: number, removed: number, added: string): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from(added, "latin1"), bytes.subarray(at + removed)]);

/** A random position, mostly in the head, where most can go wrong. */
function position(random: Random, bytes: Buffer): number {
  const head = bytes.indexOf("\r\n\r\n");
  return random.below(random.chance(0.7) && head !== -1 ? head + 4 : bytes.length + 1);
}

const addField =
  (...lines: readonly string[]): Mutation =>
  (random, bytes) => {
    const at = bytes.indexOf("\r\n");
    return at === -1 ? bytes : splice(bytes, at + 2, 0, `${random.pick(lines)}\r\n`);
  };

/** A damage that replaces a match of the pattern. */
const replace =
  (pattern: RegExp, ...texts: readonly string[]): Mutation =>
  (random, bytes) =>
    Buffer.from(bytes.toString("latin1").replace(pattern, random.pick(texts)), "latin1");

const mutations: readonly Mutation[] = [
  (random, bytes) => splice(bytes, position(random, bytes), 1, String.fromCharCode(random.below(256))),
  (random, bytes) => splice(bytes, position(random, bytes), 1, ""),
  (random, bytes) =>
    splice(
      bytes,
      position(random, bytes),
      0,
      random.pick(["\r", "\n", "\0", " ", "\t", ":", "\r\n", "\r\n\r\n", "\x7f"]),
    ),
  addField("content-length: 0", "content-length: 5", "Content-Length: 12", "content-length: 99999"),
  addField("transfer-encoding: chunked", "Transfer-Encoding: gzip", "transfer-encoding: identity"),
  addField("connection: close", "connection: keep-alive", "connection: upgrade\r\nupgrade: websocket", "upgrade: h2c"),
  addField(
    " folded",
    "\tfolded",
    "x-a: b\r\n c",
    ": no name",
    "no colon",
    "x y: z",
    "x : y",
    "x-null: a\0b",
    "x: \x01",
  ),
  addField(`x-long: ${"y".repeat(70_000)}`, `x-long: ${"y".repeat(30_000)}`),
  addField("x-many: 1\r\n".repeat(8_000).slice(0, -2)),
  replace(
    /content-length: *\d+/i,
    "content-length: +5",
    "content-length: 5,5",
    "content-length: 0x5",
    "content-length:",
  ),
  replace(/content-length: *\d+/i, "content-length: 5 5", "content-length: -1", "content-length: 007"),
  replace(/content-length: *\d+/i, `content-length: ${"9".repeat(15)}`, `content-length: ${"9".repeat(30)}`),
  replace(/(content-length: *\d+)/i, "$1\r\n$1", "$1 ", "$1\t", "$10", "$1x"),
  replace(
    /(encoding: ?chunked)/i,
    "encoding: chunked, gzip",
    "encoding: gzip, chunked",
    "encoding: xchunked",
    "$1, chunked",
  ),
  replace(
    /(transfer-encoding: ?chunked)/i,
    "$1\r\n$1",
    "$1;a=b",
    "$1\r\ncontent-length: 5",
    "transfer-encoding: chunkedx",
  ),
  replace(
    /^HTTP\/1.\d/,
    "HTTP/1.2",
    "HTTP/2.0",
    "HTTP/0.9",
    "http/1.1",
    "HTTP/1.10",
    "ICY",
    "HTTP/3",
    "HTTP /1.1",
    "\r\nHTTP/1.1",
  ),
  replace(/ \d{3}/, " 20", " 2000", " 099", " 200OK", " ", "  200", "\t200", " 101", " 100", " 000", " 2x0"),
  replace(/\r\n/g, "\n", "\r", "\n\r", "\r\r\n"),
  replace(/\r\n\r\n/, "\r\n\n", "\n\n", "\r\r", "\r\n \r\n", "\r\n\r\n\r\n"),
  replace(
    /\r\n([\da-f]+)\r\n/i,
    "\r\n-1\r\n",
    "\r\n0x5\r\n",
    "\r\n $1\r\n",
    "\r\n$1 \r\n",
    "\r\n\r\n",
    "\r\n$1;\r\n",
    "\r\n$1;=b\r\n",
  ),
  replace(
    /\r\n([\da-f]+)\r\n/i,
    "\r\nfffffffffffffffff\r\n",
    "\r\nffffffffffff\r\n",
    "\r\n1$1\r\n",
    "\r\n$1\n",
    '\r\n$1;a="b\\"c"\r\n',
  ),
  replace(
    /\r\n([\da-f]+)\r\n/i,
    "\r\n$1; a\r\n",
    "\r\n$1;a=b c\r\n",
    `\r\n$1;a=${"b".repeat(20_000)}\r\n`,
    '\r\n$1;a="b\r\n',
    "\r\n$1;a\0\r\n",
  ),
  replace(/x-trailer/, "content-length", "transfer-encoding", " folded", "x trailer"),
  (random, bytes) =>
    Buffer.concat([
      bytes,
      Buffer.from(random.pick(["\r\n", "\n\n", "x", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"])),
    ]),
];

export function breakResponse(random: Random, bytes: Buffer): Buffer {
  let broken = bytes;
  for (let count = random.chance(0.3) ? 2 : 1; count > 0; count--) broken = random.pick(mutations)(random, broken);
  return broken;
}
