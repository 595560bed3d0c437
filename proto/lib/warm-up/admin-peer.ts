/**
 * Simulates admin-svc while a process warms up: every key is an inference key without limits, and every usage record is
 * accepted and dropped.
 */
import { create } from "@bufbuild/protobuf";
import { AccessService, KeyKind, ResolveKeyResponseSchema } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { LedgerService } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";
import type { ProcessDeps } from "../process/process-parts.ts";
import { requireServiceToken } from "../rpc/caller.ts";
import { type Peer, openPeer } from "./peer.ts";

const generation = 1n;

export function openAdminPeer(parts: Pick<ProcessDeps, "log" | "token">): Promise<Peer> {
  const { token } = parts;
  return openPeer(parts, {
    routes: (router) => {
      router.service(AccessService, {
        resolveKey({ keyHash }, { requestHeader }) {
          requireServiceToken(requestHeader, token);
          const caller = { keyHash, workspaceId: "warm-up", kind: KeyKind.INFERENCE };
          return create(ResolveKeyResponseSchema, { generation, caller });
        },
        async *watchPolicy(requests, { requestHeader }) {
          requireServiceToken(requestHeader, token);
          yield { generation };
          for await (const _ of requests);
        },
      });
      router.service(LedgerService, {
        recordUsage({ recordsJson }, { requestHeader }) {
          requireServiceToken(requestHeader, token);
          return { storedCount: recordsJson.length };
        },
      });
    },
  });
}
