/** The body of a provider's answer, by what its head says that it is. */
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import { openBrace, openBracket } from "@sluice/proto/runtime/validation/json-bytes.js";
import { codingOf, unpackerOf } from "./coding.ts";
import type { Answer, Framing, Translator } from "./dialect.ts";
import { providerFailed } from "./failure.ts";
import { headerOf } from "./header.ts";

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
  const coding = codingOf(headers);
  if (coding !== undefined && !unpackerOf(coding)) throw providerFailed(`content-encoding ${coding.slice(0, 100)}`);
  const type = (headerOf(headers, "content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const { framing } = expected;
  if (type !== framing.type && !unspoken.has(type) && type !== "application/json" && !type.endsWith("+json"))
    throw providerFailed(`content-type ${type.slice(0, 100)}`);
  return lookedAt(
    () => framing.open(translator),
    () => wholeAnswer(translator),
  );
}

/** Types that say nothing of what comes: servers that were written by hand leave them as they are. */
const unspoken: ReadonlySet<string> = new Set(["", "text/plain", "text/json", "application/octet-stream"]);

const openings: ReadonlySet<number> = new Set([openBrace, openBracket]);
const lessThan = 0x3c;
/** White space, and the three bytes of a byte order mark. */
const blanks: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);

/**
 * Decides by the first character: servers call a stream JSON, and an error that is JSON a stream. No event of a stream begins with a brace,
 * and a page begins with <.
 */
function lookedAt(open: () => Answer, openWhole: () => Answer): Answer {
  const before: Uint8Array[] = [];
  let answer: Answer | undefined;
  return {
    feed(chunk) {
      if (answer) return answer.feed(chunk);
      before.push(chunk);
      const first = chunk.find((byte) => !blanks.has(byte));
      if (first === undefined) return;
      if (first === lessThan) throw providerFailed("a page");
      answer = openings.has(first) ? openWhole() : open();
      for (const blank of before) answer.feed(blank);
    },
    end() {
      (answer ?? open()).end();
    },
  };
}

function wholeAnswer(translator: Translator): Answer {
  const chunks: Uint8Array[] = [];
  return {
    feed: (chunk) => void chunks.push(chunk),
    end() {
      const bytes = Buffer.concat(chunks);
      if (!isUtf8(bytes)) throw providerFailed("invalid UTF-8");
      translator.event(undefined, new TextDecoder().decode(bytes));
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
