/** The connection of a lane between gateway and inference-svc, reopened whenever it is lost. */
import type { SessionRequest, SessionResponse } from "../../gen/sluice/inference/v1/session_pb.ts";

export interface LinkListener {
  message(message: SessionResponse): void;
  /** Called when writing may resume after `write` returned false. */
  drained(): void;
  /** Called exactly once, after the last message. @param error undefined for a clean end */
  closed(error: Error | undefined): void;
}

export interface Link {
  /** Sends a message. @returns false to request a pause until `drained` */
  write(message: SessionRequest): boolean;
  /** Half-closes the stream; the server ends the session. */
  close(): void;
}

/** Opens a new session at each call. The listener is called only after the link is returned. */
export type Connect = (listener: LinkListener) => Link;
