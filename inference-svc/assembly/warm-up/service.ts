/**
 * The inference service of a warm-up: the parts of a real service, with an isolated ledger, policy, metrics and log. Everything listens on the loopback
 * address.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { configSchema } from "@sluice/proto/config/config-file.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { openAdminPeer } from "@sluice/proto/lib/warm-up/admin-peer.js";
import { createWarmUpParts } from "@sluice/proto/lib/warm-up/parts.js";
import { loopback } from "@sluice/proto/lib/warm-up/peer.js";
import type { Settings } from "../config.ts";
import { openInference } from "../inference.ts";
import { noPackages } from "../../models/upstream/ai-sdk/load.ts";
import { openProviderPeer } from "./provider-peer.ts";

/** The only model of the service that runs during the warm-up. */
export const model = "warm-up/echo";

const configFile = (baseUrl: string) =>
  configSchema.parse({
    providers: [{ id: "warm-up", dialect: "chat", base_url: baseUrl, api_keys: ["none"] }],
    models: [
      {
        id: model,
        endpoints: [{ provider: "warm-up", pricing: { prompt: "1", completion: "1" } }],
      },
    ],
  });

export interface WarmUpService {
  /** Address of the service as host:port. */
  readonly address: string;
  readonly token: ServiceToken;
  /** Opens a session to a gateway of this process. */
  readonly connectHere: Connect;
  /** Closes the service, and deletes its files. */
  close(): Promise<void>;
}

export async function openWarmUpService(settings: Settings): Promise<WarmUpService> {
  const parts = createWarmUpParts("inference-svc", settings.SLUICE_LOG_LEVEL);
  const { lifecycle, token } = parts;
  const spool = join(settings.SLUICE_SPOOL_DIR, "warm-up");
  // A start killed during its warm-up leaves the folder behind.
  rmSync(spool, { recursive: true, force: true });
  mkdirSync(spool, { recursive: true });
  const admin = await openAdminPeer(parts);
  const provider = await openProviderPeer();
  const file = configFile(provider.baseUrl);
  const read = { file, leftOut: [], files: [] };
  const { server, connectHere, access } = await openInference({
    ...parts,
    settings: {
      ...settings,
      SLUICE_INTERNAL_HOST: loopback,
      SLUICE_INFERENCE_PORT: 0,
      SLUICE_INFERENCE_HTTP_PORT: undefined,
      SLUICE_ADMIN_ADDRESS: [admin.address],
      SLUICE_SPOOL_DIR: spool,
      SLUICE_SPOOL_KEEP_HOURS: 0,
      REDIS_URL: undefined,
    },
    file,
    read: { ...read, combine: () => ({ ...read, refused: new Map() }) },
    configRefusal: () => undefined,
    leftOut: () => [],
    packages: noPackages,
  });
  await access.watch();
  // Loads the policy now: otherwise it would be missing for up to a second, and turns would be refused.
  await lifecycle.hindrances.look("policy");
  return {
    address: `${loopback}:${server.port}`,
    token,
    connectHere,
    async close() {
      await lifecycle.drain(0);
      await admin.close();
      provider.close();
      rmSync(spool, { recursive: true });
    },
  };
}
