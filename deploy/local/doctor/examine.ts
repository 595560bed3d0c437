/** The command `doctor`: finds what keeps Sluice from starting or from answering on this machine, and what to do about it. */
import { loadEdge } from "@sluice/proto/config/config-file.js";
import { type InstallationRecord, findRunning } from "../installation-record.ts";
import { program } from "../places.ts";
import { hostsOf, portsOf } from "../ports.ts";
import { type Settings, readSettings, settingNames } from "../settings.ts";
import { findMisspelledVariables } from "../unknown-variables.ts";
import { examineConfiguration } from "./configuration.ts";
import { type Finding, failedFinding, goodFinding, noteFinding, reasonOf } from "./findings.ts";
import { examineDataFolder, examineNode, examinePorts, examinePostgres } from "./machine.ts";
import { examineServices } from "./services.ts";

export async function examine(environment: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const misspelled = findMisspelledVariables(environment, settingNames);
  const before = [examineNode(), ...misspelled.map((text) => noteFinding("environment", text, "It has no effect."))];
  let settings: Settings;
  try {
    settings = readSettings(environment);
  } catch (error) {
    return [
      ...before,
      failedFinding("environment", reasonOf(error), "Correct the variables; nothing else was examined."),
    ];
  }
  return [
    ...before,
    ...(await examineConfiguration(settings, environment)),
    examineDataFolder(settings.dataDir),
    await examinePostgres(settings),
    ...(await examineProcesses(settings, environment)),
  ];
}

/** Examines a running Sluice by requests, and otherwise whether Sluice could start. */
async function examineProcesses(settings: Settings, environment: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  let record: InstallationRecord | undefined;
  try {
    record = findRunning(settings.dataDir);
  } catch (error) {
    const remedy = "Run this as the user who starts Sluice; a damaged file may be removed while Sluice does not run.";
    return [failedFinding("services", reasonOf(error), remedy)];
  }
  if (record?.ready) return examineServices(settings, record);
  if (record) return [noteFinding("services", "Sluice is starting", "Ask again when it has printed `ready`.")];
  const hosts = hostsOf(settings, hostInFile(settings, environment));
  const ports = await examinePorts(portsOf(settings), hosts, settings.replicas.count);
  return [...ports, goodFinding("services", `Sluice does not run in ${settings.dataDir}; ${program.start} starts it`)];
}

/** The address in the configuration file. A file with a problem counts as one without an address; its problem is reported elsewhere. */
function hostInFile({ config }: Settings, environment: NodeJS.ProcessEnv): string | undefined {
  try {
    return loadEdge(config, environment).host;
  } catch {
    return undefined;
  }
}
