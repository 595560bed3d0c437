/** Portkey's open-source gateway, installed from npm. It is stateless: each request names its provider, and the client's key is the provider's. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { peerFolder, runInstaller } from "./cache.ts";
import type { Peer } from "./peer.ts";
import { gatewayVersions } from "./versions.ts";

const packageName = "@portkey-ai/gateway";

export const portkey: Peer = {
  name: "Portkey",
  version: gatewayVersions.portkey,
  setting: `a Node server without its console (\`--headless\`), with @hono/node-server ${gatewayVersions.honoNodeServer}: with newer ones it answers each stream with 500`,
  features: {
    keys: "no: the provider's key passes through",
    budgets: "no",
    records: "no",
    guardrails: "there, none asked for",
    metrics: "no",
    log: "no",
    fallback: "there, none asked for",
  },
  install: (folder) => {
    const dependencies = { [packageName]: gatewayVersions.portkey };
    const overrides = { "@hono/node-server": gatewayVersions.honoNodeServer };
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies, overrides }));
    return runInstaller("npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund");
  },
  program: ({ port, upstreamPort }) => {
    const script = join(peerFolder("portkey"), "node_modules", packageName, "build/start-server.js");
    return {
      command: process.execPath,
      args: [script, `--port=${port}`, "--headless"],
      headers: {
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
      },
    };
  },
};
