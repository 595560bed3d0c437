/** LiteLLM's proxy, installed from PyPI. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bareEnvironment } from "../../../support/processes.ts";
import { peerFolder, runInstaller } from "./cache.ts";
import type { Peer, ServerAddress } from "./peer.ts";
import { gatewayVersions } from "./versions.ts";

const key = "sk-bench";

/** Settings from the page "Production Best Practices" of LiteLLM's documentation. */
const environment = { LITELLM_MODE: "PRODUCTION", LITELLM_LOG: "ERROR", LITELLM_LOCAL_MODEL_COST_MAP: "True" };

export const litellm: Peer = {
  name: "LiteLLM",
  version: gatewayVersions.litellm,
  setting:
    "its page on production: one worker for the one core, `LITELLM_MODE=PRODUCTION`, `LITELLM_LOG=ERROR`, JSON logs, a time limit of 600 s, a master key; without a database, so without its keys, budgets and spend logs",
  features: {
    keys: "one master key",
    budgets: "there, off without a database",
    records: "there, off without a database",
    guardrails: "there, none set",
    metrics: "there, off by default",
    log: "errors only",
    fallback: "on: two retries",
  },
  install: async (folder) => {
    await runInstaller("python3", "-m", "venv", folder);
    await runInstaller(join(folder, "bin/pip"), "install", "--quiet", `litellm[proxy]==${gatewayVersions.litellm}`);
  },
  program: (place) => {
    const file = join(place.folder, "config.yaml");
    writeFileSync(file, JSON.stringify(configuration(place)));
    const listening = ["--host", "127.0.0.1", "--port", String(place.port), "--num_workers", "1"];
    return {
      command: join(peerFolder("litellm"), "bin/litellm"),
      args: ["--config", file, ...listening, "--telemetry", "False"],
      environment: { ...bareEnvironment(), HOME: place.folder, ...environment },
      key,
      // In LiteLLM's stream, the delta with the role counts as a delta with text, too.
      changesDeltas: true,
    };
  },
};

/** The configuration file as JSON, which is also YAML. */
const configuration = ({ upstreamPort, models }: ServerAddress) => ({
  model_list: models.map((model) => ({
    model_name: model,
    litellm_params: { model: `openai/${model}`, api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: "none" },
  })),
  litellm_settings: { set_verbose: false, json_logs: true, request_timeout: 600 },
  general_settings: { master_key: key },
});
