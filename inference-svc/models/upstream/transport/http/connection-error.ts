/** Failures of a connection that come neither from the operating system nor from TLS. */

type Code =
  /** The connection was not established in time. */
  | "ERR_CONNECT_TIMEOUT"
  /** The other side closed the connection before the end of its response. */
  | "ERR_CONNECTION_CLOSED"
  /** The response breaks the rules of HTTP/1.1, or a limit. */
  | "ERR_INVALID_HTTP_RESPONSE";

export class ConnectionError extends Error {
  readonly code: Code;

  constructor(code: Code, message: string) {
    super(message);
    this.code = code;
  }
}

export const invalidResponse = (message: string): ConnectionError =>
  new ConnectionError("ERR_INVALID_HTTP_RESPONSE", message);
