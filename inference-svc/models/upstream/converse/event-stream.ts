/** Reads the event streams of Amazon Bedrock: each frame is an event, or the exception that ends a failed stream. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { isUtf8 } from "node:buffer";
import type { Framing, Translator } from "../dialect.ts";
import { providerFailed, providerFault } from "../failure.ts";
import { maskUnknownName } from "../known-words.ts";
import { converseError } from "./error.ts";
import { type Frame, FrameScanner } from "./frames.ts";

export const eventStream: Framing = {
  type: "application/vnd.amazon.eventstream",
  open(translator) {
    const scanner = new FrameScanner((frame) => {
      // Frames after the end are ignored.
      if (!translator.done) read(frame, translator);
    });
    return {
      feed: (chunk) => scanner.feed(chunk),
      end() {
        if (!translator.done) translator.close();
      },
    };
  },
};

function read({ headers, payload }: Frame, translator: Translator): void {
  if (!isUtf8(payload)) throw providerFailed("invalid UTF-8");
  const kind = headers.get(":message-type");
  switch (kind) {
    case "event":
      return translator.event(headers.get(":event-type"), payload.toString("utf8"));
    case "exception":
      throw providerFault(converseError(undefined, parsed(payload), headers.get(":exception-type")));
    case "error":
      // The error comes from the service in front of the model.
      throw providerFault(
        converseError(undefined, { message: headers.get(":error-message") }, headers.get(":error-code")),
      );
    default:
      throw providerFailed(`frame of type ${maskUnknownName(String(kind))}`);
  }
}

function parsed(payload: Buffer): unknown {
  try {
    return parseWithin(payload.toString("utf8"));
  } catch {
    return undefined;
  }
}
