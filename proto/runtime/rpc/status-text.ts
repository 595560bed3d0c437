/** What is said of a failed gRPC call, escaped as the protocol has it: printable ASCII stays as it is, except for the percent sign. */
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { OutgoingHttpHeaders } from "node:http";

type Response = Parameters<ReturnType<typeof connectNodeAdapter>>[1];

const messageTrailer = "grpc-message";

/** connect-node escapes colons, commas and the like as well, and grpc-js leaves these escaped: `key_hashes%3A at least 1 element`. */
export function escapeStatusLess(response: Response): void {
  const add: (trailers: OutgoingHttpHeaders) => void = response.addTrailers.bind(response);
  response.addTrailers = (trailers: OutgoingHttpHeaders) => {
    const { [messageTrailer]: message, ...others } = trailers;
    add(typeof message === "string" ? { ...others, [messageTrailer]: escaped(decodeURIComponent(message)) } : others);
  };
}

/** A blank at either end, too: HTTP/2 admits none there, and the text would not arrive at all. */
const escaped = (message: string): string => message.replace(/[^ -$&-~]|^ | $/gu, encodeURIComponent);
