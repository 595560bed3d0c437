/** Starts a process of admin-svc for a measurement. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Client } from "@grpc/grpc-js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { programIn, root } from "../../support/processes.ts";

const main = programIn(root, "admin-svc");

/** The service token of all processes of a measurement. */
export const benchToken = randomBytes(32).toString("hex");

export interface Admin {
  readonly pid: number;
  /** Address as host:port. */
  readonly address: string;
  readonly client: Client;
  stop(): Promise<void>;
}

export async function startAdmin(databaseUrl: string): Promise<Admin> {
  const env = {
    PATH: process.env["PATH"],
    DATABASE_URL: databaseUrl,
    SLUICE_SERVICE_TOKEN: benchToken,
    SLUICE_ADMIN_PORT: "0",
    SLUICE_ADMIN_HEALTH_PORT: "0",
    SLUICE_DRAIN_DELAY_MS: "0",
  };
  const child = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += chunk.toString();
    const port = /"port":(\d+)/.exec(text)?.[1];
    if (port === undefined) continue;
    const address = `127.0.0.1:${port}`;
    const client = dial(address);
    const stop = async () => {
      client.close();
      child.kill();
      await once(child, "exit");
    };
    return { pid: child.pid ?? 0, address, client, stop };
  }
  throw new Error(text);
}
