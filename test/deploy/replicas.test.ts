/** Processes started by `npm start` for gateway and inference-svc, and its message about them. */
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { afterEach, describe, expect, test } from "@jest/globals";
import { chooseReplicas } from "@sluice/local/replicas.js";
import { readSettings } from "@sluice/local/settings.js";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually, root, runProgram } from "../support/processes.ts";
import { freePort } from "../support/runner/free-ports.ts";

test.each([
  [undefined, 1, 0, "gateway and inference-svc share one process: this machine gives Sluice one processor"],
  [undefined, 2, 1, "gateway and inference-svc have a process each: this machine gives Sluice 2 processors"],
  [0, 2, 0, "gateway and inference-svc share one process: SLUICE_INFERENCE_REPLICAS is 0"],
  [1, 1, 1, "gateway and inference-svc have a process each: SLUICE_INFERENCE_REPLICAS is 1"],
  [2, 1, 2, "a gateway and 2 inference processes: SLUICE_INFERENCE_REPLICAS is 2"],
])(
  "SLUICE_INFERENCE_REPLICAS=%s on %i processors decides the number of inference processes",
  (wanted, processors, count, account) => {
    const chosen = chooseReplicas(wanted, processors, true);
    expect([chosen.count, chosen.account.split(";")[0]]).toEqual([count, account]);
  },
);

test.each([{}, { SLUICE_INFERENCE_REPLICAS: "" }])(
  "the number of inference processes with %j follows the processors available to this process",
  (given) => {
    expect(readSettings(given).replicas).toEqual(chooseReplicas(undefined, availableParallelism(), true));
  },
);

/** Command prefix to run on one processor. */
const pinned = ["taskset", "-c", "0"] as const;

/** Whether this machine can pin a program to one processor. */
async function canPin(): Promise<boolean> {
  const [command, ...args] = pinned;
  return (await runProgram(command, [...args, "true"]).catch(() => ({ code: 1 }))).code === 0;
}

((await canPin()) ? describe : describe.skip)("npm start on one processor (needs taskset)", () => {
  let installation: Installation | undefined;
  afterEach(async () => {
    await installation?.stop();
    installation = undefined;
  });

  /** @param given SLUICE_INFERENCE_REPLICAS; unset when empty @param inferenceReplicas expected number */
  async function start(given: string, inferenceReplicas: number, more: NodeJS.ProcessEnv = {}): Promise<Installation> {
    installation = await startInstallation({
      prefix: [...pinned, "/bin/sh", "-c", `cd "${root}" && exec npm start`],
      environment: { SLUICE_INFERENCE_REPLICAS: given, npm_config_update_notifier: "false", ...more },
      inferenceReplicas,
    });
    return installation;
  }

  async function statusesOf({ baseUrl, apiKey, ports }: Installation): Promise<number[]> {
    const answer = await fetch(`${baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "hello" }),
    });
    const { gateway_health, inference_health } = ports;
    const probes = [gateway_health, inference_health].map((port) => fetch(`http://127.0.0.1:${port}/readyz`));
    return [answer, ...(await Promise.all(probes))].map(({ status }) => status);
  }

  test("joins gateway and inference-svc, logs the reason, and restarts them as one process", async () => {
    const started = await start("", 0);
    expect(started.output()).toContain(
      "\ngateway and inference-svc share one process: this machine gives Sluice one processor; SLUICE_INFERENCE_REPLICAS=1 gives each its own\n",
    );
    const { gateway, "inference-svc": inference } = started.pids();
    expect([gateway, await statusesOf(started)]).toEqual([inference, [200, 200, 200]]);
    expect((await started.admin("keys", "list")).stdout).toContain("bootstrap");
    process.kill(gateway as number, "SIGKILL");
    await eventually(() => started.output().includes("gateway runs again"));
    await eventually(async () => String(await statusesOf(started).catch(() => [])) === "200,200,200");
  });

  test("gives gateway and inference-svc a process each when the operator configures it", async () => {
    const started = await start("1", 1);
    expect(started.output()).toContain(
      "\ngateway and inference-svc have a process each: SLUICE_INFERENCE_REPLICAS is 1\n",
    );
    const { gateway, "inference-svc": inference } = started.pids();
    expect(inference).not.toBe(gateway);
    expect(await statusesOf(started)).toEqual([200, 200, 200]);
  });

  test("names an occupied port of inference-svc, also in one-process mode", async () => {
    const other = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
    const started = start("", 0, { SLUICE_INFERENCE_HEALTH_PORT: String(port) });
    await expect(started).rejects.toThrow(`port ${port} is in use: set SLUICE_INFERENCE_HEALTH_PORT to another one`);
    other.close();
  });
});
