/** Reads requests from a socket with as little work as possible: the end of the body, the requested script, and the tag. */
import { type Script, scriptOf } from "../script.ts";

export interface MockRequest {
  readonly script: Script;
  /** The name in `tag:<name>` anywhere in the body, by which a measurement recognises its request. */
  readonly tag: string | undefined;
}

const headEnd = Buffer.from("\r\n\r\n");

export class RequestReader {
  #pending: Buffer = Buffer.alloc(0);

  /** @returns requests that these bytes complete @throws if a request cannot be served */
  feed(bytes: Buffer): MockRequest[] {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    const requests: MockRequest[] = [];
    for (;;) {
      const bodyStart = this.#pending.indexOf(headEnd) + headEnd.length;
      if (bodyStart < headEnd.length) return requests;
      const head = this.#pending.toString("latin1", 0, bodyStart);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) throw new Error(`no request for a turn: ${head.split("\r\n", 1)[0]}`);
      const bodyEnd = bodyStart + Number(length);
      if (this.#pending.length < bodyEnd) return requests;
      requests.push(parse(this.#pending.toString("latin1", bodyStart, bodyEnd)));
      this.#pending = this.#pending.subarray(bodyEnd);
    }
  }
}

function parse(body: string): MockRequest {
  const model = /"model":"([^"]+)"/.exec(body)?.[1];
  if (model === undefined) throw new Error("request without model");
  return { script: scriptOf(model), tag: /tag:([\w-]+)/.exec(body)?.[1] };
}
