/** One Session stream over grpc-js: the transport under a lane. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { Client } from "@grpc/grpc-js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type SessionRequest, type SessionResponse } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { dial, pathOf, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { decoded } from "@sluice/proto/runtime/session/decode.js";
import { encodeRequest } from "@sluice/proto/runtime/session/encode-request.js";
import type { TlsPeer } from "@sluice/proto/runtime/tls/client.js";

export interface LinkListener {
  message(message: SessionResponse): void;
  /** Room for more after a `write` that returned false. */
  drained(): void;
  /** Exactly once, after the last message. */
  closed(error: Error | undefined): void;
}

export interface Link {
  /** False asks for a pause until `drained`. */
  write(message: SessionRequest): boolean;
  /** Half-closes; the server ends the session. */
  close(): void;
}

/** Opens a new session each time it is called. */
export interface Transport {
  connect(listener: LinkListener): Link;
  close(): void;
}

const path = pathOf(InferenceService.method.session);

/**
 * @param address host:port
 * @param peer who must be there; in clear text when absent
 */
export function grpcTransport(address: string, token: ServiceToken, peer?: TlsPeer): Transport {
  const client: Client = dial(address, peer);
  return {
    connect(listener) {
      const call = client.makeBidiStreamRequest(path, encodeRequest, decoded, serviceMetadata(token));
      let failure: Error | undefined;
      call.on("data", (message: SessionResponse) => listener.message(message));
      call.on("drain", () => listener.drained());
      call.on("error", (error: Error) => {
        failure = error;
      });
      // 'status' comes exactly once, but may overtake messages that are already decoded.
      call.on("status", () => setImmediate(() => listener.closed(failure)));
      return { write: (message) => call.write(message), close: () => call.end() };
    },
    close: () => client.close(),
  };
}
