/**
 * Reports for the audit log that a management key was used from outside its allowed networks. Refused turns are
 * recorded like other refused turns.
 */
import type { Client } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import { type Caller, KeyKind } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { SessionService } from "../../gen/sluice/admin/v1/session_service_pb.ts";
import { NetworkRefusalBound } from "../limits/network-refusal-bound.ts";
import type { Logger } from "../log/log.ts";
import { type CallOrigin, call, serviceMetadata } from "./dial.ts";
import type { ServiceToken } from "./service-token.ts";

const timeoutMs = 5_000;
/** Maximum length of a recorded path, which contains names chosen by clients. */
const maxCallLength = 200;

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

  /**
   * Settles once the refusal is in the audit log, or cannot be recorded.
   * @param refused HTTP method and path without the query, or the path of an RPC
   * @param origin includes the network address of the client
   */
  async note(
    { kind, keyHash }: Pick<Caller, "kind" | "keyHash">,
    refused: string,
    origin: Omit<CallOrigin, "keyHash">,
  ): Promise<void> {
    const { admin, token, log } = this.#parts;
    const { address = "" } = origin;
    if (kind !== KeyKind.MANAGEMENT || !this.#bound.admits(keyHash, address)) return;
    const { recordNetworkRefusal } = SessionService.method;
    const [path = ""] = refused.split("?", 1);
    const refusal = create(recordNetworkRefusal.input, { call: path.slice(0, maxCallLength) });
    try {
      await call(admin, recordNetworkRefusal, refusal, serviceMetadata(token, { ...origin, keyHash }), timeoutMs);
    } catch (err) {
      this.#bound.release(keyHash, address);
      log.warn({ err }, "refused management key is not in the audit log");
    }
  }
}
