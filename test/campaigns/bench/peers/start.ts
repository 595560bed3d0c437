/** Starts other proxies to compare with the pipe: those of `--reference nginx,portkey,litellm`, or all gateways of `--peers`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../support/runner/free-ports.ts";
import type { LoadTarget } from "../client/target.ts";
import { familyOf, pinProcess } from "../../../support/machine.ts";
import { BenchProcess } from "../running.ts";
import type { LoadSubject } from "../subject.ts";
import { requireInstalled } from "./cache.ts";
import { nginx } from "./nginx.ts";
import type { ServerAddress, Proxy, ProxyProgram } from "./peer.ts";
import { type PeerId, peerIds, peers } from "./peers.ts";

export type ReferenceId = PeerId | "nginx";
export const referenceIds: readonly ReferenceId[] = ["nginx", ...peerIds];

export interface ReferenceProxy extends LoadSubject {
  stop(): Promise<void>;
}

export interface ReferenceSetting extends Pick<ServerAddress, "upstreamPort" | "models"> {
  readonly cpu: number;
}

/** @throws with the reason if the proxy is not installed or does not start */
export async function startReference(id: ReferenceId, { cpu, ...served }: ReferenceSetting): Promise<ReferenceProxy> {
  const proxy = installed(id);
  const folder = mkdtempSync(join(tmpdir(), `sluice-bench-${id}-`));
  const port = await freePort();
  const remove = () => rmSync(folder, { recursive: true, force: true });
  let running: BenchProcess | undefined;
  try {
    const program = proxy.program({ ...served, folder, port });
    running = await BenchProcess.start(program);
    await running.listens(port);
    const { pid, stop } = running;
    for (const member of familyOf(pid)) pinProcess(member, cpu);
    return {
      name: id,
      target: targetOf(program, port),
      get pids() {
        return familyOf(pid);
      },
      stop: () => stop().finally(remove),
    };
  } catch (error) {
    await running?.stop();
    remove();
    throw error;
  }
}

function installed(id: ReferenceId): Proxy {
  if (id === "nginx") return nginx;
  const peer = peers[id];
  requireInstalled(id, peer.version);
  return peer;
}

const targetOf = ({ key = "none", headers, changesDeltas }: ProxyProgram, port: number): LoadTarget => ({
  port,
  format: "chat",
  key,
  ...(headers && { headers }),
  ...(changesDeltas && { changesDeltas }),
});
