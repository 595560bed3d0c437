/** Reports management keys that are used from networks that they do not allow, for the audit log. Turns refused so are on record with other refused turns. */
import type { Client } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import { KeyKind } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { SessionService } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { NetworkRefusalBound } from "@sluice/proto/lib/limits/network-refusal-bound.js";
import { type CallOrigin, call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { IncomingMessage } from "node:http";
import { pathIn } from "./path.ts";

const timeoutMs = 5_000;
/** Paths of requests contain names that clients choose. */
const maxPathLength = 200;

export interface NetworkRefusalsDeps {
  readonly admin: Client;
  readonly token: ServiceToken;
  readonly log: Pick<Logger, "warn">;
}

export class NetworkRefusals {
  readonly #parts: NetworkRefusalsDeps;
  readonly #bound = new NetworkRefusalBound();

  constructor(parts: NetworkRefusalsDeps) {
    this.#parts = parts;
  }

  /** Settles once the refusal is in the audit log, or cannot be written. @param origin with the address of the client */
  async note(
    { kind, keyHash }: Pick<Caller, "kind" | "keyHash">,
    { method, url = "" }: IncomingMessage,
    origin: Omit<CallOrigin, "keyHash">,
  ): Promise<void> {
    const { admin, token, log } = this.#parts;
    if (kind !== KeyKind.MANAGEMENT || !this.#bound.admits(keyHash, origin.address ?? "")) return;
    const { recordNetworkRefusal } = SessionService.method;
    const refusal = create(recordNetworkRefusal.input, { call: `${method} ${pathIn(url).slice(0, maxPathLength)}` });
    try {
      await call(admin, recordNetworkRefusal, refusal, serviceMetadata(token, { ...origin, keyHash }), timeoutMs);
    } catch (err) {
      log.warn({ err }, "refused management key is not in the audit log");
    }
  }
}
