/** The adapter's containers: created at the first run, used by one run at a time, and removed after a long time without a run. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

/** Thrown when all containers are in use. */
export class NoFreeContainer extends Error {}

/** Maximum number of containers of one tenant, so no tenant takes all. */
const maxPerTenant = 5;
/** Maximum number of runs of a container, running and waiting. */
const maxRuns = 16;
/** Milliseconds between attempts to kill a program: it may start only after a first attempt, and is then killed by the next. */
const endAgainMs = 100;
const sweepMs = 1_000;
/** Maximum bytes of a run's output: reading more costs more than it can be worth. */
const maxPrintedBytes = 64 * 1024 * 1024;

class Container {
  /** Resolves once all earlier runs of the container are over. */
  queue = Promise.resolve();
  /** Number of runs, running or waiting. */
  runs = 0;
  usedAt = performance.now();
  isCreated = false;

  constructor(key, { tenant, memoryGiB, sleepMs }) {
    this.key = key;
    this.tenant = tenant;
    this.memoryGiB = memoryGiB;
    this.sleepMs = sleepMs;
  }
}

export class Containers {
  #podman;
  #max;
  #known = new Map();
  #timer;

  constructor({ podman, maxContainers }) {
    this.#podman = podman;
    this.#max = maxContainers;
    this.#timer = setInterval(() => this.#expire(), sweepMs);
  }

  /**
   * Runs programs one after the other. @returns an output for each program; the last one may have been ended by the time limit @throws
   * NoFreeContainer
   */
  async run(wanted, signal) {
    const container = this.#find(wanted);
    if (container.runs >= maxRuns) throw new NoFreeContainer("too many runs wait for this container");
    container.sleepMs = wanted.sleepMs;
    container.runs++;
    const before = container.queue;
    let leave;
    container.queue = new Promise((resolve) => (leave = resolve));
    try {
      await before;
      return await this.#runIn(container, wanted, signal);
    } finally {
      container.runs--;
      container.usedAt = performance.now();
      leave();
    }
  }

  /** Removes all containers, when the adapter stops. */
  async close() {
    clearInterval(this.#timer);
    await Promise.all([...this.#known.values()].map((container) => this.#remove(container)));
  }

  #find(wanted) {
    const { tenant, id, memoryGiB } = wanted;
    const key = `${tenant} ${id} ${memoryGiB}`;
    const known = this.#known.get(key);
    if (known) return known;
    const all = [...this.#known.values()];
    this.#makeRoom(
      all.filter((each) => each.tenant === tenant),
      maxPerTenant,
    );
    this.#makeRoom([...this.#known.values()], this.#max);
    const made = new Container(key, wanted);
    this.#known.set(key, made);
    return made;
  }

  /** Makes room for a container by removing the one idle for longest. @throws NoFreeContainer if all are in use */
  #makeRoom(containers, max) {
    if (containers.length < max) return;
    const [oldest] = containers.filter(({ runs }) => runs === 0).sort((a, b) => a.usedAt - b.usedAt);
    if (oldest === undefined) throw new NoFreeContainer("all containers are in use");
    void this.#remove(oldest);
  }

  async #runIn(container, { program, commands, timeoutMs, outputBytes }, signal) {
    if (signal.aborted) return [];
    await this.#create(container);
    const until = performance.now() + timeoutMs;
    const room = { bytes: outputBytes };
    const outputs = [];
    try {
      for (const command of commands) {
        if (signal.aborted) break;
        const output = await this.#execute(container, [...program, command], room, signal, until);
        outputs.push(output);
        if (output.outcome.type === "timeout") break;
      }
    } finally {
      await this.#clear(container);
    }
    return outputs;
  }

  async #create(container) {
    if (container.isCreated) return;
    // The name is new for each container, since the previous one may still exist.
    container.name = `sluice-${randomBytes(16).toString("hex")}`;
    await this.#podman.create(container.name, container.memoryGiB);
    container.isCreated = true;
  }

  async #execute(container, program, room, signal, until) {
    const exec = this.#podman.exec(container.name, program);
    const collected = new Collected(room);
    let isLate = false;
    let isOver = false;
    let ending;
    const endAgain = async () => {
      for (; !isOver; await pause(endAgainMs)) await this.#clear(container);
    };
    const end = () => (ending ??= endAgain());
    const timer = setTimeout(
      () => {
        isLate = true;
        end();
      },
      Math.max(0, until - performance.now()),
    );
    signal.addEventListener("abort", end);
    for (const stream of ["stdout", "stderr"]) {
      exec[stream].on("data", (bytes) => {
        if (collected.add(stream, bytes) > maxPrintedBytes) end();
      });
    }
    try {
      const [code] = await once(exec, "close");
      isOver = true;
      await ending;
      // An exit code from 125 on may be podman's own, for a container no longer running.
      if (code >= 125 && !(await this.#podman.isRunning(container.name))) await this.#remove(container);
      return { ...collected.texts(), outcome: isLate ? { type: "timeout" } : { type: "exit", exit_code: code ?? 137 } };
    } finally {
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  /** Ends everything still running in a container; if this fails, removes the container. */
  async #clear(container) {
    if (!container.isCreated) return;
    await this.#podman.clear(container.name).catch(() => this.#remove(container));
  }

  async #remove(container) {
    if (container.runs === 0) this.#known.delete(container.key);
    if (!container.isCreated) return;
    container.isCreated = false;
    await this.#podman.remove(container.name).catch((error) => process.stderr.write(`${error.message}\n`));
  }

  #expire() {
    const now = performance.now();
    for (const container of this.#known.values())
      if (container.runs === 0 && now - container.usedAt > container.sleepMs) void this.#remove(container);
  }
}

/** The output of a program, cut at its limit. */
class Collected {
  #room;
  #kept = { stdout: [], stderr: [] };
  #printed = 0;
  #isCut = false;

  /** @param room bytes left for the output of the run, shared by its programs */
  constructor(room) {
    this.#room = room;
  }

  /** @returns number of bytes printed so far */
  add(stream, bytes) {
    this.#printed += bytes.length;
    const kept = bytes.subarray(0, this.#room.bytes);
    this.#room.bytes -= kept.length;
    this.#isCut ||= kept.length < bytes.length;
    if (kept.length > 0) this.#kept[stream].push(kept);
    return this.#printed;
  }

  /** The output as text, with U+FFFD in place of invalid UTF-8. */
  texts() {
    const text = (stream) => Buffer.concat(this.#kept[stream]).toString();
    return { stdout: text("stdout"), stderr: text("stderr"), truncated: this.#isCut };
  }
}
