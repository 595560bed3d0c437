/** Keys and secrets: the operator's values take precedence; all others are created once and kept in the data folder. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { readJson, writePrivateJson } from "./files.ts";
import type { Settings } from "./settings.ts";

export interface Credential {
  readonly value: string;
  readonly origin: "environment" | "kept" | "new";
}

export interface Credentials {
  readonly managementKey: Credential;
  readonly apiKey: Credential;
  /** File of the keys not given by the operator. */
  readonly keysFile: string;
}

/** The first management key and the first inference key. */
export function readKeys(settings: Settings): Credentials {
  const keysFile = join(settings.dataDir, "keys.json");
  const kept = (readJson(keysFile) ?? {}) as { management_key?: string; api_key?: string };
  const managementKey = choose(settings.SLUICE_BOOTSTRAP_MANAGEMENT_KEY, kept.management_key, () =>
    mintKey(KeyKind.MANAGEMENT),
  );
  const apiKey = choose(settings.SLUICE_BOOTSTRAP_API_KEY, kept.api_key, () => mintKey(KeyKind.INFERENCE));
  if (managementKey.origin === "new" || apiKey.origin === "new") {
    writePrivateJson(keysFile, {
      ...kept,
      ...(managementKey.origin === "new" && { management_key: managementKey.value }),
      ...(apiKey.origin === "new" && { api_key: apiKey.value }),
    });
  }
  return { managementKey, apiKey, keysFile };
}

export interface Secrets {
  /** Token by which the services authenticate each other. */
  readonly serviceToken: string;
  /** Secret shared by all replicas, used to hash the identities of end users. */
  readonly secret: Credential;
  /** File of the secrets not given by the operator. */
  readonly file: string;
}

export function readSecrets(settings: Settings): Secrets {
  const file = join(settings.dataDir, "secrets.json");
  const kept = (readJson(file) ?? {}) as { service_token?: string; secret?: string };
  const make = () => randomBytes(32).toString("hex");
  const complete = { service_token: kept.service_token ?? make(), secret: kept.secret ?? make() };
  if (kept.service_token === undefined || kept.secret === undefined) writePrivateJson(file, complete);
  return {
    serviceToken: settings.SLUICE_SERVICE_TOKEN ?? complete.service_token,
    secret: choose(settings.SLUICE_SECRET, kept.secret, () => complete.secret),
    file,
  };
}

function choose(given: string | undefined, kept: string | undefined, mint: () => string): Credential {
  if (given !== undefined) return { value: given, origin: "environment" };
  if (kept !== undefined) return { value: kept, origin: "kept" };
  return { value: mint(), origin: "new" };
}
