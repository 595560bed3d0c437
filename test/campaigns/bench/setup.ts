/** Starts the roles, references and installations of a run, and ends them in the opposite order. */
import type { Bench, FreshStart } from "./bench.ts";
import { openCheckout } from "./checkouts.ts";
import { startBenchInstallation } from "./installation.ts";
import type { BenchOptions } from "./options.ts";
import { peerScripts } from "./peers/measures.ts";
import { type ReferenceId, type ReferenceSetting, startReference } from "./peers/start.ts";
import type { LoadCommands } from "./roles/load.ts";
import type { MockCommands } from "./roles/mock.ts";
import type { PipeCommands } from "./roles/pipe.ts";
import { Role } from "./roles/role.ts";
import { ownCancelScript } from "./scenarios/cancel.ts";
import { costScenarios } from "./scenarios/cost.ts";
import { firstEventScript } from "./scenarios/first-event.ts";
import { growthScript } from "./scenarios/growth.ts";
import { guardedScripts } from "./scenarios/guarded.ts";
import { idleScript } from "./scenarios/idle.ts";
import { stormScript } from "./scenarios/isolation.ts";
import { outageScript } from "./scenarios/outage.ts";
import { slowReaderScripts } from "./scenarios/slow-readers.ts";
import { modelOf } from "./script.ts";
import type { LoadSubject } from "./subject.ts";

const subjectCpu = 0;
const loadCpu = 1;

const scripts = [
  ...Object.values(costScenarios).map(({ script }) => script),
  ...guardedScripts,
  firstEventScript,
  growthScript,
  ownCancelScript,
  stormScript,
  ...slowReaderScripts,
  idleScript,
  outageScript,
  ...peerScripts,
];

/** Processes and servers of a run, ended in the opposite order of their start. */
export class OpenedResources {
  readonly #cleanups: (() => Promise<void>)[] = [];

  add<Part extends { stop(): Promise<void> }>(part: Part): Part {
    this.#cleanups.unshift(() => part.stop());
    return part;
  }

  async stop(): Promise<void> {
    for (const close of this.#cleanups.splice(0)) await close();
  }
}

async function startPipe(upstreamPort: number, opened: OpenedResources) {
  const role = opened.add(new Role<PipeCommands>("./pipe.js", subjectCpu));
  const port = await role.call("listen", upstreamPort);
  return { name: "pipe", target: { port, format: "chat", key: "none" }, pids: [role.pid] } as const;
}

async function startReferences(ids: readonly ReferenceId[], setting: ReferenceSetting, opened: OpenedResources) {
  const references: LoadSubject[] = [];
  const absent = new Map<ReferenceId, string>();
  for (const id of ids) {
    try {
      references.push(opened.add(await startReference(id, setting)));
    } catch (error) {
      absent.set(id, (error as Error).message);
    }
  }
  return { references, absent };
}

/** Runs work with opened resources, and ends these when the work is done or as soon as the run is interrupted. */
export async function whileOpen<Result>(
  interruption: AbortSignal,
  use: (opened: OpenedResources) => Promise<Result>,
): Promise<Result> {
  const opened = new OpenedResources();
  let closing = Promise.resolve();
  // After an interruption, the second call ends parts that were still starting during the first.
  const close = () => (closing = closing.then(() => opened.stop()));
  interruption.addEventListener("abort", () => void close());
  try {
    return await use(opened);
  } finally {
    await close();
  }
}

export async function prepareBench(
  options: Pick<BenchOptions, "checkouts" | "forms" | "references" | "pace">,
  opened: OpenedResources,
  say: (line: string) => void,
): Promise<Bench> {
  const paths = options.checkouts.length === 0 ? [undefined] : options.checkouts;
  const checkouts = await Promise.all(paths.map((path) => openCheckout(path, say)));
  const mock = opened.add(new Role<MockCommands>("./mock.js", loadCpu));
  const load = opened.add(new Role<LoadCommands>("./load.js", loadCpu));
  const upstreamPort = await mock.call("listen");
  const start = async (whole: OpenedResources): Promise<FreshStart> => {
    const pipe = await startPipe(upstreamPort, whole);
    const installations = [];
    for (const checkout of checkouts) {
      say(`starting the installation of ${checkout.name}`);
      for (const form of options.forms)
        installations.push(
          whole.add(await startBenchInstallation(checkout, { upstreamPort, scripts, cpu: subjectCpu, form })),
        );
    }
    return { pipe, installations, stop: () => whole.stop() };
  };
  const { pipe, installations } = await start(opened);
  const models = scripts.map(modelOf);
  const { references, absent } = await startReferences(
    options.references,
    { upstreamPort, models, cpu: subjectCpu },
    opened,
  );
  for (const [id, why] of absent) say(`${id} is left out: ${why}`);
  const [installation] = installations;
  if (installation === undefined) throw new Error("no installation was started");
  return {
    load,
    mock,
    installation,
    installations,
    pipe,
    references,
    absent,
    direct: { name: "upstream", target: { port: upstreamPort, format: "chat", key: "none" }, pids: [] },
    pace: options.pace,
    startFresh: () => start(opened.add(new OpenedResources())),
    say,
  };
}
