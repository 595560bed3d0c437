/** Carries a lane over a Session stream. */
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { SessionRequest } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { ClientStream, type ClientStreamListener } from "@sluice/proto/lib/rpc/client-stream.js";
import { pathOf } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { decodeSessionResponse } from "@sluice/proto/lib/lane/decode-response.js";
import { writeSessionRequest } from "@sluice/proto/lib/lane/encode-request.js";
import type { Connect, Link, LinkListener } from "@sluice/proto/lib/lane/link.js";
import type { TlsPeer } from "@sluice/proto/lib/tls/client.js";

const path = pathOf(InferenceService.method.session);

/** @param address address of the process, host:port  @param peer expected TLS identity; absent for a connection without TLS */
export const sessionConnector =
  (address: string, token: ServiceToken, peer?: TlsPeer): Connect =>
  (listener) =>
    new SessionLink({ address, path, token, peer }, listener);

class SessionLink implements Link {
  readonly #stream: ClientStream;

  constructor(options: ConstructorParameters<typeof ClientStream>[0], listener: LinkListener) {
    const streamListener: ClientStreamListener = {
      message: (bytes, start, end) => listener.message(decodeSessionResponse(bytes, start, end)),
      drained: () => listener.drained(),
      closed: (error) => listener.closed(error),
    };
    this.#stream = new ClientStream(options, streamListener);
  }

  write(message: SessionRequest): boolean {
    return writeSessionRequest(message, this.#write);
  }

  close(): void {
    this.#stream.end();
  }

  readonly #write = (part: Uint8Array): boolean => this.#stream.write(part);
}
