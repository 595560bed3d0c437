/** Frames of application/vnd.amazon.eventstream as Amazon Bedrock sends them (https://smithy.io/2.0/aws/amazon-eventstream.html). */
import { crc32 } from "node:zlib";

/** A header value that is not a string: its type, and its bytes with their length prefix. */
export interface RawHeader {
  readonly type: number;
  readonly bytes: Uint8Array;
}

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function header(name: string, value: string | RawHeader): Buffer {
  const text = typeof value === "string" ? Buffer.from(value) : undefined;
  const { type, bytes } =
    typeof value === "string" ? { type: 7, bytes: Buffer.concat([u16(text?.length ?? 0), text ?? u16(0)]) } : value;
  return Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), Buffer.from([type]), bytes]);
}

export function frame(
  headers: Readonly<Record<string, string | RawHeader>>,
  payload: string | Uint8Array = "",
): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const body = Buffer.from(payload as string);
  const prelude = Buffer.concat([u32(16 + head.length + body.length), u32(head.length)]);
  const checked = Buffer.concat([prelude, u32(crc32(prelude)), head, body]);
  return Buffer.concat([checked, u32(crc32(checked))]);
}

const json = { ":content-type": "application/json" };

/** An event as Bedrock sends it, padded by a member `p` of any length. */
export const eventFrame = (type: string, event: object): Buffer =>
  frame({ ":event-type": type, ...json, ":message-type": "event" }, JSON.stringify({ ...event, p: "abcdefghij" }));

export const exceptionFrame = (type: string, message: string, more: object = {}): Buffer =>
  frame({ ":message-type": "exception", ":exception-type": type, ...json }, JSON.stringify({ message, ...more }));

export const errorFrame = (code: string, message: string): Buffer =>
  frame({ ":message-type": "error", ":error-code": code, ":error-message": message });
