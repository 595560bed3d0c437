/** The connection of a lane, reopened whenever it is lost. */
import type { SessionRequest, SessionResponse } from "../../gen/sluice/inference/v1/session_pb.ts";

export interface LinkListener {
  message(message: SessionResponse): void;
  /** Called when writing may resume after a `write` that returned false. */
  drained(): void;
  /** Called exactly once, after the last message. */
  closed(error: Error | undefined): void;
}

export interface Link {
  /** False requests a pause until `drained`. */
  write(message: SessionRequest): boolean;
  /** Half-closes the stream; the server ends the session. */
  close(): void;
}

/** Opens a new session at each call. The listener is not called before the link is returned. */
export type Connect = (listener: LinkListener) => Link;
