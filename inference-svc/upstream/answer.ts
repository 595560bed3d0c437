/** The body of a provider's answer, by what its head says that it is. */
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import type { Answer, Framing, Translator } from "./dialect.ts";
import { providerFailed } from "./failure.ts";

/** Providers explain an error in less than a kilobyte; what is longer is a page of a proxy. */
const errorLimitBytes = 64 * 1024;

export interface AnswerHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface Expected {
  /** Whether a stream was asked for: decides where the head says nothing. */
  readonly stream: boolean;
  readonly framing: Framing;
  /** What an error answer stands for. */
  readonly fault: (head: AnswerHead, body: unknown) => Fault;
}

/** @throws Fault when no answer can be read: a redirect is never followed with credentials, and a web page is no answer */
export function openAnswer(head: AnswerHead, expected: Expected, translator: Translator): Answer {
  const { status, headers } = head;
  if (status >= 400) return errorAnswer((body) => expected.fault(head, body));
  if (status >= 300) throw providerFailed(`redirect, status ${status}`);
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw providerFailed(`content-encoding ${encoding}`);
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const { framing, stream } = expected;
  if (type === framing.type || (type === "" && stream)) return framing.open(translator);
  if (type === "application/json" || type.endsWith("+json") || type === "") return wholeAnswer(translator);
  throw providerFailed(`content-type ${type.slice(0, 100)}`);
}

function wholeAnswer(translator: Translator): Answer {
  const chunks: Uint8Array[] = [];
  return {
    feed: (chunk) => void chunks.push(chunk),
    end() {
      const bytes = Buffer.concat(chunks);
      if (!isUtf8(bytes)) throw providerFailed("invalid UTF-8");
      translator.event(undefined, bytes.toString("utf8"));
      if (!translator.done) translator.close();
    },
  };
}

function errorAnswer(fault: (body: unknown) => Fault): Answer {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    feed(chunk) {
      size += chunk.length;
      if (size > errorLimitBytes) throw fault(undefined);
      chunks.push(chunk);
    },
    end() {
      throw fault(readJson(Buffer.concat(chunks)));
    },
  };
}

function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
