/** Escapes the status message of a failed gRPC call as required by the protocol: printable ASCII stays unchanged, except for the percent sign. */
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { OutgoingHttpHeaders } from "node:http";

type Response = Parameters<ReturnType<typeof connectNodeAdapter>>[1];

const messageTrailer = "grpc-message";

/** connect-node also escapes colons and commas, and grpc-js does not decode them: `key_hashes%3A at least 1 element`. */
export function reduceStatusEscapes(response: Response): void {
  const add: (trailers: OutgoingHttpHeaders) => void = response.addTrailers.bind(response);
  response.addTrailers = (trailers: OutgoingHttpHeaders) => {
    const { [messageTrailer]: message, ...others } = trailers;
    add(
      typeof message === "string"
        ? { ...others, [messageTrailer]: escapeMessage(decodeURIComponent(message)) }
        : others,
    );
  };
}

/** Escapes blanks at either end as well: HTTP/2 forbids them there, and the text would be lost. */
export const escapeMessage = (message: string): string => message.replace(/[^ -$&-~]|^ | $/gu, encodeURIComponent);
