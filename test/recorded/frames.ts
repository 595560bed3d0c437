/** Reads recorded bytes in their framing: server-sent events in any spelling, and AWS's binary frames. */

export interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

export function readEvents(text: string): StreamEvent[] {
  const events: StreamEvent[] = [];
  let name = "";
  let data: string[] = [];
  const dispatch = () => {
    if (data.length > 0) events.push({ name, data: data.join("\n") });
    name = "";
    data = [];
  };
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === "") dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  // The last line of a recording may lack its line break.
  dispatch();
  return events;
}

export const isEventStream = (text: string): boolean => /^\s*(?:event|data|id|retry)?:/.test(text);

/** A message of `application/vnd.amazon.eventstream`. */
export interface Frame {
  readonly type: string;
  readonly isException: boolean;
  readonly payload: string;
}

/** Reads all frames in the bytes, without checking checksums: the reader under test does so. */
export function readFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 16 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (length < 16 || at + length > bytes.length) break;
    const headersEnd = at + 12 + bytes.readUInt32BE(at + 4);
    const headers = readHeaders(bytes.subarray(at + 12, headersEnd));
    frames.push({
      type: headers.get(":event-type") ?? headers.get(":exception-type") ?? "",
      isException: headers.get(":message-type") === "exception",
      payload: bytes.toString("utf8", headersEnd, at + length - 4),
    });
    at += length;
  }
  return frames;
}

/** Reads headers with text values, the only kind in a Converse stream. */
function readHeaders(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + bytes.readUInt8(at);
    const valueEnd = nameEnd + 3 + bytes.readUInt16BE(nameEnd + 1);
    headers.set(bytes.toString("utf8", at + 1, nameEnd), bytes.toString("utf8", nameEnd + 3, valueEnd));
    at = valueEnd;
  }
  return headers;
}
