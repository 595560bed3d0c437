/**
 * Escapes the status message of a failed gRPC call as the protocol requires: printable ASCII stays unchanged, except
 * for the percent sign.
 */
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { OutgoingHttpHeaders } from "node:http";

type Response = Parameters<ReturnType<typeof connectNodeAdapter>>[1];

const messageTrailer = "grpc-message";

/**
 * Undoes needless escapes: connect-node also escapes colons and commas, which grpc-js does not decode, as in
 * `key_hashes%3A at least 1 element`.
 */
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

/** Escapes a message, and also blanks at its ends: HTTP/2 forbids them there, and the whole text would be lost. */
export const escapeMessage = (message: string): string => message.replace(/[^ -$&-~]|^ | $/gu, encodeURIComponent);
