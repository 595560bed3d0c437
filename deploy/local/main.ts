/** Entry point of `npm start` and `sluice start`: starts Postgres and the services, and prints the banner. */
import { join } from "node:path";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { banner } from "./banner.ts";
import { findCheapestModel } from "./first-model.ts";
import { RecordKeeper } from "./installation-record.ts";
import { findMisspelledVariables } from "./unknown-variables.ts";
import { hostsOf, acceptsOtherMachines, portsOf, requireFree } from "./ports.ts";
import { readKeys, readSecrets } from "./secrets.ts";
import { root } from "./places.ts";
import { readSettings, settingNames } from "./settings.ts";
import { makeStartLink } from "./start-link.ts";
import { Supervisor } from "./supervisor.ts";

// A reader of the output may close the pipe; Sluice keeps running.
process.stdout.on("error", () => undefined);
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function start(): Promise<void> {
  const settings = readSettings(process.env);
  for (const line of findMisspelledVariables(process.env, settingNames)) say(line);
  const { file, leftOut } = loadConfig(
    settings.config,
    { ...process.env, SLUICE_ECHO: settings.SLUICE_ECHO },
    readSeed(join(root, "inference-svc/models/catalog/seed.json")),
  );
  const ports = portsOf(settings);
  const hosts = hostsOf(settings, file.host);
  const record = await RecordKeeper.claim(settings.dataDir, ports, hosts);
  process.once("exit", () => record.release());
  await requireFree(ports, hosts, settings.replicas.count);
  const keys = readKeys(settings);
  const secrets = readSecrets(settings);
  const showsConsole = file.console.enabled ?? !acceptsOtherMachines(hosts.gateway);
  const isPrivate = showsConsole && !acceptsOtherMachines(hosts.gateway);
  const startLink = isPrivate ? makeStartLink(keys.managementKey.value) : undefined;
  const given = { settings, ports, hosts, keys, secrets, startLink, record };
  const supervisor = new Supervisor({ ...given, environment: process.env, say });
  handleSignals(supervisor);
  await startOrEnd(supervisor);
  say(
    banner({
      ports,
      hosts,
      showsConsole,
      startLink,
      keys,
      model: findCheapestModel(file.models),
      config: settings.config,
      leftOut,
      logsDir: supervisor.logsDir,
      startedInMs: performance.now(),
    }),
  );
}

async function startOrEnd(supervisor: Supervisor): Promise<void> {
  try {
    await supervisor.start();
  } catch (error) {
    // If a signal has ended the start, the signal's handler exits the process.
    if (supervisor.stopping) await new Promise(() => undefined);
    await supervisor.kill();
    throw error;
  }
}

/** Milliseconds in which a second signal counts as the same: Ctrl-C arrives twice, from the terminal and a little later from npm. */
const sameSignalMs = 500;

/** Handles signals: the first one lets open requests finish, the second one ends them. */
function handleSignals(supervisor: Supervisor): void {
  let countedAt = Number.NEGATIVE_INFINITY;
  const onSignal = () => {
    if (performance.now() - countedAt < sameSignalMs) return;
    countedAt = performance.now();
    if (supervisor.stopping) return end(supervisor.kill(), 1);
    say("stopping once open requests have finished; the same signal again ends them at once");
    end(supervisor.stop(), 0);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
}

function end(done: Promise<void>, code: number): void {
  done.then(() => process.exit(code), fail);
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

/** Resolves once the services are up and the banner is printed. */
export const started: Promise<void> = start().catch(fail);
