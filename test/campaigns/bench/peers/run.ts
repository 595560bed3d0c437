/** `npm run bench -- --peers`: measures Sluice and other gateways in one run, with the same upstream, clients and processors. */
import { cpus, loadavg } from "node:os";
import type { Bench } from "../bench.ts";
import { canPinProcesses, processorModel } from "../../../support/machine.ts";
import type { PeersOptions } from "../options.ts";
import { prepareBench, whileOpen } from "../setup.ts";
import type { LoadSubject } from "../subject.ts";
import { measurePeers } from "./measures.ts";
import type { GatewayDescription } from "./peer.ts";
import { type PeerId, peerIds, peers } from "./peers.ts";
import { sluice } from "./sluice.ts";
import { type Column, peerReport } from "./table.ts";
import { unmeasuredGateways } from "./versions.ts";

/** @returns the tables as Markdown */
export function runPeers(
  { peersAt: pace, parts }: PeersOptions,
  say: (line: string) => void,
  interruption: AbortSignal,
): Promise<string> {
  const [loadBefore = 0] = loadavg();
  return whileOpen(interruption, async (opened) => {
    const bench = await prepareBench({ checkouts: [], forms: ["one process"], references: peerIds, pace }, opened, say);
    const gateways = gatewayColumns(bench);
    const rows = await measurePeers(
      bench,
      gateways.map(({ subject }) => subject),
      parts,
    );
    const measured = bench.references.map(({ name }) => peers[name as PeerId]);
    return peerReport({
      head: head(bench, measured, loadBefore),
      columns: [...gateways, { title: "a pipe of node:http", subject: bench.pipe, kind: "pipe" }],
      rows,
      described: [{ ...sluice, version: bench.installation.name }, ...measured],
      absent: new Map([...[...bench.absent].map(named), ...Object.entries(unmeasuredGateways)]),
    });
  });
}

const named = ([id, why]: readonly [string, string]): [string, string] => [peers[id as PeerId].name, why];

function gatewayColumns({ installation, references }: Bench): Column[] {
  const door = (format: "chat" | "responses"): LoadSubject => ({
    name: `Sluice ${format}`,
    target: { ...installation.target, format },
    get pids() {
      return installation.family();
    },
  });
  return [
    { title: "Sluice, /chat/completions", subject: door("chat"), kind: "sluice" },
    { title: "Sluice, /responses", subject: door("responses"), kind: "sluice" },
    ...references.map((subject): Column => {
      const { name, version } = peers[subject.name as PeerId];
      return { title: `${name} ${version}`, subject, kind: "peer" };
    }),
  ];
}

function head({ installation, pace }: Bench, measured: readonly GatewayDescription[], loadBefore: number): string {
  const placement = canPinProcesses
    ? "each gateway with all its processes on processor 0, upstream and clients on processor 1"
    : "processes placed by the kernel";
  return (
    `\`npm run bench -- --peers\`, ${new Date().toISOString().slice(0, 10)}: ${installation.name}, ` +
    `${measured.map(({ name, version }) => `${name} ${version}`).join(", ")}; Node ${process.versions.node}; ` +
    `${cpus().length} x ${processorModel()}, ${placement}, in a network of loopback alone; load of the machine before it ${loadBefore.toFixed(1)}. ` +
    "Processor time is that of all processes of a gateway, Sluice's with admin-svc and Postgres. Less is better in every row. " +
    `Each gateway has served ${pace.warmUpUnits} requests or events of each kind before; figures are medians of rounds, and 2.00x (1.90x to 2.10x) is ` +
    "the median of the multiples of the first column in the same round, with the least and the largest."
  );
}
